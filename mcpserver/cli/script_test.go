package cli

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary stand in for the program: scripts and tests
// that run "orderdesk" run the real Main in a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"orderdesk":   func() { os.Exit(Main(context.Background(), System())) },
		"signal-echo": func() { os.Exit(signalEcho()) },
		"ask":         func() { os.Exit(ask()) },
	})
}

// TestScripts runs the sessions of testdata/script, each in an empty home.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := env.WorkDir + "/home"
			env.Setenv("HOME", home)
			env.Setenv("XDG_DATA_HOME", "")
			env.Setenv("XDG_CONFIG_HOME", "")
			env.Setenv("XDG_STATE_HOME", "")
			env.Setenv("TERM", "dumb")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else a second per command
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// ask asks the real terminal for a passphrase and prints what it heard.
func ask() int {
	p := System()
	a := &app{proc: p, out: newPrinter(p, false)}
	text, err := a.passphrase(context.Background(), &Settings{}, "Anna", true)
	if err == nil {
		a.out.say("heard %s", text)
	}
	return a.finish(context.Background(), err)
}

// exits is "exits CODE COMMAND ARG...": runs the command and wants that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = exitCode(err)
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[1], got, args[0])
	}
}
