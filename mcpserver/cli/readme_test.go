package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeSessions runs the sessions of the README: every "$ orderdesk"
// command of a console block, in one empty data directory per block, and wants
// the lines shown below it, in their sequence, up to a line "...".
func TestReadmeSessions(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	sessions := 0
	for _, block := range strings.Split(string(raw), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		s := newSession(t)
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, shown, _ := strings.Cut(step, "\n")
			if args, ok := strings.CutPrefix(command, "orderdesk "); ok {
				sessions++
				s.run(t, shellWords(args), shown)
			}
		}
	}
	if sessions < 6 {
		t.Errorf("the README shows %d commands, want the whole session", sessions)
	}
}

// session is commands typed one after the other by one person.
type session struct{ env map[string]string }

func newSession(t *testing.T) *session {
	dir := t.TempDir()
	pass := filepath.Join(dir, "pass")
	if err := os.WriteFile(pass, []byte("a long passphrase\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &session{map[string]string{"HOME": dir, "ORDERDESK_DATA_DIR": filepath.Join(dir, "data"), "ORDERDESK_PASSPHRASE_FILE": pass}}
}

// main runs one command and returns its exit code and output.
func (s *session) main(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(context.Background(), Process{
		Args: args, Getenv: func(k string) string { return s.env[k] }, Stdout: &out, Stderr: &errs,
		UserName: func() (string, error) { return "clerk", nil },
	})
	return code, out.String(), errs.String()
}

func (s *session) run(t *testing.T, args []string, shown string) {
	t.Helper()
	code, stdout, stderr := s.main(args...)
	if code != 0 {
		t.Fatalf("orderdesk %q: exit %d\n%s", args, code, stderr)
	}
	rest := stdout
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		if line == "..." {
			return
		}
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("orderdesk %q does not print %q:\n%s", args, line, stdout)
		}
		rest = after
	}
}

// shellWords splits a command line at blanks, minding double quotes.
func shellWords(s string) []string {
	var words []string
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}
