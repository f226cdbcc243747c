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

// Split takes the run's id, "" if there is none, out of a host's arguments and
// puts the others, checked, into r. [Request.Refusal] is set for arguments that
// are no good; they stay as sent, and the run they name is told if that can be
// read.
func (h *Hosted) Split(r *Request, args []byte) (run string) {
	r.Args = args
	schema := h.schemas[r.Name]
	if schema == nil {
		return "" // the set refuses the name
	}
	values, err := checkedArguments(args, schema)
	if err != nil {
		if object, rerr := readObject(args, schema); rerr == nil {
			run, _ = object[RunField].(string)
		}
		r.Refusal = err
		return run
	}
	run, _ = values[RunField].(string)
	delete(values, RunField)
	if r.Args, r.Refusal = Canonical(values); r.Refusal == nil {
		r.Checked = values
	}
	return run
}
