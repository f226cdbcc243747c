package tools

import (
	"bytes"
	"encoding/json"
)

// ParseArguments reads what a model sent as a tool's arguments. It is strict about everything that two readers could
// understand differently, and forgiving only where there is one meaning:
//
//   - nothing, null, "" and blanks are {};
//   - an object inside one JSON string is unwrapped once; quoted twice is refused, as is a list or a plain value;
//   - at most 256 KiB and 32 levels, looked at before anything is decoded; UTF-8 without lone surrogates;
//   - in no object two keys that are equal or that a folding decoder takes for each other, and no key the schema
//     does not know;
//   - null for a field that is not required is the same as leaving it out;
//   - numbers keep every digit ([json.Number]), are written without an exponent, and 3.0 is 3.
//
// The values are valid against the schema; canonical is their [Canonical] form, so that calls with the same meaning have
// the same bytes. Every error is a [*Refusal]: at most three problems in the sequence of the schema, each with the field's
// path, what it takes, an example if the schema has one, and the escaped and shortened value.
func ParseArguments(raw []byte, schema *Schema) (canonical []byte, values map[string]any, err error) {
	if values, err = checkedArguments(raw, schema); err != nil {
		return nil, nil, err
	}
	if canonical, err = Canonical(values); err != nil {
		return nil, nil, Refusef("The arguments cannot be read: %v.", err)
	}
	return canonical, values, nil
}

// checkedArguments are the values of [ParseArguments].
func checkedArguments(raw []byte, schema *Schema) (map[string]any, error) {
	values, err := readObject(raw, schema)
	if err != nil {
		return nil, err
	}
	schema.root.dropNulls(values)
	if err := schema.validate(values); err != nil {
		return nil, err
	}
	if _, err := normalNumbers(values); err != nil {
		return nil, Refusef("The arguments cannot be read: %v.", err)
	}
	return values, nil
}

// readObject decodes raw into an object, or refuses.
func readObject(raw []byte, schema *Schema) (map[string]any, error) {
	text := trimBlanks(raw)
	if len(text) == 0 || string(text) == "null" {
		return map[string]any{}, nil
	}
	v, err := decodeChecked(text)
	if err != nil {
		return nil, err
	}
	if wrapped, ok := v.(string); ok {
		return unwrap(wrapped, schema)
	}
	if object, ok := v.(map[string]any); ok {
		return object, nil
	}
	return nil, noObject(v, schema)
}

// unwrap reads an object from the text of a JSON string.
func unwrap(wrapped string, schema *Schema) (map[string]any, error) {
	text := trimBlanks([]byte(wrapped))
	switch {
	case len(text) == 0:
		return map[string]any{}, nil
	case text[0] == '"':
		return nil, Refusef("The arguments are quoted twice. Send the JSON object itself%s.", exampleOf(schema))
	case text[0] != '{':
		return nil, noObject(wrapped, schema)
	}
	v, err := decodeChecked(text)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

func noObject(v any, schema *Schema) error {
	return Refusef("The arguments must be one JSON object%s. You sent %s.", exampleOf(schema), schema.root.describe(v))
}

func exampleOf(schema *Schema) string {
	if schema.root.example == "" {
		return ""
	}
	return ", e.g. " + schema.root.example
}

// decodeChecked checks raw and then decodes it, numbers as [json.Number].
func decodeChecked(raw []byte) (any, error) {
	if err := checkRaw(raw, argumentRules()); err != nil {
		return nil, Refusef("%v", err)
	}
	var v any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, Refusef("The arguments cannot be read: not valid JSON.")
	}
	return v, nil
}

func trimBlanks(raw []byte) []byte { return bytes.Trim(raw, " \t\r\n") }

// dropNulls removes the keys with null for a property that is not required, here and within.
func (f *field) dropNulls(v any) {
	switch v := v.(type) {
	case []any:
		for _, entry := range v {
			if f.Items != nil {
				f.Items.dropNulls(entry)
			}
		}
	case map[string]any:
		for i, name := range f.sequence {
			if value, ok := v[name]; ok && value == nil && i >= len(f.Required) {
				delete(v, name)
			} else if ok {
				f.Properties[name].dropNulls(value)
			}
		}
	}
}
