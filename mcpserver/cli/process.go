package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"runtime/debug"

	"golang.org/x/term"
)

// Process is the outside world as one command sees it. [System] is the real
// one. Every field may be left zero: nothing to read, nobody to tell.
type Process struct {
	Args           []string // without the program's name
	Getenv         func(name string) string
	Environ        func() []string // "NAME=value"
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	UserName       func() (string, error) // the login name
	Self           func() (string, error) // the path of this program
	Terminal       Terminal
	Control        Control
}

// Terminal says which of the three streams are terminals, and asks them what
// a stream alone cannot tell.
type Terminal struct {
	In, Out, Err bool
	Width        func() int // columns; below 1: unknown
	// ReadSecret hides what is typed, calls ask, and reads one line from
	// standard input. When ctx ends it gives up and leaves the terminal as it
	// was.
	ReadSecret func(ctx context.Context, ask func()) (string, error)
}

// Control is how a process hears that it must end, and how it ends at once.
type Control struct {
	Signals <-chan os.Signal // what asks it to end
	Exit    func(code int)   // ends the process now; does not return
	Kill    func()           // ends it as a power cut would: no cleaning up
}

// memoryGoal is where the garbage collector begins to work harder, unless the
// environment says otherwise: a long list needs little that is alive.
const memoryGoal = 224 << 20

// System is the process that is running. It takes over its signals; call it once.
func System() Process {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	return Process{
		Args: os.Args[1:], Getenv: os.Getenv, Environ: os.Environ,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		UserName: loginName, Self: os.Executable,
		Terminal: Terminal{
			In: isTerminal(os.Stdin), Out: isTerminal(os.Stdout), Err: isTerminal(os.Stderr),
			Width: terminalWidth, ReadSecret: readSecret,
		},
		Control: Control{Signals: endSignals(), Exit: os.Exit, Kill: kill},
	}
}

// withDefaults fills in what was left zero.
func (p Process) withDefaults() Process {
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	if p.Environ == nil {
		p.Environ = func() []string { return nil }
	}
	if p.Stdin == nil {
		p.Stdin = eofReader{}
	}
	if p.Stdout == nil {
		p.Stdout = io.Discard
	}
	if p.Stderr == nil {
		p.Stderr = io.Discard
	}
	if p.UserName == nil {
		p.UserName = func() (string, error) { return "", errors.New("no login name") }
	}
	if p.Self == nil {
		p.Self = func() (string, error) { return "", errors.New("no program of its own") }
	}
	if p.Terminal.Width == nil {
		p.Terminal.Width = func() int { return 0 }
	}
	p.Control = p.Control.withDefaults()
	return p
}

func (c Control) withDefaults() Control {
	if c.Exit == nil {
		c.Exit = func(int) {}
	}
	if c.Kill == nil {
		c.Kill = func() {}
	}
	return c
}

type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalWidth asks whichever output is a terminal.
func terminalWidth() int {
	for _, f := range []*os.File{os.Stderr, os.Stdout} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// readSecret waits in a goroutine, so that a signal is not kept waiting by a
// read that nothing can interrupt.
func readSecret(ctx context.Context, ask func()) (string, error) {
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	if err := hideTyping(fd); err != nil {
		return "", err
	}
	ask() // people and programs type as soon as they are asked
	type answer struct {
		text []byte
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		return string(a.text), errors.Join(a.err, term.Restore(fd, before))
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}

// loginName is the operating system's own answer; a variable that anybody may
// set is not asked.
func loginName() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until the kill arrives
}
