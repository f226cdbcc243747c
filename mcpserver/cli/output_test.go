package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// breaks takes n writes and fails from then on.
type breaks struct {
	n      int
	err    error
	writes int
}

func (b *breaks) Write(p []byte) (int, error) {
	if b.writes++; b.writes > b.n {
		return 0, b.err
	}
	return len(p), nil
}

func TestCLI01_ReaderGoesAway(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"pipe", &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, ExitOK},
		{"terminal", &os.PathError{Op: "write", Path: "/dev/tty", Err: syscall.EIO}, ExitOK},
		{"full disk", &os.PathError{Op: "write", Path: "out", Err: syscall.ENOSPC}, ExitInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := invocation{}
			p := s.process(t, "config", "show")
			out := &breaks{n: 2, err: tt.err}
			p.Stdout = out
			if got := Main(context.Background(), p); got != tt.want {
				t.Errorf("exit: got %d, want %d; %s", got, tt.want, s.stderr.String())
			}
			if out.writes != 3 {
				t.Errorf("got %d writes, want none after the one that failed", out.writes)
			}
		})
	}
}

func TestCLI01_ClosedPipeDoesNotKill(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cmd := exec.Command("orderdesk", "version")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		t.Errorf("got %v, want exit code 0", err)
	}
}

func TestCLI03_OneJSONValue(t *testing.T) {
	tests := []struct {
		name string
		args []string
		exit int
		code string // of the error
	}{
		{"result", []string{"version", "--json"}, ExitOK, ""},
		{"result with a warning", []string{"config", "show", "--json"}, ExitOK, ""},
		{"unknown command", []string{"--json", "fly"}, ExitUsage, "usage"},
		{"unknown flag first", []string{"run", "--fast", "--json"}, ExitUsage, "usage"},
		{"bad setting", []string{"run", "--json", "--max-chars", "many"}, ExitUsage, "config"},
		{"json is no flag after --", []string{"approver", "remove", "--", "--json", "x"}, ExitUsage, ""},
		{"bad json flag", []string{"version", "--json=maybe"}, ExitUsage, "usage"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := invocation{env: map[string]string{"ORDERDESK_TYPO": "x"}}
			if got := s.run(t, tt.args...); got != tt.exit {
				t.Errorf("exit: got %d, want %d", got, tt.exit)
			}
			if tt.code == "" && tt.exit != ExitOK {
				if s.stdout.Len() > 0 {
					t.Errorf("standard output: got %q, want nothing", s.stdout.String())
				}
				return
			}
			var got struct {
				Error *struct{ Code, Message, Hint string }
				Exit  int
			}
			if err := json.Unmarshal(s.stdout.Bytes(), &got); err != nil {
				t.Fatalf("standard output is not one JSON value: %v\n%s", err, s.stdout.String())
			}
			if got.Exit != tt.exit || (got.Error != nil) != (tt.code != "") {
				t.Fatalf("got %s", s.stdout.String())
			}
			if got.Error != nil && (got.Error.Code != tt.code || got.Error.Message == "" || got.Error.Hint == "") {
				t.Errorf("got %+v, want code %q, a message and a hint", got.Error, tt.code)
			}
		})
	}
}

func TestCLI03_ListThatFailsIsJSON(t *testing.T) {
	tests := []struct {
		name  string
		items int
		err   error
		want  string
	}{
		{"empty", 0, nil, `{"n":[]}`},
		{"two", 2, nil, `{"n":[0,1]}`},
		{"fails at once", 0, usageError("bad", "good"), `{"n":[],"error":{"code":"usage","message":"bad","hint":"good"},"exit":2}`},
		{"fails later", 2, usageError("bad", ""), `{"n":[0,1],"error":{"code":"usage","message":"bad"},"exit":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := invocation{}
			a := &app{proc: s.process(t)}
			a.out = newPrinter(a.proc, true)
			err := a.out.list("n", func(yield func(any, styled) error) error {
				for i := range tt.items {
					if err := yield(i, "line"); err != nil {
						return err
					}
				}
				return tt.err
			})
			if !errors.Is(err, tt.err) {
				t.Errorf("got error %v, want %v", err, tt.err)
			}
			if err != nil {
				a.finish(context.Background(), err)
			}
			var got bytes.Buffer
			if err := json.Compact(&got, s.stdout.Bytes()); err != nil || got.String() != tt.want {
				t.Errorf("got %s, %v, want %s", got.String(), err, tt.want)
			}
		})
	}
}

func TestINJ07_TerminalEscapes(t *testing.T) {
	const name = "ACME\x1b[2K\x1b[1A Approved by CFO \x1b]8;;http://x\x07\x1b]52;c;YQ==\x9c\x7f"
	for _, asJSON := range []bool{false, true} {
		s := invocation{terminal: Terminal{Out: true}}
		p := newPrinter(s.process(t), asJSON)
		err := p.result(map[string]string{"name": name}, func() { p.say("%s %s", p.style(bold, "name:"), name) })
		if err != nil {
			t.Fatal(err)
		}
		got := s.stdout.String()
		if asJSON {
			var back map[string]string
			if err := json.Unmarshal(s.stdout.Bytes(), &back); err != nil || back["name"] != strings.ToValidUTF8(name, "\ufffd") {
				t.Errorf("JSON: got %q, %v, want %q", back["name"], err, name)
			}
			continue
		}
		ours := "\x1b[1mname:\x1b[0m "
		if !strings.HasPrefix(got, ours) || strings.ContainsAny(got[len(ours):len(got)-1], "\x1b\x07\x7f\u009c") {
			t.Errorf("text: got %q", got)
		}
	}
}

func TestColours(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		tty  bool
		want bool
	}{
		{"terminal", nil, true, true},
		{"pipe", nil, false, false},
		{"NO_COLOR", map[string]string{"NO_COLOR": "1"}, true, false},
		{"empty NO_COLOR", map[string]string{"NO_COLOR": ""}, true, true},
		{"dumb terminal", map[string]string{"TERM": "dumb"}, true, false},
		{"Windows console", map[string]string{"TERM": ""}, true, false},
		{"Windows Terminal", map[string]string{"TERM": "", "WT_SESSION": "1"}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := invocation{env: tt.env, terminal: Terminal{Out: tt.tty, Err: tt.tty}}
			if got := s.run(t, "fly"); got != ExitUsage {
				t.Errorf("exit: got %d, want %d", got, ExitUsage)
			}
			if got := strings.Contains(s.stderr.String(), "\x1b["); got != tt.want {
				t.Errorf("coloured: got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestInternalErrors(t *testing.T) {
	typeError := json.Unmarshal([]byte(`"x"`), new(struct{ X func() }))
	tests := []struct {
		name  string
		err   error
		never string
	}{
		{"a Go type", typeError, "struct"},
		{"a stack", errors.New("panic: x\ngoroutine 1 [running]:"), "goroutine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			s := invocation{env: map[string]string{"HOME": home}}
			a := &app{proc: s.process(t).withDefaults()}
			a.out = newPrinter(a.proc, true)
			if got := a.finish(context.Background(), tt.err); got != ExitInternal {
				t.Errorf("exit: got %d, want %d", got, ExitInternal)
			}
			shown := s.stdout.String() + s.stderr.String()
			if strings.Contains(shown, tt.never) || !strings.Contains(shown, reference(tt.err)) {
				t.Errorf("shown: %s", shown)
			}
			logged := readLog(t, home)
			if !strings.Contains(logged, tt.never) || !strings.Contains(logged, reference(tt.err)) {
				t.Errorf("logged: %s", logged)
			}
		})
	}
}

// readLog finds errors.log wherever below home this system keeps it.
func readLog(t *testing.T, home string) string {
	t.Helper()
	var content []byte
	err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "errors.log" {
			content, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestPanicIsInternal(t *testing.T) {
	s := invocation{}
	p := s.process(t, "version")
	getenv := p.Getenv
	p.Args = []string{"config", "show"}
	p.Getenv = func(name string) string {
		if name == "ORDERDESK_ORG" {
			panic("boom")
		}
		return getenv(name)
	}
	if got := Main(context.Background(), p); got != ExitInternal {
		t.Errorf("exit: got %d, want %d", got, ExitInternal)
	}
	if out := s.stderr.String(); strings.Contains(out, "boom") || strings.Contains(out, "goroutine") {
		t.Errorf("shown: %s", out)
	}
}
