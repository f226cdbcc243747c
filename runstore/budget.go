package runstore

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Usage counts what a run has used, or what one step adds to that.
type Usage struct {
	ModelCalls int   `json:"model_calls"`
	ToolCalls  int   `json:"tool_calls"`
	Retries    int   `json:"retries"`
	Segments   int   `json:"segments"`
	Chars      int   `json:"chars"`
	Millis     int64 `json:"millis"` // active time; waiting for people does not count
}

// Limit is one ceiling of a [Budget]. Zero means zero.
type Limit struct {
	Max int  `json:"max"`
	Set bool `json:"set,omitempty"` // a person set it; it no longer follows the list's size
}

// Budget holds a run's limits. A limit that no person set follows the number
// of listed items, see [Budget.Fit].
type Budget struct {
	ModelCalls Limit `json:"model_calls"`
	ToolCalls  Limit `json:"tool_calls"`
	Chars      Limit `json:"chars"`
	Seconds    Limit `json:"seconds"`
	CompactAt  Limit `json:"compact_at"` // characters of context above which a segment ends
}

// MaxLimit is the largest value a limit takes.
const MaxLimit = math.MaxInt32

// Check returns every limit that is below zero or above [MaxLimit], as one
// error, or nil.
func (b Budget) Check() error {
	var all []error
	for _, l := range []struct {
		name string
		Limit
	}{
		{"model calls", b.ModelCalls}, {"tool calls", b.ToolCalls}, {"characters", b.Chars},
		{"seconds", b.Seconds}, {"characters of context", b.CompactAt},
	} {
		if l.Max < 0 || l.Max > MaxLimit {
			all = append(all, fmt.Errorf("the limit of %s must be 0 to %d; it is %d", l.name, MaxLimit, l.Max))
		}
	}
	return errors.Join(all...)
}

// DefaultCompactAt is the context size, in characters, above which a new
// segment is started.
const DefaultCompactAt = 4000

// Fit sets every limit that no person set for a list of n items (counted as
// at least 4): model calls 5+5n, tool calls 6+6n, characters 37,500 n,
// seconds 75 n; none above [MaxLimit].
func (b *Budget) Fit(n int) {
	n = max(n, 4)
	fit := func(l *Limit, v int) {
		if !l.Set {
			l.Max = min(v, MaxLimit)
		}
	}
	fit(&b.ModelCalls, 5+5*n)
	fit(&b.ToolCalls, 6+6*n)
	fit(&b.Chars, 37500*n)
	fit(&b.Seconds, 75*n)
	fit(&b.CompactAt, DefaultCompactAt)
}

// BudgetError says that a charge would pass a limit; nothing was charged.
type BudgetError struct {
	Code  string // one of the Stop… codes
	What  string // "model calls", "tool calls", "characters", "seconds"
	Limit int
}

// Error names the limit that was reached.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget: the limit of %d %s is reached", e.Limit, e.What)
}

// StopReason is the error as a run's stop reason.
func (e *BudgetError) StopReason() *StopReason {
	return &StopReason{Code: e.Code, Message: e.Error()}
}

// Charge adds u to what the run has used, or changes nothing and returns a
// [*BudgetError]. It is called before what it pays for, so a crash cannot
// hide a call. Time is different: it is over when it has passed, so time that
// was already spent is always booked and only stops what comes next.
func (r *Run) Charge(u Usage) error {
	next := r.Used.Plus(u)
	if over := r.Budget.allows(r.Used, next, u); over != nil {
		return over
	}
	r.Used = next
	return nil
}

// Plus is the sum of both.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		ModelCalls: u.ModelCalls + v.ModelCalls, ToolCalls: u.ToolCalls + v.ToolCalls,
		Retries: u.Retries + v.Retries, Segments: u.Segments + v.Segments,
		Chars: u.Chars + v.Chars, Millis: u.Millis + v.Millis,
	}
}

func (b *Budget) allows(used, next, u Usage) *BudgetError {
	switch {
	case u.ModelCalls > 0 && next.ModelCalls > b.ModelCalls.Max:
		return &BudgetError{StopModelCalls, "model calls", b.ModelCalls.Max}
	case u.ToolCalls > 0 && next.ToolCalls > b.ToolCalls.Max:
		return &BudgetError{StopToolCalls, "tool calls", b.ToolCalls.Max}
	case u.Chars > 0 && next.Chars > b.Chars.Max:
		return &BudgetError{StopChars, "characters", b.Chars.Max}
	case u.ModelCalls+u.ToolCalls > 0 && used.Millis >= int64(b.Seconds.Max)*1000:
		return &BudgetError{StopSeconds, "seconds", b.Seconds.Max}
	}
	return nil
}

// Spend books active time that has passed.
func (r *Run) Spend(d time.Duration) { r.Used.Millis += max(0, d.Milliseconds()) }

// TimeLeft is the active time the run may still use.
func (r *Run) TimeLeft() time.Duration {
	left := int64(r.Budget.Seconds.Max)*1000 - r.Used.Millis
	return time.Duration(max(0, left)) * time.Millisecond
}

// Exhausted returns the error a further model call, or the tool call it would
// ask for, would meet, or nil.
func (r *Run) Exhausted() *BudgetError {
	for _, u := range []Usage{{ModelCalls: 1, Chars: 1}, {ToolCalls: 1}} {
		if err := r.Budget.allows(r.Used, r.Used.Plus(u), u); err != nil {
			return err
		}
	}
	return nil
}

// Refund takes back what was reserved and not used.
func (r *Run) Refund(u Usage) {
	r.Used = r.Used.Plus(Usage{ModelCalls: -u.ModelCalls, ToolCalls: -u.ToolCalls, Chars: -u.Chars, Segments: -u.Segments})
}
