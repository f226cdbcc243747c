package cli

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// invocation is one command run in this process.
type invocation struct {
	env            map[string]string
	stdin          string
	terminal       Terminal
	stdout, stderr bytes.Buffer
}

// run runs the command with an empty home below t's directory, unless env says
// otherwise.
func (s *invocation) run(t *testing.T, args ...string) (exit int) {
	t.Helper()
	return Main(context.Background(), s.process(t, args...))
}

func (s *invocation) process(t *testing.T, args ...string) Process {
	t.Helper()
	env := map[string]string{"HOME": t.TempDir(), "TERM": "xterm"}
	for k, v := range s.env {
		env[k] = v
	}
	return Process{
		Args: args, Stdin: strings.NewReader(s.stdin), Stdout: &s.stdout, Stderr: &s.stderr,
		Terminal: s.terminal,
		Getenv:   func(name string) string { return env[name] },
		Environ: func() []string {
			var all []string
			for k, v := range env {
				all = append(all, k+"="+v)
			}
			return all
		},
	}
}

func exitCode(err error) string {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return strconv.Itoa(ended.ExitCode())
	}
	return err.Error()
}

func TestDirs(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	tests := []struct {
		name   string
		find   func(string, func(string) string) (string, error)
		goos   string
		getenv func(string) string
		want   string
	}{
		{"data, Linux", dataDir, "linux", env("HOME", "/h"), "/h/.local/share/orderdesk"},
		{"data, named", dataDir, "linux", env("HOME", "/h", "XDG_DATA_HOME", "/d"), "/d/orderdesk"},
		{"data, a relative name does not count", dataDir, "linux", env("HOME", "/h", "XDG_DATA_HOME", "d"), "/h/.local/share/orderdesk"},
		{"data, Mac", dataDir, "darwin", env("HOME", "/h"), "/h/Library/Application Support/orderdesk/data"},
		{"data, Windows", dataDir, "windows", env("LOCALAPPDATA", "/w"), "/w/orderdesk/data"},
		{"data, no home", dataDir, "linux", env(), ""},
		{"log, Linux", stateDir, "linux", env("HOME", "/h"), "/h/.local/state/orderdesk"},
		{"log, Mac", stateDir, "darwin", env("HOME", "/h"), "/h/Library/Logs/orderdesk"},
		{"log, Windows", stateDir, "windows", env("LOCALAPPDATA", "/w"), "/w/orderdesk/log"},
		{"config, Linux", configFile, "linux", env("HOME", "/h"), "/h/.config/orderdesk/config.json"},
		{"config, Mac", configFile, "darwin", env("HOME", "/h"), "/h/Library/Application Support/orderdesk/config.json"},
		{"config, Windows", configFile, "windows", env("APPDATA", "/w"), "/w/orderdesk/config.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.find(tt.goos, tt.getenv)
			if got != filepath.FromSlash(tt.want) || (err != nil) != (tt.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
