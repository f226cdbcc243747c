package sampledata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// json adds a world in JSON. data is valid UTF-8.
func (b *builder) json(file string, data []byte) {
	if !json.Valid(data) {
		b.note(syntaxError(file, data))
		return
	}
	j := &jsonReader{builder: b, file: file, in: cursor{data: data}, line: 1}
	if err := j.world(); err != nil {
		b.notef("%s:%d: %w", file, j.lineNow(), err)
	}
}

// syntaxError says where data stops being JSON.
func syntaxError(file string, data []byte) error {
	err := json.Unmarshal(data, new(json.RawMessage))
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%s: %w", file, err)
	}
	at := int(syntax.Offset) - 1 // Offset counts the bad byte
	if syntax.Error() == "unexpected end of JSON input" {
		at = len(data)
	}
	line, column := position(data, at)
	return fmt.Errorf("%s:%d:%d: %w", file, line, column, err)
}

// jsonReader walks through a world, one record after the other. What it walks
// through is known to be JSON, so errors are about what it says.
type jsonReader struct {
	*builder
	file    string
	in      cursor
	counted int // how far lines are counted
	line    int // of counted
	record  record
}

// lineNow returns the line the cursor is at.
func (j *jsonReader) lineNow() int {
	j.line += bytes.Count(j.in.data[j.counted:j.in.at], []byte("\n"))
	j.counted = j.in.at
	return j.line
}

func (j *jsonReader) world() error {
	if j.in.peek() != '{' {
		return errors.New("the file must be one JSON object")
	}
	seen := map[string]bool{}
	err := j.in.each(func() error {
		key := unquote(j.in.key())
		if seen[key] && (key == "orders" || key == "customers" || key == "sales_organization") {
			return fmt.Errorf("%q is there twice", key)
		}
		seen[key] = true
		return j.part(key)
	})
	if err != nil {
		return err
	}
	for _, key := range []string{"orders", "customers"} {
		if !seen[key] {
			j.notef("%s: %q is missing", j.file, key)
		}
	}
	return nil
}

func (j *jsonReader) part(key string) error {
	switch key {
	case "orders":
		return j.list(key, orderColumns(), j.addOrder)
	case "customers":
		return j.list(key, customerColumns(), j.addCustomer)
	case "sales_organization":
		if j.in.peek() == '"' {
			j.organization = unquote(j.in.value())
			if validOrganization(j.organization) {
				return nil
			}
		}
		return errors.New(`"sales_organization" must be a string of 1 to 4 capital letters or digits, e.g. "1010"`)
	}
	j.in.value()
	return nil
}

// list hands the records of an array to add.
func (j *jsonReader) list(name string, columns []column, add func(*record)) error {
	if j.in.peek() != '[' {
		return fmt.Errorf("%q must be an array", name)
	}
	index := 0
	return j.in.each(func() error {
		if j.in.peek() != '{' {
			return fmt.Errorf("%s[%d] must be an object", name, index)
		}
		r := &j.record
		r.reset(place{file: j.file, line: j.lineNow(), list: name, index: index}, columns)
		index++
		err := j.in.each(func() error { r.field(&j.in); return nil })
		if err == nil {
			add(r)
		}
		return err
	})
}

// field reads one key and its value into r.
func (r *record) field(in *cursor) {
	key := in.key()
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(`"` + unquote(key) + `"`)
	}
	value := in.value()
	for i, c := range r.columns {
		if string(key[1:len(key)-1]) != c.name {
			continue
		}
		if r.has[i] {
			r.fault(i, "is there twice")
		}
		r.has[i] = true
		r.setJSON(i, value)
		return
	}
}

// setJSON notes a value's text if it has the type its column asks for.
func (r *record) setJSON(i int, value []byte) {
	first, c := value[0], r.columns[i]
	number := first == '-' || first >= '0' && first <= '9'
	boolean := first == 't' || first == 'f'
	switch {
	case c.kind == amount && number, c.kind == flag && boolean:
		r.values[i] = string(value)
	case c.kind != flag && first == '"':
		r.values[i] = unquote(value)
	case c.kind == amount:
		r.fault(i, "must be a number or a string, not %s", short(string(value)))
	case c.kind == flag:
		r.fault(i, "must be true or false, not %s", short(string(value)))
	default:
		r.fault(i, "must be a string, not %s", short(string(value)))
	}
}
