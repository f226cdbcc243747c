package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sethvargo/go-retry"
)

// Policy says how often and how patiently a call is tried. The zero value is
// the default the package comment gives.
type Policy struct {
	Attempts int           // at most, the first one included; below 1: 3
	Base     time.Duration // first wait, and size of the jitter; not above 0: 200 ms
	MaxWait  time.Duration // longest single wait; not above 0: 5 s
	// Jitter returns a number in [0, 1), from several goroutines at once; nil:
	// random.
	Jitter func() float64
	// OnWait hears of each wait before it begins: the attempt that failed
	// (from 1), how long the wait will be, and the failure. May be nil.
	OnWait func(attempt int, d time.Duration, err error)
}

// Options describes a service to call.
type Options struct {
	Service    string // as people call it, e.g. "tax service"
	Policy     Policy
	Clock      func() time.Time // of the breaker; nil: time.Now
	BreakAfter int              // failed calls in a row that open the breaker; below 1: 3
	BreakFor   time.Duration    // how long it stays open; not above 0: 30 s
}

// Client calls one service. It is safe for concurrent use; all calls share its
// breaker, so make one per service, not one per call.
type Client struct {
	policy  Policy
	breaker breaker
}

// Wait is one wait between two attempts.
type Wait struct {
	Attempt int           // the attempt that failed, from 1
	Wait    time.Duration // how long the next one was put off
	Err     string        // the failure, as [SafeText] shows it
}

// Stats is what one call took.
type Stats struct {
	Attempts int // made; 0 if the breaker was open
	Retries  int // attempts after the first
	Waits    []Wait
}

// NewClient returns a client for o.Service with a closed breaker.
func NewClient(o Options) *Client {
	c := &Client{policy: o.Policy, breaker: breaker{
		service: o.Service, limit: o.BreakAfter, pause: o.BreakFor, clock: o.Clock,
	}}
	p, b := &c.policy, &c.breaker
	p.Attempts = positive(p.Attempts, 3)
	p.Base = positive(p.Base, 200*time.Millisecond)
	p.MaxWait = positive(p.MaxWait, 5*time.Second)
	b.limit = positive(b.limit, 3)
	b.pause = positive(b.pause, 30*time.Second)
	if p.Jitter == nil {
		p.Jitter = rand.Float64
	}
	if b.clock == nil {
		b.clock = time.Now
	}
	return c
}

func positive[T cmp.Ordered](v, otherwise T) T {
	var zero T
	if v > zero {
		return v
	}
	return otherwise
}

// Do calls fn until it succeeds, fails in a way that trying again does not
// help, or the attempts or the time are used up, and returns fn's last error
// unchanged. fn gets the number of the attempt, from 1, which [Attempt] also
// reads from its context. While the breaker is open fn is not called and the
// error is an [*OpenError]. If ctx ends during a wait, the error is the cause
// of that, with the last failure in its text.
func (c *Client) Do(ctx context.Context, fn func(ctx context.Context, attempt int) error) (Stats, error) {
	probe, err := c.breaker.enter()
	if err != nil {
		return Stats{}, err
	}
	r := &call{policy: c.policy, ctx: ctx}
	err = retry.Do(ctx, r.backoff(), func(ctx context.Context) error {
		r.stats.Attempts++
		r.waiting = false
		r.last = fn(withAttempt(ctx, r.stats.Attempts), r.stats.Attempts)
		if ClassOf(r.last) == Transient {
			return retry.RetryableError(r.last)
		}
		return r.last
	})
	r.stats.Retries = max(0, r.stats.Attempts-1)
	c.breaker.leave(probe, r.verdict(err))
	if r.waiting && err != nil {
		err = fmt.Errorf("%w while waiting after attempt %d (%s)", err, r.stats.Attempts, SafeText(r.last))
	}
	return r.stats, err
}

// call is one Do under way.
type call struct {
	policy  Policy
	ctx     context.Context
	stats   Stats
	last    error // of the last attempt
	waiting bool  // a wait began and no attempt has followed
	usedUp  bool  // no attempts are left
}

// backoff wraps go-retry's exponential one: jitter, the service's own wish,
// the limit of one wait, and no wait that ends after the deadline.
func (r *call) backoff() retry.Backoff {
	next := retry.WithMaxRetries(uint64(r.policy.Attempts-1), retry.NewExponential(r.policy.Base))
	return retry.BackoffFunc(func() (time.Duration, bool) {
		base, stop := next.Next()
		if stop || r.ctx.Err() != nil {
			r.usedUp = stop
			return 0, true
		}
		wish := retryAfterOf(r.last)
		d := r.policy.wait(base, wish)
		if deadline, ok := r.ctx.Deadline(); ok && time.Until(deadline) <= max(d, wish) {
			return 0, true
		}
		r.waiting = true
		r.stats.Waits = append(r.stats.Waits, Wait{Attempt: r.stats.Attempts, Wait: d, Err: SafeText(r.last)})
		if r.policy.OnWait != nil {
			r.policy.OnWait(r.stats.Attempts, d, r.last)
		}
		return d, false
	})
}

// wait returns how long to wait where the backoff says base and the service
// wish. The sum cannot overflow: base is cut to MaxWait first.
func (p Policy) wait(base, wish time.Duration) time.Duration {
	jitter := time.Duration(min(max(p.Jitter(), 0), 1) * float64(min(p.Base, p.MaxWait)))
	return min(max(min(base, p.MaxWait)+jitter, wish), p.MaxWait)
}

func (r *call) verdict(err error) verdict {
	switch {
	case r.waiting, r.stats.Attempts == 0, err != nil && errors.Is(r.ctx.Err(), context.Canceled):
		return canceled
	case err != nil && r.ctx.Err() != nil:
		return cutShort
	case err == nil || ClassOf(err) != Transient:
		return answered
	case r.usedUp:
		return failed
	}
	return cutShort
}
