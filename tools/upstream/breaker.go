package upstream

import (
	"fmt"
	"sync"
	"time"
)

// OpenError is the answer to a call that was not made, because the last ones
// to its service failed for good.
type OpenError struct {
	Service string
	Until   time.Time // no call is made before
}

// Error says which service is not called, and until when (UTC).
func (e *OpenError) Error() string {
	return fmt.Sprintf("the %s is not called until %s, because the last calls to it failed",
		e.Service, e.Until.UTC().Format("15:04:05"))
}

// verdict is what a finished call says about its service.
type verdict int

const (
	answered verdict = iota // it is there, whatever it said
	failed                  // transient failures until the attempts were used up
	cutShort                // transient failure, no time for more attempts
	canceled                // the caller gave up; says nothing
)

// breaker stops calls to a service that is down. It is open while until is
// set. A probe pushes until forward before it starts, so that nobody else
// probes meanwhile, and a probe that never returns blocks nothing for good.
type breaker struct {
	service string
	limit   int
	pause   time.Duration
	clock   func() time.Time

	mu       sync.Mutex
	failures int // calls in a row that failed for good
	until    time.Time
}

// enter asks whether a call may be made, and whether it is the probe.
func (b *breaker) enter() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return false, nil
	}
	now := b.clock()
	// More than one pause ahead can only be a clock that was set back.
	if left := b.until.Sub(now); left > 0 && left <= b.pause {
		return false, &OpenError{Service: b.service, Until: b.until}
	}
	b.until = now.Add(b.pause)
	return true, nil
}

// leave takes note of how a call that enter let through has ended.
func (b *breaker) leave(probe bool, v verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case v == answered:
		b.failures, b.until = 0, time.Time{}
	case probe && v == canceled:
		b.until = b.clock() // the next call probes
	case probe:
		b.until = b.clock().Add(b.pause)
	case v == failed && b.until.IsZero():
		if b.failures++; b.failures >= b.limit {
			b.until = b.clock().Add(b.pause)
		}
	}
}
