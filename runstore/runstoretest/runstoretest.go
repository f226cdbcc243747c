// Package runstoretest opens stores for tests: in memory or on disk, with a
// clock that stands still until it is told, with commits that get lost.
//
// Every store it opens is closed when the test ends; closing it earlier is
// fine too.
package runstoretest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"orderdesk/runstore"
)

// ErrCommit is what steps get whose commit, or whose answer, was lost.
var ErrCommit = errors.New("commit lost by the test")

// Option changes how a store is opened.
type Option func(*runstore.Options)

// Memory opens a store in memory.
func Memory(t testing.TB, options ...Option) *runstore.Store {
	t.Helper()
	return open(t, runstore.Options{InMemory: true}, options)
}

// Dir opens the store in dir; "" is a new temporary directory. Commits are not
// synced, which only a power loss would show.
func Dir(t testing.TB, dir string, options ...Option) *runstore.Store {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	return open(t, runstore.Options{Dir: dir, NoSync: true}, options)
}

func open(t testing.TB, o runstore.Options, options []Option) *runstore.Store {
	t.Helper()
	for _, f := range options {
		f(&o)
	}
	s, err := runstore.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("opening the test's store: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Command names the process in what others are told of it.
func Command(c string) Option {
	return func(o *runstore.Options) { o.Command = c }
}

// FailCommit loses the n-th commit, from 1, as a crash just before it would:
// its steps get [ErrCommit], and the store takes no more.
func FailCommit(n int) Option {
	return func(o *runstore.Options) { o.OnCommit = lose(n) }
}

// LoseAnswer makes the n-th commit durable, from 1, and loses its answer, as a
// crash just after it would: its steps get [ErrCommit], and the store takes no
// more.
func LoseAnswer(n int) Option {
	return func(o *runstore.Options) { o.AfterCommit = lose(n) }
}

func lose(n int) func(int) error {
	return func(i int) error {
		if i == n {
			return ErrCommit
		}
		return nil
	}
}

// Clock is a clock for tests. It stands still.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Use gives the store this clock.
func (c *Clock) Use() Option {
	return func(o *runstore.Options) { o.Clock = c.Now }
}
