package cli

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are what a command works with.
type Settings struct {
	DataDir        string
	Org            string
	Listen         string
	Source         Source
	Limits         Limits
	CrashAfter     Limit
	As             string
	PassphraseFile string
	SelfApproval   bool
	FactAge        time.Duration
	RequestLife    time.Duration
	NoteAge        time.Duration
	BudgetCeiling  int // 0: none
	from           map[string]resolved
}

// Source is where facts come from and who decides.
type Source struct{ Data, Model, Simulate string }

// Limits are the limits a person set; one that is not set follows the list.
type Limits struct{ ModelCalls, ToolCalls, Chars, Seconds, CompactAt Limit }

// Limit is a whole number that may be missing. Zero means zero.
type Limit struct {
	Max int
	Set bool
}

// Origin says where a setting's value came from.
type Origin string

const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromFile    Origin = "file"
	FromDefault Origin = "default"
	NotSet      Origin = "not set"
)

// From tells where the setting with this name came from.
func (s *Settings) From(name string) Origin { return s.from[name].origin }

// Given reports whether a person gave the setting, rather than its default.
func (s *Settings) Given(name string) bool {
	o := s.From(name)
	return o != FromDefault && o != NotSet
}

// resolved is a setting's value and where it is from: "--org",
// "ORDERDESK_ORG", "/home/a/.config/orderdesk/config.json:3".
type resolved struct {
	value  string
	origin Origin
	where  string
}

// inputs are the places settings come from.
type inputs struct {
	flag func(name string) (value string, given bool)
	env  func(name string) string
	file map[string]fileValue
	path string // of file
}

// resolve looks each setting up in flag, environment, file and default, the
// first that is not empty, and reports every mistake, joined.
func resolve(defs []definition, in inputs) (map[string]resolved, error) {
	out := make(map[string]resolved, len(defs))
	var errs []error
	for _, d := range defs {
		r := d.lookup(in)
		out[d.name] = r
		if r.value == "" || r.origin == FromDefault {
			continue
		}
		if err := d.check(r.value); err != nil {
			errs = append(errs, fmt.Errorf("%s %w, not %s", r.where, err, d.shown(r.value)))
		}
	}
	return out, errors.Join(errs...)
}

func (d definition) lookup(in inputs) resolved {
	if v, given := in.flag(d.flag()); given && v != "" {
		return resolved{v, FromFlag, "--" + d.flag()}
	}
	if v := in.env(d.variable()); v != "" && d.source != onlyFlag {
		return resolved{v, FromEnv, d.variable()}
	}
	if v := in.file[d.name]; v.text != "" {
		return resolved{v.text, FromFile, in.path + ":" + strconv.Itoa(v.line)}
	}
	if d.preset != "" {
		return resolved{d.preset, FromDefault, ""}
	}
	return resolved{"", NotSet, ""}
}

// shown is a value as people may see it.
func (d definition) shown(value string) string {
	switch {
	case d.secret:
		return "(hidden)"
	case d.kind == text:
		return strconv.Quote(cut(value, 60))
	}
	return visible(cut(value, 60))
}

// settings reads every place; flag tells what a flag was given.
func (a *app) settings(flag func(string) (string, bool)) (*Settings, error) {
	defs := definitions()
	path, named := a.proc.Getenv(envConfig), true
	if path == "" {
		path, _ = configFile(runtime.GOOS, a.proc.Getenv)
		named = false
	}
	var file map[string]fileValue
	var fileErr error
	if path != "" {
		file, fileErr = readConfig(path, named, defs)
	}
	from, err := resolve(defs, inputs{flag, a.proc.Getenv, file, path})
	if from["data_dir"].value == "" {
		dir, e := dataDir(runtime.GOOS, a.proc.Getenv)
		if e != nil {
			err = errors.Join(err, errors.New("no data directory: neither --data-dir nor a home directory is set"))
		}
		from["data_dir"] = resolved{dir, FromDefault, ""}
	}
	if err := errors.Join(fileErr, err); err != nil {
		return nil, settingsError(err)
	}
	a.warnUnknown(defs)
	return typed(from), nil
}

// typed turns checked values into [Settings].
func typed(from map[string]resolved) *Settings {
	limit := func(name string) Limit {
		n, err := parseNumber(from[name].value)
		return Limit{Max: n, Set: err == nil}
	}
	// Nothing is as old as no age at all: zero means zero.
	age := func(name string, unit time.Duration) time.Duration {
		return max(time.Nanosecond, time.Duration(limit(name).Max)*unit)
	}
	return &Settings{
		DataDir: from["data_dir"].value, Org: from["org"].value, Listen: from["listen"].value,
		Source: Source{from["data"].value, from["model"].value, from["simulate"].value},
		Limits: Limits{limit("max_model_calls"), limit("max_tool_calls"), limit("max_chars"),
			limit("max_seconds"), limit("compact_at")},
		CrashAfter: limit("crash_after"), As: from["as"].value,
		PassphraseFile: from["passphrase_file"].value,
		FactAge:        age("fact_minutes", time.Minute), RequestLife: age("request_hours", time.Hour),
		NoteAge: age("note_days", 24*time.Hour), BudgetCeiling: limit("budget_ceiling").Max,
		SelfApproval: from["self_approval"].value == "true", from: from,
	}
}

// settingsError makes one error of all mistakes.
func settingsError(err error) *Error {
	mistakes := strings.Split(err.Error(), "\n")
	hint := "orderdesk config --help lists every setting"
	if len(mistakes) == 1 {
		return configError(mistakes[0]+"; nothing was started", hint)
	}
	e := configError(fmt.Sprintf("%d settings are wrong; nothing was started", len(mistakes)), hint)
	e.Details = mistakes
	return e
}

// warnUnknown names variables that look like settings and are none.
func (a *app) warnUnknown(defs []definition) {
	for _, v := range a.proc.Environ() {
		name, _, _ := strings.Cut(v, "=")
		known := name == envConfig || slices.ContainsFunc(defs, func(d definition) bool {
			return d.variable() == name && d.source != onlyFlag
		})
		if strings.HasPrefix(name, envPrefix) && !known {
			a.out.note("warning: %s is not a setting and was ignored", name)
		}
	}
}
