package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted by a signal")

// endSignals subscribes to the signals that ask the process to end, save those
// it was started to ignore, and turns a write to a closed pipe from a killing
// signal into an error.
func endSignals() <-chan os.Signal {
	signal.Ignore(syscall.SIGPIPE)
	ch := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	return withoutEchoes(ch, 100*time.Millisecond)
}

// withoutEchoes leaves out a signal that comes again within a moment: timeout
// and its like send it to the process and to its group, and mean one.
func withoutEchoes(signals <-chan os.Signal, moment time.Duration) <-chan os.Signal {
	out := make(chan os.Signal, 2)
	go func() {
		defer close(out)
		var last os.Signal
		var at time.Time
		for s := range signals {
			if s == last && time.Since(at) < moment {
				continue
			}
			last, at = s, time.Now()
			out <- s
		}
	}()
	return out
}

// onSignals returns a context that the first signal ends, with
// [errInterrupted] as its cause; told is called with it. The second signal
// calls exit, also while told is held up by a terminal that takes no output.
// stop ends the watch and returns when it has ended.
func onSignals(ctx context.Context, signals <-chan os.Signal, told, exit func()) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	quit, ended := make(chan struct{}), make(chan struct{})
	first := func() (done <-chan struct{}) {
		cancel(errInterrupted)
		said := make(chan struct{})
		go func() { defer close(said); told() }()
		return said
	}
	go func() { defer close(ended); heed(signals, quit, first, exit) }()
	return ctx, func() {
		close(quit)
		<-ended
		cancel(context.Canceled)
	}
}

// heed calls first with the first signal and exit with the second. It ends
// with quit, but not before what first has begun.
func heed(signals <-chan os.Signal, quit <-chan struct{}, first func() <-chan struct{}, exit func()) {
	var begun <-chan struct{}
	for n := 0; quit != nil || begun != nil; {
		select {
		case <-quit:
			quit = nil
		case <-begun:
			begun = nil
		case _, open := <-signals:
			switch n++; {
			case !open:
				signals = nil
			case n > 1:
				exit()
				return
			default:
				begun = first()
			}
		}
	}
}
