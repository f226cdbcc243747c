package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is the compiled JSON Schema (2020-12) of one tool's arguments. It is safe for concurrent use.
type Schema struct {
	name     string
	raw      []byte
	compiled *jsonschema.Schema
	root     *field
}

// Name returns the name the schema was compiled under.
func (s *Schema) Name() string { return s.name }

// Raw returns the schema as it was given, for the hosts' list of tools.
func (s *Schema) Raw() json.RawMessage { return bytes.Clone(s.raw) }

// Fields returns the names of the top-level fields: the required ones as the schema lists them, then the others sorted.
func (s *Schema) Fields() []string { return slices.Clone(s.root.sequence) }

// Example returns arguments that are valid, built from the schema's examples, or "" if they do not suffice.
func (s *Schema) Example() string { return s.root.example }

// field is what messages need to know of one place in the schema.
type field struct {
	Type        string
	Description string
	Properties  map[string]*field
	Required    []string
	Items       *field
	Examples    []json.RawMessage
	bounds
	sequence []string // names of the properties: required, then optional
	example  string   // a valid value as JSON on one line, or ""
}

// bounds are the schema's limits on a value; nil is none.
type bounds struct {
	Enum      []string
	Pattern   string
	MinLength *int
	MaxLength *int
	Minimum   *json.Number
	Maximum   *json.Number
	MinItems  *int
	MaxItems  *int
}

// CompileSchema reads the schema of a tool's arguments. It takes only what strict hosts take, and reports every problem
// at once:
//
//   - the root is an object; the only nesting is one list of flat objects, and lists of plain values;
//   - every object has properties, "additionalProperties": false and a required list that names each property, save
//     those whose description begins with the word "Optional";
//   - every property has one type and a description on one line; names are lower case with underscores;
//   - no $ref, no combinations: beside those above only items, minItems and maxItems for a list, and enum (text only),
//     pattern, minLength, maxLength, minimum and maximum for plain values; examples everywhere;
//   - examples are valid against their own property.
//
// Patterns are Go's regular expressions; ^[0-9]{1,10}$ and its like are known as digits and get precise messages.
func CompileSchema(name string, raw []byte) (*Schema, error) {
	s := &Schema{name: name, raw: bytes.Clone(raw), root: new(field)}
	if err := checkRaw(raw, rawRules{what: "The schema", bytes: maxArgumentBytes, numbers: true}); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	rules := schemaRules{name: name}
	rules.root(doc)
	if err := errors.Join(rules.problems...); err != nil {
		return nil, err
	}
	if s.compiled, err = compileDocument(name, doc); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	if err := json.Unmarshal(raw, s.root); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	if err := checkExamples(name, s.root, s.compiled); err != nil {
		return nil, err
	}
	if err := s.root.prepare(); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	if err := s.checkExample(); err != nil {
		return nil, err
	}
	return s, nil
}

// checkExample holds the schema to its own example.
func (s *Schema) checkExample() error {
	if s.root.example == "" {
		return nil
	}
	if _, _, err := ParseArguments([]byte(s.root.example), s); err != nil {
		return fmt.Errorf("schema %s: example %s: %w", s.name, s.root.example, err)
	}
	return nil
}

// compileDocument compiles doc as JSON Schema 2020-12. It has no references, so nothing is loaded from anywhere.
func compileDocument(name string, doc any) (*jsonschema.Schema, error) {
	url := "schema:" + name
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(url, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(url)
}

// checkExamples validates the examples below f, each against its own place in the schema.
func checkExamples(path string, f *field, compiled *jsonschema.Schema) error {
	var problems []error
	for _, raw := range f.Examples {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err == nil {
			err = compiled.Validate(v)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("schema %s: example %s: %w", path, raw, err))
		}
	}
	for name, child := range f.Properties {
		problems = append(problems, checkExamples(path+"."+name, child, compiled.Properties[name]))
	}
	if f.Items != nil {
		problems = append(problems, checkExamples(path+"[]", f.Items, compiled.Items2020))
	}
	return errors.Join(problems...)
}

// prepare fills what is derived, from the inside out.
func (f *field) prepare() error {
	f.sequence = slices.Clone(f.Required)
	for name, child := range f.Properties {
		if err := child.prepare(); err != nil {
			return err
		}
		if !slices.Contains(f.Required, name) {
			f.sequence = append(f.sequence, name)
		}
	}
	slices.Sort(f.sequence[len(f.Required):])
	if f.Items != nil {
		if err := f.Items.prepare(); err != nil {
			return err
		}
	}
	return f.makeExample()
}

// makeExample takes the first example, else an allowed value, else builds one from the examples within.
func (f *field) makeExample() error {
	switch {
	case len(f.Examples) > 0:
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Examples[0]))
		if err != nil {
			return err
		}
		line, err := Canonical(v)
		f.example = string(line)
		return err
	case len(f.Enum) > 0:
		f.example = Quote(f.Enum[0])
	case f.Type == "array" && f.Items.example != "" && (f.MinItems == nil || *f.MinItems <= 1):
		f.example = "[" + f.Items.example + "]"
	case f.Type == "object":
		f.example = f.objectExample()
	}
	return nil
}

// objectExample has the required properties, or is "" if one of them has no example.
func (f *field) objectExample() string {
	parts := make([]string, len(f.Required))
	for i, name := range f.Required {
		if f.Properties[name].example == "" {
			return ""
		}
		parts[i] = Quote(name) + ":" + f.Properties[name].example
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// digits reports whether f is text of ASCII digits only, and how many; most is 0 if there is no limit.
func (f *field) digits() (least, most int, ok bool) {
	count, ok := strings.CutPrefix(f.Pattern, "^[0-9]")
	if !ok || f.Type != "string" {
		return 0, 0, false
	}
	if count == "+$" {
		return 1, 0, true
	}
	count, found := strings.CutSuffix(count, "}$")
	count, opened := strings.CutPrefix(count, "{")
	low, high, ranged := strings.Cut(count, ",")
	if !ranged {
		high = low
	}
	least, errLow := strconv.Atoi(low)
	most, errHigh := strconv.Atoi(high)
	return least, most, found && opened && errLow == nil && errHigh == nil && !strings.ContainsAny(count, "+-")
}
