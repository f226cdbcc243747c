package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheckMessage(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plan_update","arguments":{"sales_order":"4711"}`
	cannot := "The message cannot be read: "
	for _, c := range []struct{ name, raw, want string }{
		{"good", call + `}}`, ""},
		{"blanks and every kind of value", " [ 1 , -2.5e+1 , true , null , { } , [ ] , { \"a\" : [ { } ] , \"b\" : \"\\u00e4\" } ] ", ""},
		{"large numbers are the decoder's matter", `{"x":1e999}`, ""},
		{"ARG-08 second arguments", call + `,"Arguments":{"sales_order":"4740"}}}`,
			cannot + "key Arguments differs only in letter case from arguments in params."},
		{"ARG-08 alone", `{"method":"tools/call","params":{"name":"x","Arguments":{}}}`,
			cannot + "key Arguments differs only in letter case from arguments in params."},
		{"ARG-08 second params", call + `},"PARAMS":{}}`, cannot + "key PARAMS differs only in letter case from params."},
		{"ARG-08 deep inside the arguments", `{"params":{"arguments":{"items":[{"note":"","NOTE":""}]}}}`,
			cannot + "key NOTE differs only in letter case from note in params.arguments.items[0]."},
		{"ARG-09 second method", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`,
			cannot + "key Method differs only in letter case from method."},
		{"ARG-09 alone", `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`, cannot + "key Method differs only in letter case from method."},
		{"ARG-09 in a batch", `[{"id":1,"methOd":"ping"}]`, cannot + "key methOd differs only in letter case from method in [0]."},
		{"ARG-10 duplicate", `{"id":1,"id":2}`, cannot + "duplicate key id."},
		{"ARG-11 folded", `{"param\u017f":{}}`, cannot + `key "param\u017f" differs only in letter case from params.`},
		{"names of data may look like those of the protocol", `{"params":{"arguments":{"Name":"x","URI":"y","Method":"z"}}}`, ""},
		{"ARG-19 bytes", "{\"x\":\"\xc3\"}", cannot + "text is not valid UTF-8 (byte 7)."},
		{"ARG-19 lone surrogate", `{"params":{"x":"\uDBFFx"}}`, cannot + "text is not valid UTF-8 (a lone surrogate) in params.x."},
		{"ARG-22 levels", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), cannot + "nested deeper than 32 levels."},
		{"32 levels", strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32), ""},
		{"ARG-22 1 MiB and a byte", `"` + strings.Repeat("x", 1<<20-1) + `"`, cannot + "1048577 bytes are too long; at most 1048576 are allowed."},
		{"1 MiB", `"` + strings.Repeat("x", 1<<20-2) + `"`, ""},
		{"empty", "", cannot + "not valid JSON, it ends too early; send it again, complete."},
		{"two values", "{}{}", cannot + "not valid JSON, more text follows the first value (byte 3)."},
		{"NaN", `{"x":NaN}`, cannot + `not valid JSON, the problem is at byte 6: "NaN}".`},
		{"trailing comma", `{"x":1,}`, cannot + `not valid JSON, the problem is at byte 8: "}".`},
		{"byte order mark", "\ufeff{}", cannot + `not valid JSON, the problem is at byte 1: "\ufeff{}".`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := CheckMessage([]byte(c.raw)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFoldKey(t *testing.T) {
	for _, c := range []struct{ a, b string }{
		{"sales", "SALES"}, {"sales", "ſales"}, {"k", "\u212a"}, {"Σ", "ς"}, {"å", "\u212b"}, {"ǆ", "ǅ"},
	} {
		if foldKey(c.a) != foldKey(c.b) || !strings.EqualFold(c.a, c.b) {
			t.Errorf("%s and %s: got %q and %q, want one", c.a, c.b, foldKey(c.a), foldKey(c.b))
		}
	}
	if foldKey("a_b") == foldKey("ab") {
		t.Error("a_b folds to ab")
	}
}

// FuzzCheckMessage: nothing panics, and what passes is read the same by a decoder that folds keys and by one that does not.
func FuzzCheckMessage(f *testing.F) {
	for _, raw := range []string{`{"method":"x","Method":"y"}`, `{"a":{"a":1},"b":[1,{"c":"\ud83d\ude00"}]}`, `{"":0,"\u0000":0}`, `[1,-1e5,"\\"]`,
		`{"ſ":1,"s":2}`, ` "\ud800\u0041" `, `{"a" :1 , "b": [ ] }`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := CheckMessage(raw); err != nil {
			if text := err.Error(); Visible(text) != text {
				t.Fatalf("%q is refused with %q", raw, text)
			}
			return
		}
		var message map[string]json.RawMessage
		if json.Unmarshal(raw, &message) != nil {
			return
		}
		var folding struct{ Method json.RawMessage }
		if err := json.Unmarshal(raw, &folding); err != nil {
			t.Fatalf("%q passes and does not decode: %v", raw, err)
		}
		if exact := message["method"]; string(exact) != string(folding.Method) && string(folding.Method) != "null" {
			t.Fatalf("%q: method is %s or %s", raw, exact, folding.Method)
		}
	})
}
