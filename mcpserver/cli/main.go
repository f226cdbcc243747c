package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
)

// app is one execution of the program.
type app struct {
	proc Process
	out  *printer

	conformance bool // serve: for the conformance suite
}

// Main runs the command that p's arguments name and returns the exit code.
func Main(ctx context.Context, p Process) int {
	p = p.withDefaults()
	a := &app{proc: p, out: newPrinter(p, jsonWanted(p.Args))}
	told := func() {
		a.out.note("orderdesk: interrupted; stopping at the next saved step (once more: at once)")
	}
	ctx, stop := onSignals(ctx, p.Control.Signals, told, func() { p.Control.Exit(ExitInterrupted) })
	defer stop()
	a.out.explain = func(err error) *Error { e, _ := explain(ctx, err); return e }
	return a.finish(ctx, a.execute(ctx))
}

// jsonWanted looks for --json without parsing the rest, so that a mistake in
// the rest is reported as JSON too.
func jsonWanted(args []string) bool {
	wanted := false
	for _, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return wanted
		case name == "--json" && !given:
			wanted = true
		case name == "--json":
			yes, err := strconv.ParseBool(value)
			wanted = yes || err != nil
		}
	}
	return wanted
}

// execute runs the command; a panic in it is an internal error.
func (a *app) execute(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	root := a.root()
	root.SetArgs(append([]string{}, a.proc.Args...))
	return root.ExecuteContext(ctx)
}

// finish tells about err and returns the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	code := ExitOK
	var end ended
	switch {
	case errors.As(err, &end):
		code = int(end)
	case err != nil:
		e, internal := explain(ctx, err)
		if internal {
			e.Hint = a.logged(err)
		}
		a.out.fail(e)
		code = e.Exit
	}
	if lost := a.out.stdout.lost(); lost != nil {
		a.out.note("orderdesk: the output could not be written: %s", lost)
		if code == ExitOK {
			code = ExitInternal
		}
	}
	return code
}

// logged writes the details of an internal error to the log and tells where.
func (a *app) logged(err error) string {
	path, e := a.logInternal(err)
	if e != nil {
		return "orderdesk doctor checks the store; the details could not be logged: " + e.Error()
	}
	return "the details are in " + path
}
