package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestCLI04_FirstSignalEndsTheContextSecondTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		told, ended := 0, 0
		ctx, stop := onSignals(t.Context(), signals, func() { told++ }, func() { ended++ })
		defer stop()
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatalf("ended before any signal: %v", ctx.Err())
		}
		signals <- syscall.SIGTERM
		synctest.Wait()
		if cause := context.Cause(ctx); !errors.Is(cause, errInterrupted) || told != 1 || ended != 0 {
			t.Errorf("after one: cause %v, told %d, ended %d", cause, told, ended)
		}
		signals <- syscall.SIGINT
		synctest.Wait()
		if told != 1 || ended != 1 {
			t.Errorf("after two: told %d, ended %d", told, ended)
		}
	})
}

func TestCLI04_PromptDoesNotKeepTheProcess(t *testing.T) {
	never, _ := io.Pipe()
	waits := func(ctx context.Context, _ func()) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) }
	tests := []struct {
		name string
		ask  func(ctx context.Context, a *app) error
	}{
		{"passphrase on a terminal", func(ctx context.Context, a *app) error {
			_, err := a.passphrase(ctx, &Settings{}, "Anna", true)
			return err
		}},
		{"passphrase on standard input", func(ctx context.Context, a *app) error {
			_, err := a.passphrase(ctx, &Settings{PassphraseFile: "-"}, "Anna", true)
			return err
		}},
		{"question", func(ctx context.Context, a *app) error {
			_, err := a.confirm(ctx, "Really?")
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := invocation{terminal: Terminal{In: true, ReadSecret: waits}}
			a := &app{proc: s.process(t)}
			a.proc.Stdin = never
			a.out = newPrinter(a.proc, false)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errInterrupted)
			err := tt.ask(ctx, a)
			if got := a.finish(ctx, err); got != ExitInterrupted {
				t.Errorf("exit: got %d (%v), want %d", got, err, ExitInterrupted)
			}
		})
	}
}

func TestPassphrase(t *testing.T) {
	file := t.TempDir() + "/pass"
	if err := os.WriteFile(file, []byte("from the file\r\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		file     string
		stdin    string
		terminal []string // what is typed, nil: no terminal
		twice    bool
		want     string // "": an error
	}{
		{"file", file, "", nil, false, "from the file"},
		{"no such file", file + "x", "", nil, false, ""},
		{"standard input", "-", "typed\nrest", nil, true, "typed"},
		{"standard input without line end", "-", "typed", nil, false, "typed"},
		{"empty standard input", "-", "", nil, false, ""},
		{"empty line", "-", "\nx", nil, false, ""},
		{"endless line", "-", strings.Repeat("x", maxLine+1), nil, false, ""},
		{"terminal", "", "", []string{"secret"}, false, "secret"},
		{"terminal, twice", "", "", []string{"secret", "secret"}, true, "secret"},
		{"terminal, different", "", "", []string{"secret", "Secret"}, true, ""},
		{"terminal, nothing", "", "", []string{""}, false, ""},
		{"neither", "", "secret\n", nil, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := invocation{stdin: tt.stdin, terminal: Terminal{In: tt.terminal != nil}}
			s.terminal.ReadSecret = func(_ context.Context, ask func()) (string, error) {
				ask()
				next := tt.terminal[0]
				tt.terminal = tt.terminal[1:]
				return next, nil
			}
			a := &app{proc: s.process(t)}
			a.out = newPrinter(a.proc, false)
			got, err := a.passphrase(t.Context(), &Settings{PassphraseFile: tt.file}, "Anna", tt.twice)
			if (err == nil) != (tt.want != "") || err == nil && got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			if strings.Contains(s.stderr.String()+s.stdout.String(), "secret") {
				t.Errorf("shown: %s", s.stderr.String())
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	tests := []struct {
		stdin    string
		terminal bool
		want     bool
	}{
		{"yes\n", true, true}, {" YES \n", true, true}, {"y\n", true, false}, {"\n", true, false}, {"", true, false},
		{"", false, true},
	}
	for _, tt := range tests {
		s := invocation{stdin: tt.stdin, terminal: Terminal{In: tt.terminal}}
		a := &app{proc: s.process(t)}
		a.out = newPrinter(a.proc, false)
		if got, err := a.confirm(t.Context(), "Really?"); got != tt.want || err != nil {
			t.Errorf("%q: got %v, %v, want %v", tt.stdin, got, err, tt.want)
		}
	}
}

// TestEchoOfASignal: timeout and its like send one signal twice.
func TestEchoOfASignal(t *testing.T) {
	in := make(chan os.Signal, 4)
	in <- os.Interrupt
	in <- os.Interrupt // the echo
	in <- os.Kill
	in <- os.Interrupt // another one in between: a new one
	close(in)
	var got []os.Signal
	for s := range withoutEchoes(in, time.Hour) {
		got = append(got, s)
	}
	if want := []os.Signal{os.Interrupt, os.Kill, os.Interrupt}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
