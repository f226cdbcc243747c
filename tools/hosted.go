package tools

import (
	"encoding/json"
	"fmt"
)

// RunField is the optional argument by which a host names the run of a call: a
// host has no run of its own.
const RunField = "run_id"

// RunFieldSchema is the JSON Schema of [RunField].
const RunFieldSchema = `{"type": "string", "pattern": "^[0-9]{8}-[0-9]{6}-[0-9a-f]{8}$", "description": "Optional. The run this is about; left out, it is your open run.", "examples": ["20261006-004349-d40a1b2c"]}`

// Hosted is a domain's tools as hosts see them: each takes [RunField] beside
// its own arguments.
type Hosted struct {
	tools   []*Tool
	schemas map[string]*Schema
}

// NewHosted compiles the hosts' schemas of d's tools.
func NewHosted(d *Domain) (*Hosted, error) {
	h := &Hosted{tools: d.Tools, schemas: map[string]*Schema{}}
	for _, t := range d.Tools {
		raw, err := withRunField(t.Schema.Raw())
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		if h.schemas[t.Name], err = CompileSchema(t.Name, raw); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func withRunField(schema json.RawMessage) (json.RawMessage, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, err
	}
	properties, err := WithMember(doc["properties"], RunField, json.RawMessage(RunFieldSchema))
	if err != nil {
		return nil, err
	}
	doc["properties"] = properties
	return json.Marshal(doc)
}

// Tools are the tools in the sequence in which hosts list them.
func (h *Hosted) Tools() []*Tool { return h.tools }

// Schema is what hosts are told of the named tool's arguments, nil if there is
// no such tool.
func (h *Hosted) Schema(name string) *Schema { return h.schemas[name] }

// Split takes the run's id, "" if there is none, out of a host's arguments. An
// error is the refusal of arguments that are no good; they come back as sent,
// with the run they name if that can be read.
func (h *Hosted) Split(name string, args []byte) (run string, rest []byte, err error) {
	schema := h.schemas[name]
	if schema == nil {
		return "", args, nil // the set refuses the name
	}
	_, values, err := ParseArguments(args, schema)
	if err != nil {
		if object, rerr := readObject(args, schema); rerr == nil {
			run, _ = object[RunField].(string)
		}
		return run, args, err
	}
	run, _ = values[RunField].(string)
	delete(values, RunField)
	rest, err = Canonical(values)
	return run, rest, err
}
