package tools

import (
	"encoding/json"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		name string
		in   any
		want string // "" is an error
	}{
		{"nothing", nil, `null`},
		{"truth values", []any{true, false}, `[true,false]`},
		{"sorted keys", map[string]any{"b": 1, "a": map[string]any{}, "B": []any{}}, `{"B":[],"a":{},"b":1}`},
		{"text", "Größe <b> & \u2028 \"\\\n\x01\x7f", "\"Größe <b> & \u2028 \\\"\\\\\\n\\u0001\x7f\""},
		{"whole numbers", []any{json.Number("0"), json.Number("-0"), json.Number("-12"), json.Number("3.0"), json.Number("30e-1")}, `[0,0,-12,3,3]`},
		{"fractions", []any{json.Number("1.50"), json.Number("15e-1"), json.Number("-0.001"), json.Number("1E-3")}, `[1.5,1.5,-0.001,0.001]`},
		{"large", json.Number("9007199254740993e3"), `9007199254740993000`},
		{"too large", json.Number("1e60"), ``},
		{"a gigabyte", json.Number("1e999999999"), ``},
		{"beyond every int", json.Number("1e99999999999999999999"), ``},
		{"no number", json.Number("0x10"), ``},
		{"no number either", json.Number("true"), ``},
		{"a fraction bar", json.Number("1/2"), ``},
		{"empty number", json.Number(""), ``},
		{"not UTF-8", "\xff", ``},
		{"not UTF-8 as key", map[string]any{"\xff": 1}, ``},
		{"other type", []any{map[string]any{"x": 1.5}}, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Canonical(c.in)
			if string(got) != c.want || (err != nil) != (c.want == "") {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}
