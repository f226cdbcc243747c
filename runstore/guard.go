package runstore

import "fmt"

// The guards beside the budgets: what a run may do in vain before it is stopped.
const (
	MaxRepeats    = 3 // the same call in a row
	MaxErrors     = 3 // failed or refused calls in a row
	MaxNoProgress = 8 // calls that changed no plan, fact, action or note
)

// Guard watches a run's calls for loops.
type Guard struct {
	LastCall string `json:"last_call,omitempty"` // hash of tool and canonical arguments
	Repeats  int    `json:"repeats,omitempty"`
	Errors   int    `json:"errors,omitempty"`
	Idle     int    `json:"idle,omitempty"`
}

// Observe takes note of one finished call and returns why the run must stop
// now, or nil. call identifies tool and arguments; progress says that plan,
// facts, actions or notes changed.
func (g *Guard) Observe(call string, failed, progress bool) *StopReason {
	if g.LastCall == call {
		g.Repeats++
	} else {
		g.LastCall, g.Repeats = call, 1
	}
	g.Errors++
	if !failed {
		g.Errors = 0
	}
	g.Idle++
	if progress {
		g.Idle = 0
	}
	switch {
	case g.Repeats >= MaxRepeats && !progress:
		return &StopReason{StopRepeated, fmt.Sprintf("guard: the same call was made %d times in a row", g.Repeats)}
	case g.Errors >= MaxErrors:
		return &StopReason{StopErrors, fmt.Sprintf("guard: %d calls in a row failed or were refused", g.Errors)}
	case g.Idle >= MaxNoProgress:
		return &StopReason{StopNoProgress, fmt.Sprintf("guard: no progress in %d calls", g.Idle)}
	}
	return nil
}
