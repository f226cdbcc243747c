package upstream

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errDown = &Error{Class: Transient, Service: "tax service", Text: "503 from the tax service"}

func steady() float64 { return 0 }

// failing returns a call that fails with errs in turn and then succeeds, and
// the numbers of the attempts it saw.
func failing(errs ...error) (fn func(context.Context, int) error, seen *[]int) {
	seen = new([]int)
	return func(ctx context.Context, attempt int) error {
		*seen = append(*seen, attempt)
		if Attempt(ctx) != attempt {
			return errors.New("Attempt(ctx) differs from the argument")
		}
		if len(*seen) <= len(errs) {
			return errs[len(*seen)-1]
		}
		return nil
	}, seen
}

// doCase is one call of Do whose attempts fail with errs in turn.
type doCase struct {
	name   string
	policy Policy
	errs   []error
	want   error
	waits  []time.Duration
}

const ms = time.Millisecond

func TestDo(t *testing.T) {
	business := &Error{Class: Business, Text: "no such item"}
	for _, tt := range []doCase{
		{name: "success"},
		{name: "one failure", errs: []error{errDown}, waits: []time.Duration{200 * ms}},
		{name: "two failures", errs: []error{errDown, errDown}, waits: []time.Duration{200 * ms, 400 * ms}},
		{name: "attempts used up", errs: []error{errDown, errDown, errDown}, want: errDown, waits: []time.Duration{200 * ms, 400 * ms}},
		{name: "HTT-04 never more than the attempts", errs: []error{errDown, errDown, errDown, errDown, errDown}, want: errDown, waits: []time.Duration{200 * ms, 400 * ms}},
		{name: "business", errs: []error{business}, want: business},
		{name: "business after transient", errs: []error{errDown, business}, want: business, waits: []time.Duration{200 * ms}},
		{name: "one attempt", policy: Policy{Attempts: 1}, errs: []error{errDown}, want: errDown},
		{name: "MaxWait", policy: Policy{MaxWait: 300 * ms}, errs: []error{errDown, errDown}, waits: []time.Duration{200 * ms, 300 * ms}},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestDoWaits(t *testing.T) {
	slow := &Error{Class: Transient, Text: "429", RetryAfter: 3 * time.Second}
	tooSlow := &Error{Class: Transient, Text: "429", RetryAfter: time.Hour}
	for _, tt := range []doCase{
		{name: "RetryAfter is longer", errs: []error{slow}, waits: []time.Duration{3 * time.Second}},
		{name: "RetryAfter is cut to MaxWait", errs: []error{tooSlow}, waits: []time.Duration{5 * time.Second}},
		{name: "RetryAfter is shorter", policy: Policy{Base: 4 * time.Second}, errs: []error{slow}, waits: []time.Duration{4 * time.Second}},
		{name: "jitter", policy: Policy{Jitter: func() float64 { return 0.5 }}, errs: []error{errDown, errDown}, waits: []time.Duration{300 * ms, 500 * ms}},
		{name: "odd jitter is clamped", policy: Policy{Jitter: func() float64 { return -9 }}, errs: []error{errDown}, waits: []time.Duration{200 * ms}},
	} {
		t.Run(tt.name, tt.run)
	}
}

func (tt doCase) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if tt.policy.Jitter == nil {
			tt.policy.Jitter = steady
		}
		fn, seen := failing(tt.errs...)
		start := time.Now()
		stats, err := NewClient(Options{Service: "tax service", Policy: tt.policy}).Do(t.Context(), fn)
		if err != tt.want {
			t.Errorf("err = %v, want %v", err, tt.want)
		}
		checkStats(t, stats, *seen, tt.waits, time.Since(start))
	})
}

func checkStats(t *testing.T, stats Stats, seen []int, waits []time.Duration, took time.Duration) {
	t.Helper()
	var got []time.Duration
	var sum time.Duration
	for i, w := range stats.Waits {
		got = append(got, w.Wait)
		sum += w.Wait
		if w.Attempt != i+1 || w.Err == "" {
			t.Errorf("wait %d = %+v", i, w)
		}
	}
	if !reflect.DeepEqual(got, waits) || took != sum {
		t.Errorf("waits = %v (took %v), want %v", got, took, waits)
	}
	if n := len(waits) + 1; stats.Attempts != n || stats.Retries != n-1 || len(seen) != n || seen[n-1] != n {
		t.Errorf("stats = %+v, attempts seen = %v, want %d attempts", stats, seen, n)
	}
}

func TestJitterRange(t *testing.T) {
	p := NewClient(Options{}).policy
	for range 1000 {
		if d := p.wait(200*time.Millisecond, 0); d < 200*time.Millisecond || d >= 400*time.Millisecond {
			t.Fatalf("wait = %v, want [200ms, 400ms)", d)
		}
	}
}

func TestOnWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []Wait
		c := NewClient(Options{Policy: Policy{Jitter: steady, OnWait: func(n int, d time.Duration, err error) {
			heard = append(heard, Wait{n, d, SafeText(err)})
		}}})
		fn, _ := failing(errDown, errDown)
		stats, err := c.Do(t.Context(), fn)
		if err != nil || !reflect.DeepEqual(heard, stats.Waits) || len(heard) != 2 {
			t.Errorf("heard %v, stats %+v, err %v", heard, stats, err)
		}
	})
}

func TestNoUselessWaitBeforeDeadline(t *testing.T) {
	slow := &Error{Class: Transient, Text: "429", RetryAfter: time.Minute}
	tests := []struct {
		name     string
		left     time.Duration
		err      error
		attempts int
		took     time.Duration
	}{
		{"first wait would end at the deadline", 200 * time.Millisecond, errDown, 1, 0},
		{"second wait would pass it", 500 * time.Millisecond, errDown, 2, 200 * time.Millisecond},
		{"time for all", time.Second, errDown, 3, 600 * time.Millisecond},
		{"BUD-11 RetryAfter beyond the rest", 30 * time.Second, slow, 1, 0},
		{"no time at all", -time.Second, errDown, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.left)
				defer cancel()
				fn, seen := failing(tt.err, tt.err, tt.err)
				start := time.Now()
				_, err := NewClient(Options{Policy: Policy{Jitter: steady}}).Do(ctx, fn)
				want := tt.err
				if tt.attempts == 0 {
					want = context.DeadlineExceeded
				}
				if took := time.Since(start); err != want || len(*seen) != tt.attempts || took != tt.took {
					t.Errorf("err %v after %d attempts and %v, want %v after %d and %v", err, len(*seen), took, want, tt.attempts, tt.took)
				}
			})
		})
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		fn, seen := failing(errDown, errDown, errDown)
		start := time.Now()
		stats, err := NewClient(Options{}).Do(ctx, fn)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), errDown.Text) {
			t.Errorf("err = %v, want canceled with the failure's text", err)
		}
		if time.Since(start) != 50*time.Millisecond || len(*seen) != 1 || stats.Retries != 0 {
			t.Errorf("took %v, attempts %v, stats %+v", time.Since(start), *seen, stats)
		}
		if ClassOf(err) != Permanent {
			t.Errorf("class = %v, want permanent", ClassOf(err))
		}
	})
}

func TestAttemptOutsideDo(t *testing.T) {
	if got := Attempt(context.Background()); got != 1 {
		t.Errorf("Attempt = %d, want 1", got)
	}
}

func TestConcurrentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(Options{Service: "tax service"})
		var wg sync.WaitGroup
		start := time.Now()
		for range 100 {
			wg.Go(func() {
				fn, seen := failing(errDown)
				if stats, err := c.Do(t.Context(), fn); err != nil || stats.Retries != 1 || len(*seen) != 2 {
					t.Errorf("stats %+v, err %v", stats, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took >= 400*time.Millisecond {
			t.Errorf("100 calls took %v; they wait for each other", took)
		}
	})
}
