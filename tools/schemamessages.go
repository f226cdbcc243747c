package tools

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	maxProblems = 3  // problems one refusal names
	maxShown    = 40 // characters of a refused value or name that are shown
)

// place is one place in the arguments: what the schema says about it and what was sent.
type place struct {
	path  string // "items[0].status"; "" is the whole
	rank  []int  // places sort by it as the schema lists them
	field *field
	value any
}

// problem is one thing wrong at a place.
type problem struct {
	place
	kind problemKind
	key  string // the unknown key
}

type problemKind int

const (
	wrongValue problemKind = iota
	missingKey
	unknownKey
)

// validate checks values against the schema. What a refusal says depends on the schema and the values only.
func (s *Schema) validate(values map[string]any) error {
	err := s.compiled.Validate(values)
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return Refusef("The arguments do not have the form this tool takes.")
	}
	problems := s.problems(failed, values)
	slices.SortFunc(problems, comparePlaces)
	problems = slices.CompactFunc(problems, func(a, b problem) bool { return comparePlaces(a, b) == 0 })
	var sentences []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		sentences = append(sentences, p.sentence())
	}
	if len(problems) > maxProblems {
		sentences = append(sentences, fmt.Sprintf("There is more of that: %d problems in all.", len(problems)))
	}
	return Refusef("%s", strings.Join(sentences, " "))
}

func comparePlaces(a, b problem) int {
	return cmp.Or(slices.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key))
}

// problems turns the validator's tree into a list, in no particular sequence.
func (s *Schema) problems(failed *jsonschema.ValidationError, values map[string]any) []problem {
	var all []problem
	for _, cause := range failed.Causes {
		all = append(all, s.problems(cause, values)...)
	}
	if len(failed.Causes) > 0 {
		return all
	}
	at := s.locate(failed.InstanceLocation, values)
	switch k := failed.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			all = append(all, problem{place: at.property(name), kind: missingKey})
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			all = append(all, problem{at.outside(), unknownKey, name})
		}
	default:
		all = append(all, problem{place: at})
	}
	return all
}

// locate follows the validator's location into the schema and the values.
func (s *Schema) locate(location []string, values map[string]any) place {
	at := place{field: s.root, value: values}
	for _, step := range location {
		if at.field.Type == "object" {
			at = at.property(step)
			continue
		}
		i, _ := strconv.Atoi(step)
		list, _ := at.value.([]any)
		at = place{at.path + "[" + step + "]", append(slices.Clone(at.rank), i), at.field.Items, list[i]}
	}
	return at
}

// property is the place of a property the schema knows.
func (at place) property(name string) place {
	object, _ := at.value.(map[string]any)
	path := strings.TrimPrefix(at.path+"."+name, ".")
	rank := append(slices.Clone(at.rank), slices.Index(at.field.sequence, name))
	return place{path, rank, at.field.Properties[name], object[name]}
}

// outside is the object itself, sorted after all its properties.
func (at place) outside() place {
	at.rank = append(slices.Clone(at.rank), len(at.field.sequence))
	return at
}

// sentence says what is wrong, what is expected, and what was sent.
func (p problem) sentence() string {
	switch p.kind {
	case missingKey:
		return fmt.Sprintf("%s is required: %s.", p.path, p.field.expected())
	case unknownKey:
		return p.unknown()
	}
	sent := p.field.describe(p.value)
	if why := p.field.fault(p.value); why != "" {
		sent += ", which " + why
	}
	return fmt.Sprintf("%s must be %s. You sent %s.", p.path, p.field.expected(), sent)
}

// unknown names the key, and the field it resembles or the fields there are.
func (p problem) unknown() string {
	where := "these arguments"
	if p.path != "" {
		where = p.path
	}
	for _, name := range p.field.sequence {
		if foldKey(name) == foldKey(p.key) {
			return fmt.Sprintf("%s is no field of %s: it differs from %s only in letter case; send exactly %s.",
				plainName(p.key), where, name, name)
		}
	}
	if len(p.field.sequence) == 0 {
		return fmt.Sprintf("%s is no field of %s; there are none.", plainName(p.key), where)
	}
	return fmt.Sprintf("%s is no field of %s; use only %s.", plainName(p.key), where, wordList(p.field.sequence, "and"))
}
