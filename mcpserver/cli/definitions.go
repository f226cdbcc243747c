package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// definition is one setting, by its name in the configuration file. Its flag
// is the name with hyphens, its variable ORDERDESK_ and the name in capitals.
type definition struct {
	name    string
	value   string // what the help calls the value: "N"
	help    string
	preset  string // the default; "" is none
	kind    kind
	choices []string                 // the only values it takes; none: any of its kind
	form    func(value string) error // says what it expects; nil: any of its kind
	source  source
	secret  bool // never shown
}

// kind is the JSON type a setting has in the configuration file.
type kind int

const (
	text kind = iota
	number
	yesNo
)

// source restricts where a setting may come from.
type source int

const (
	anywhere source = iota
	notFlag         // too lasting to be said in passing
	onlyFlag        // too risky to be left lying about
)

// definitions are all settings, in the sequence in which they are shown.
func definitions() []definition {
	return []definition{
		{name: "data_dir", value: "DIR", help: "keep the store in `DIR`"},
		{name: "org", value: "ID", help: helpOrg, preset: "1010", form: checkOrg},
		{name: "data", value: "PATH", help: helpData, preset: "sample"},
		{name: "model", value: "NAME", help: "let the model `NAME` decide: sample is rule-based and needs no account",
			preset: "sample", choices: []string{"sample"}},
		{name: "simulate", value: "MODE", help: "play a service that fails: `MODE` is none, flaky or outage",
			preset: "none", choices: []string{"none", "flaky", "outage"}},
		{name: "max_model_calls", value: "N", help: "stop after `N` model calls", kind: number},
		{name: "max_tool_calls", value: "N", help: "stop after `N` tool calls", kind: number},
		{name: "max_chars", value: "N", help: "stop after `N` characters sent to the model", kind: number},
		{name: "max_seconds", value: "N", help: "stop after `N` seconds of active time", kind: number},
		{name: "compact_at", value: "N", help: "start a new context above `N` characters", kind: number},
		{name: "crash_after", value: "N", help: "die after `N` model calls, as in a power cut (for trials)",
			kind: number, source: onlyFlag},
		{name: "listen", value: "ADDR", help: "listen on `ADDR`", preset: "127.0.0.1:8080"},
		{name: "as", value: "NAME", help: "decide as the approver `NAME`"},
		{name: "passphrase_file", value: "FILE",
			help: "take the passphrase from the first line of `FILE` (- is standard input)"},
		{name: "fact_minutes", value: "N", help: "read again what is older than `N` minutes", kind: number, preset: "240", source: notFlag},
		{name: "request_hours", value: "N", help: "let a request expire after `N` hours", kind: number, preset: "72", source: notFlag},
		{name: "note_days", value: "N", help: "show a note to later runs for `N` days", kind: number, preset: "90", source: notFlag},
		{name: "budget_ceiling", value: "N", help: "let limits that follow the list follow at most `N` items", kind: number, source: notFlag},
		{name: "self_approval", value: "BOOL", help: "let the person who started a run decide in it, true or false; recorded",
			preset: "false", kind: yesNo, choices: []string{"true", "false"}, source: notFlag},
	}
}

// flag is the setting's flag without the dashes.
func (d definition) flag() string { return strings.ReplaceAll(d.name, "_", "-") }

// variable is the setting's environment variable.
func (d definition) variable() string { return envPrefix + strings.ToUpper(d.name) }

const (
	envPrefix = "ORDERDESK_"
	envConfig = envPrefix + "CONFIG"
)

// maxNumber is the largest number a setting takes.
const maxNumber = math.MaxInt32

// check says what the setting expects if value is not that.
func (d definition) check(value string) error {
	switch {
	case d.choices != nil:
		return checkChoice(value, d.choices)
	case d.form != nil:
		return d.form(value)
	case d.kind == number:
		_, err := parseNumber(value)
		return err
	}
	return checkLine(value)
}

// parseNumber takes plain whole numbers from 0 to [maxNumber]: digits only.
func parseNumber(s string) (int, error) {
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
	n, err := strconv.ParseInt(s, 10, 32)
	if !digits || err != nil {
		return 0, fmt.Errorf("expects a whole number from 0 to %d, in digits", maxNumber)
	}
	return int(n), nil
}

// checkLine takes one line of text without control characters, up to 4,096 bytes.
func checkLine(s string) error {
	if len(s) > 4096 || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("expects one line without control characters, up to 4096 bytes")
	}
	return nil
}

func checkChoice(s string, choices []string) error {
	switch last := len(choices) - 1; {
	case slices.Contains(choices, s):
		return nil
	case last == 0:
		return fmt.Errorf("expects %s", choices[0])
	default:
		return fmt.Errorf("expects %s or %s", strings.Join(choices[:last], ", "), choices[last])
	}
}
