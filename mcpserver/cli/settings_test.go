package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// places builds inputs out of "flag:org=1", "env:ORG=2", "file:org=3".
func places(given ...string) inputs {
	flags, env, file := map[string]string{}, map[string]string{}, map[string]fileValue{}
	for _, g := range given {
		where, pair, _ := strings.Cut(g, ":")
		name, value, _ := strings.Cut(pair, "=")
		switch where {
		case "flag":
			flags[name] = value
		case "env":
			env[name] = value
		case "file":
			file[name] = fileValue{value, 7}
		}
	}
	return inputs{
		flag: func(n string) (string, bool) { v, ok := flags[n]; return v, ok },
		env:  func(n string) string { return env[n] },
		file: file, path: "c.json",
	}
}

func TestCLI06_PrecedenceAndEmptySettings(t *testing.T) {
	const flag, env, file = "flag:max-chars=1", "env:ORDERDESK_MAX_CHARS=2", "file:max_chars=3"
	tests := []struct {
		name  string
		given []string
		want  resolved
	}{
		{"all", []string{flag, env, file}, resolved{"1", FromFlag, "--max-chars"}},
		{"no flag", []string{env, file}, resolved{"2", FromEnv, "ORDERDESK_MAX_CHARS"}},
		{"file only", []string{file}, resolved{"3", FromFile, "c.json:7"}},
		{"empty flag", []string{"flag:max-chars=", env, file}, resolved{"2", FromEnv, "ORDERDESK_MAX_CHARS"}},
		{"empty variable", []string{"env:ORDERDESK_MAX_CHARS=", file}, resolved{"3", FromFile, "c.json:7"}},
		{"all empty", []string{"flag:max-chars=", "env:ORDERDESK_MAX_CHARS=", "file:max_chars="}, resolved{"", NotSet, ""}},
		{"nothing", nil, resolved{"", NotSet, ""}},
		{"zero is a value", []string{"flag:max-chars=0", env}, resolved{"0", FromFlag, "--max-chars"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := resolve(definitions(), places(tt.given...))
			if err != nil || got["max_chars"] != tt.want {
				t.Errorf("got %v, %v, want %v", got["max_chars"], err, tt.want)
			}
			if want := (resolved{"1010", FromDefault, ""}); got["org"] != want {
				t.Errorf("org: got %v, want %v", got["org"], want)
			}
		})
	}
}

func TestCLI06_NeverSecrets(t *testing.T) {
	defs := []definition{{name: "key", secret: true}, {name: "pin", secret: true, kind: number}}
	from, err := resolve(defs, places("env:ORDERDESK_KEY=s3cret", "file:pin=s3cret"))
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got error %v, want one without the secret", err)
	}
	want := []shownSetting{{"key", "(hidden)", FromEnv, "ORDERDESK_KEY"}, {"pin", "(hidden)", FromFile, "c.json:7"}}
	if got := showSettings(defs, from); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		in   string
		want int
		ok   bool
	}{
		{"0", 0, true}, {"25", 25, true}, {"2147483647", maxNumber, true}, {"007", 7, true},
		{"", 0, false}, {"-1", 0, false}, {"-0", 0, false}, {"+1", 0, false}, {"1.5", 0, false}, {"1e3", 0, false},
		{"2147483648", 0, false}, {"99999999999999999999", 0, false}, {"1_000", 0, false}, {"1,000", 0, false},
		{" 1", 0, false}, {"0x10", 0, false}, {"\u0663", 0, false}, {"NaN", 0, false},
	}
	for _, tt := range tests {
		got, err := parseNumber(tt.in)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: got %d, %v, want %d, ok %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

func TestTypedSettings(t *testing.T) {
	from, err := resolve(definitions(), places("flag:max-chars=0", "env:ORDERDESK_SELF_APPROVAL=true",
		"flag:crash-after=6", "env:ORDERDESK_CRASH_AFTER=9", "file:simulate=flaky"))
	if err != nil {
		t.Fatal(err)
	}
	s := typed(from)
	if want := (Limits{Chars: Limit{0, true}}); s.Limits != want {
		t.Errorf("limits: got %v, want %v", s.Limits, want)
	}
	if want := (Limit{6, true}); s.CrashAfter != want {
		t.Errorf("crash after: got %v, want %v", s.CrashAfter, want)
	}
	if want := (Source{"sample", "sample", "flaky"}); s.Source != want {
		t.Errorf("source: got %v, want %v", s.Source, want)
	}
	if !s.SelfApproval || !s.Given("simulate") || s.Given("model") || s.Given("as") {
		t.Errorf("got %+v", s)
	}
}

func TestConfigFile(t *testing.T) {
	tests := []struct {
		name, in string
		want     string // the mistakes, or "org=... max_chars=..."
	}{
		{"good", "{\n\"org\": \"1020\",\n\"max_chars\": 5}", "org=1020:2 max_chars=5:3"},
		{"byte mark", "\ufeff{\"org\": \"1020\"}", "org=1020:1 max_chars=:0"},
		{"empty values", `{"org": "", "max_chars": null}`, "org=:1 max_chars=:1"},
		{"empty object", `{}`, "org=:0 max_chars=:0"},
		{"unknown", "{\n\n\"colour\": 1}", `f:3: unknown setting "colour"`},
		{"unknown, escaped", "{\"\u202e\": 1}", `f:1: unknown setting "\u202e"`},
		{"twice", "{\"org\": \"1\",\n\"org\": \"2\"}", "f:2: org is there twice"},
		{"flag only", `{"crash_after": 1}`, `f:1: unknown setting "crash_after"`},
		{"quoted number", `{"max_chars": "5"}`, "f:1: max_chars expects a whole number without quotes"},
		{"fraction", `{"max_chars": 5.0}`, "f:1: max_chars expects a whole number without quotes"},
		{"negative", `{"max_chars": -5}`, "f:1: max_chars expects a whole number without quotes"},
		{"bare number", `{"org": 1010}`, `f:1: org expects a text in quotes, or ""`},
		{"quoted truth", `{"self_approval": "true"}`, "f:1: self_approval expects true or false"},
		{"nested", `{"org": {"id": 1}}`, `f:1: org expects a text in quotes, or ""`},
		{"several", "{\"a\": 1,\n\"max_chars\": true}", "f:1: unknown setting \"a\"\nf:2: max_chars expects a whole number without quotes"},
		{"no JSON", "{\"org\": \"1\",\n\"max_chars\" = 5}", "f:2: is not JSON here"},
		{"cut off", `{"org": "1"`, "f:1: is not JSON here"},
		{"a list", `[]`, `f:1: expects one JSON object, like {"org": "1010"}`},
		{"empty", ``, `f:1: expects one JSON object, like {"org": "1010"}`},
		{"two values", `{} {}`, "f:1: has something after the JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			values, err := parseConfig("f", []byte(strings.TrimPrefix(tt.in, "\ufeff")), definitions())
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = string(format("org=%s:%d max_chars=%s:%d", values["org"].text, values["org"].line,
					values["max_chars"].text, values["max_chars"].line))
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name, path string
		named, ok  bool
	}{
		{"not there", filepath.Join(dir, "none"), false, true},
		{"not there, but asked for", filepath.Join(dir, "none"), true, false},
		{"a folder", dir, false, false},
		{"with a byte mark", file("bom", "\ufeff{\"org\": \"1\"}"), true, true},
		{"not UTF-8", file("latin", "{\"org\": \"\xfc\"}"), true, false},
		{"too large", file("large", strings.Repeat(" ", maxConfig)+"{}"), true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := readConfig(tt.path, tt.named, definitions()); (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte("{\"org\": \"1010\",\n\"max_chars\": 5, \"self_approval\": true}"))
	f.Add([]byte(`{"a": [1, {"b": null}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		values, err := parseConfig("f", src, definitions())
		if err != nil {
			return
		}
		for name, v := range values {
			if v.line < 1 || v.line > 1+strings.Count(string(src), "\n") {
				t.Errorf("%s: line %d", name, v.line)
			}
		}
	})
}
