package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
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
	return ch
}

// onSignals returns a context that the first signal ends, with
// [errInterrupted] as its cause; told is called with it. The second signal
// calls exit. stop ends the watch and returns when it has ended.
func onSignals(ctx context.Context, signals <-chan os.Signal, told, exit func()) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case <-quit:
				return
			case _, open := <-signals:
				if !open {
					return
				}
			}
			if n > 1 {
				exit()
				return
			}
			cancel(errInterrupted)
			told()
		}
	}()
	return ctx, func() {
		close(quit)
		<-ended
		cancel(context.Canceled)
	}
}
