package tools

import (
	"slices"
	"strings"
	"testing"
)

func TestCompileSchema(t *testing.T) {
	s := mustSchema(t, "plan_update", planSchema)
	if got, want := s.Name(), "plan_update"; got != want {
		t.Errorf("name: got %s, want %s", got, want)
	}
	if got := string(s.Raw()); got != planSchema {
		t.Errorf("raw: got %s, want what was given", got)
	}
	if got, want := s.Example(), `{"items":[{"sales_order":"4711","status":"todo","note":"Waits."}]}`; got != want {
		t.Errorf("example: got %s, want %s", got, want)
	}
	if _, _, err := ParseArguments([]byte(s.Example()), s); err != nil {
		t.Errorf("example: %v", err)
	}
	s = mustSchema(t, "summary", summarySchema)
	if got, want := s.Fields(), []string{"sales_order", "run_id"}; !slices.Equal(got, want) {
		t.Errorf("fields: got %v, want %v", got, want)
	}
	if got := mustSchema(t, "subject", subjectSchema).Example(); got != "" {
		t.Errorf("example: got %s, want none, for one field has no example", got)
	}
}

// Every problem is reported, and none is compiled.
func TestCompileSchema_Refused(t *testing.T) {
	object := func(required, properties string) string {
		return `{"type":"object","additionalProperties":false,"required":[` + required + `],"properties":{` + properties + `}}`
	}
	text := func(more string) string { return object(`"a"`, `"a":{"type":"string","description":"x"`+more+`}`) }
	list := func(items string) string { return `{"type":"array","description":"x","items":` + items + `}` }
	for _, c := range []struct {
		name, raw string
		want      []string // parts of the error
	}{
		{"no JSON", `{`, []string{"ends too early"}},
		{"duplicate key", `{"type":"object","type":"object"}`, []string{"duplicate key type"}},
		{"no object", `[]`, []string{"the root must have type object"}},
		{"other type", `{"type":"array"}`, []string{"the root must have type object"}},
		{"bare", `{"type":"object"}`, []string{"properties are missing", "additionalProperties must be false", "required must be a list"}},
		{"open", strings.Replace(text(""), "false", "true", 1), []string{"additionalProperties must be false"}},
		{"undescribed", object(`"a"`, `"a":{"type":"string"}`), []string{"schema t a: a description on one line is missing"}},
		{"description of two lines", object(`"a"`, `"a":{"type":"string","description":"x\ny"}`), []string{"a description on one line"}},
		{"not required", object(``, `"a":{"type":"string","description":"x"}`), []string{"schema t a: must be listed in required"}},
		{"required without property", object(`"a","b"`, `"a":{"type":"string","description":"x"}`), []string{"required names b, which is no property"}},
		{"bad name", object(`"A b"`, `"A b":{"type":"string","description":"x"}`), []string{"lower-case letters"}},
		{"reference", object(`"a"`, `"a":{"$ref":"file:///etc/passwd","description":"x"}`), []string{"keyword $ref is not allowed"}},
		{"combinations", text(`,"oneOf":[],"anyOf":[],"allOf":[],"not":{},"if":{}`),
			[]string{"keyword oneOf", "keyword anyOf", "keyword allOf", "keyword not", "keyword if"}},
		{"hidden reference", text(`,"properties":{"x":{"$ref":"#"}}`), []string{"keyword properties is not allowed here"}},
		{"two types", object(`"a"`, `"a":{"type":["string","null"],"description":"x"}`), []string{"type must be one of"}},
		{"no type", object(`"a"`, `"a":{"description":"x"}`), []string{"type must be one of"}},
		{"object in object", object(`"a"`, `"a":{"type":"object","description":"x"}`), []string{"type must be one of"}},
		{"list in list", object(`"a"`, `"a":`+list(list(`{"type":"string"}`))), []string{"schema t a[]: type must be one of"}},
		{"list in a list of objects", object(`"a"`, `"a":`+list(object(`"b"`, `"b":`+list(`{"type":"string"}`)))), []string{"schema t a[].b: a list inside"}},
		{"two lists of objects", object(`"a","b"`, `"a":`+list(object(``, ``))+`,"b":`+list(object(``, ``))), []string{"only one list of objects"}},
		{"list without items", object(`"a"`, `"a":{"type":"array","description":"x"}`), []string{"schema t a[]: type must be one of"}},
		{"enum of numbers", object(`"a"`, `"a":{"type":"integer","description":"x","enum":[1]}`), []string{"enum is for text only"}},
		{"bad pattern", text(`,"pattern":"("`), []string{"pattern"}},
		{"bad limit", text(`,"maxLength":-1`), []string{"maxLength"}},
		{"bad example", text(`,"pattern":"^[0-9]{1,10}$","examples":["4711","88O1"]`), []string{`schema t.a: example "88O1"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := CompileSchema("t", []byte(c.raw))
			if err == nil || s != nil {
				t.Fatalf("got %v, %v; want an error and no schema", s, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want it to say %s", err, want)
				}
			}
		})
	}
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		pattern     string
		least, most int
		ok          bool
	}{
		{"^[0-9]{1,10}$", 1, 10, true}, {"^[0-9]{4}$", 4, 4, true}, {"^[0-9]+$", 1, 0, true},
		{"^[0-9]$", 0, 0, false}, {"^[0-9]{1,}$", 0, 0, false}, {"^[0-9]*$", 0, 0, false}, {"[0-9]{4}", 0, 0, false},
		{"^[0-9]{4}|x{1}$", 0, 0, false}, {"^[0-9]{a}$", 0, 0, false}, {"", 0, 0, false},
	} {
		f := field{Type: "string", bounds: bounds{Pattern: c.pattern}}
		least, most, ok := f.digits()
		if ok != c.ok || ok && (least != c.least || most != c.most) {
			t.Errorf("%s: got %d, %d, %v; want %d, %d, %v", c.pattern, least, most, ok, c.least, c.most, c.ok)
		}
	}
}

// FuzzCompileSchema: a schema is refused or works; it never panics, and its own example is valid.
func FuzzCompileSchema(f *testing.F) {
	for _, raw := range []string{summarySchema, planSchema, pageSchema, subjectSchema, emptySchema} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := CompileSchema("t", raw)
		if err != nil || s.Example() == "" {
			return
		}
		if _, _, err := ParseArguments([]byte(s.Example()), s); err != nil {
			t.Fatalf("%s: example %s: %v", raw, s.Example(), err)
		}
	})
}
