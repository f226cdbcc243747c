package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func always(err error) func(context.Context, int) error {
	return func(context.Context, int) error { return err }
}

// trip opens c's breaker.
func trip(t *testing.T, c *Client) {
	t.Helper()
	for range c.breaker.limit {
		if _, err := c.Do(t.Context(), always(errDown)); err != errDown {
			t.Fatalf("call before the breaker opens: %v, want %v", err, errDown)
		}
	}
}

func isOpen(t *testing.T, c *Client) bool {
	t.Helper()
	called := false
	stats, err := c.Do(t.Context(), func(context.Context, int) error { called = true; return nil })
	var open *OpenError
	if errors.As(err, &open) {
		if called || stats.Attempts != 0 {
			t.Errorf("open breaker, yet called = %v, stats = %+v", called, stats)
		}
		if left := time.Until(open.Until); left <= 0 || left > 30*time.Second {
			t.Errorf("open until %v from now", left)
		}
		return true
	}
	return false
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(Options{Service: "tax service"})
		trip(t, c)
		start := time.Now()
		for range 1000 {
			if !isOpen(t, c) {
				t.Fatal("closed right after it opened")
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("1000 calls of an open breaker took %v, want no time", took)
		}
		time.Sleep(30*time.Second - 1)
		if !isOpen(t, c) {
			t.Error("closed before 30 s")
		}
		time.Sleep(time.Nanosecond)
		if _, err := c.Do(t.Context(), always(errDown)); err != errDown {
			t.Errorf("probe: %v, want %v", err, errDown)
		}
		if !isOpen(t, c) {
			t.Error("closed after a failed probe")
		}
		time.Sleep(30 * time.Second)
		if isOpen(t, c) {
			t.Error("no probe after 30 s")
		}
		if isOpen(t, c) {
			t.Error("open after a good probe")
		}
		trip(t, c) // counts from zero again
		if !isOpen(t, c) {
			t.Error("not open after three more failures")
		}
	})
}

func TestBreakerCounts(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	business, permanent := &Error{Class: Business, Text: "no"}, errors.New("boom")
	tests := []struct {
		name    string
		between func(ctx context.Context, c *Client)
		open    bool
	}{
		{"nothing between", func(context.Context, *Client) {}, true},
		{"success", func(ctx context.Context, c *Client) { c.Do(ctx, always(nil)) }, false},
		{"success after a retry", func(ctx context.Context, c *Client) { f, _ := failing(errDown); c.Do(ctx, f) }, false},
		{"business", func(ctx context.Context, c *Client) { c.Do(ctx, always(business)) }, false},
		{"permanent", func(ctx context.Context, c *Client) { c.Do(ctx, always(permanent)) }, false},
		{"canceled", func(_ context.Context, c *Client) { c.Do(canceled, always(errDown)) }, true},
		{"cut short by the deadline", func(ctx context.Context, c *Client) {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			c.Do(ctx, always(errDown))
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for last, want := range map[error]bool{nil: false, error(errDown): tt.open} {
				synctest.Test(t, func(t *testing.T) {
					c := NewClient(Options{})
					c.Do(t.Context(), always(errDown))
					c.Do(t.Context(), always(errDown))
					tt.between(t.Context(), c)
					c.Do(t.Context(), always(last))
					if got := isOpen(t, c); got != want {
						t.Errorf("open after failure, failure, %s, %v = %v, want %v", tt.name, last, got, want)
					}
				})
			}
		})
	}
}

func TestBusinessFailuresNeverOpen(t *testing.T) {
	c := NewClient(Options{})
	for range 10 {
		c.Do(t.Context(), always(&Error{Class: Business, Text: "no"}))
	}
	if isOpen(t, c) {
		t.Error("business failures opened the breaker")
	}
}

func TestOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(Options{})
		trip(t, c)
		time.Sleep(30 * time.Second)
		var calls, refused atomic.Int32
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, err := c.Do(t.Context(), func(context.Context, int) error {
					calls.Add(1)
					time.Sleep(time.Second)
					return nil
				})
				if err != nil {
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		if calls.Load() != 1 || refused.Load() != 49 {
			t.Errorf("%d calls and %d refused, want 1 and 49", calls.Load(), refused.Load())
		}
		if isOpen(t, c) {
			t.Error("open after a good probe")
		}
	})
}

func TestProbeEnds(t *testing.T) {
	tests := []struct {
		name  string
		probe func(t *testing.T, c *Client)
		open  bool // right after the probe
	}{
		{"canceled: the next call probes", func(t *testing.T, c *Client) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			c.Do(ctx, always(nil))
		}, false},
		{"business answer closes", func(t *testing.T, c *Client) {
			c.Do(t.Context(), always(&Error{Class: Business, Text: "no"}))
		}, false},
		{"too little time for its retries: stays open", func(t *testing.T, c *Client) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			c.Do(ctx, always(errDown))
		}, true},
		{"panics: probed again after the pause", func(t *testing.T, c *Client) {
			defer time.Sleep(30 * time.Second)
			defer func() { recover() }()
			c.Do(t.Context(), func(context.Context, int) error { panic("boom") })
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewClient(Options{})
				trip(t, c)
				time.Sleep(30 * time.Second)
				tt.probe(t, c)
				if got := isOpen(t, c); got != tt.open {
					t.Errorf("open = %v, want %v", got, tt.open)
				}
			})
		})
	}
}

func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		c := NewClient(Options{Clock: func() time.Time { return now }})
		trip(t, c)
		now = now.Add(-48 * time.Hour)
		if isOpen(t, c) {
			t.Error("a clock set back by two days keeps the breaker open for two days")
		}
	})
}
