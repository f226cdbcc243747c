package runstore

import (
	"errors"
	"fmt"
	"time"
)

// LeaseTime is how long a lease holds without a step of its holder: longer
// than any one call may take. A holder whose process has ended loses the lease
// at once, see [Store.Alive].
const LeaseTime = 10 * time.Minute

// Lease says which worker drives a run. One worker at a time holds it.
type Lease struct {
	Holder  string    `json:"holder,omitempty"` // a store instance, see [Store.Instance]
	Worker  string    `json:"worker,omitempty"` // for people: "orderdesk resume (process 4711)"
	Expires time.Time `json:"expires,omitzero"`
}

// HeldError says that another worker drives the run.
type HeldError struct{ Run, Worker string }

// Error names the worker.
func (e *HeldError) Error() string {
	return fmt.Sprintf("run %s is being worked on by %s", e.Run, e.Worker)
}

// ErrLeaseLost says that the worker's lease was taken over; it must stop.
var ErrLeaseLost = errors.New("another worker has taken the run over")

// Held reports whether a live worker holds the lease at now.
func (l Lease) Held(now time.Time, alive func(string) bool) bool {
	return l.Holder != "" && now.Before(l.Expires) && alive(l.Holder)
}

// Acquire gives the lease to holder, or returns a [*HeldError] when another
// live worker has it.
func (r *Run) Acquire(holder, worker string, now time.Time, alive func(string) bool) error {
	if r.Lease.Held(now, alive) {
		return &HeldError{Run: r.ID, Worker: r.Lease.Worker}
	}
	r.Lease = Lease{Holder: holder, Worker: worker, Expires: now.Add(LeaseTime)}
	return nil
}

// Renew extends holder's lease; [ErrLeaseLost] if it is not holder's any more.
func (r *Run) Renew(holder string, now time.Time) error {
	if r.Lease.Holder != holder {
		return ErrLeaseLost
	}
	r.Lease.Expires = now.Add(LeaseTime)
	return nil
}

// Release gives the lease back if holder has it.
func (r *Run) Release(holder string) {
	if r.Lease.Holder == holder {
		r.Lease = Lease{}
	}
}

// Interrupted reports whether the run shows as running though nobody works on
// it: its worker has ended without a word.
func (r *Run) Interrupted(now time.Time, alive func(string) bool) bool {
	return r.Status == Running && !r.Lease.Held(now, alive)
}
