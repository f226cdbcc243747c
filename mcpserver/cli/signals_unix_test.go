//go:build unix

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// signalEcho is a process that answers every line of its input with whether it
// was asked to end, and lives on until its input ends.
func signalEcho() int {
	p := System()
	ctx, stop := onSignals(context.Background(), p.Control.Signals, func() { fmt.Println("told") },
		func() { p.Control.Exit(ExitInterrupted) })
	defer stop()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(ctx.Err())
	}
	return ExitOK
}

// echo is a running signalEcho.
type echo struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startEcho(t *testing.T, command ...string) *echo {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	e := &echo{cmd, in, bufio.NewScanner(out)}
	e.expect(t, "ready")
	return e
}

func (e *echo) expect(t *testing.T, want string) {
	t.Helper()
	if e.out.Scan(); e.out.Text() != want {
		t.Fatalf("got %q, want %q", e.out.Text(), want)
	}
}

func (e *echo) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := e.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestCLI04_RealSignals(t *testing.T) {
	then := syscall.SIGTERM
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			if s == then {
				then = syscall.SIGINT // the same one may be taken for an echo
			}
			e := startEcho(t, "signal-echo")
			e.signal(t, s)
			e.expect(t, "told")
			e.signal(t, then)
			if err := e.cmd.Wait(); exitCode(err) != "130" {
				t.Errorf("got %v, want exit code 130", err)
			}
		})
	}
}

func TestIgnoredSignalsStayIgnored(t *testing.T) {
	e := startEcho(t, "sh", "-c", `trap "" HUP; exec signal-echo`)
	e.signal(t, syscall.SIGHUP)
	fmt.Fprintln(e.in, "?")
	e.expect(t, "<nil>")
}
