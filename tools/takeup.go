package tools

import (
	"context"

	"orderdesk/runstore"
)

// Readiness says what taking a run up again came to.
type Readiness int

// What a run that is taken up again is.
const (
	Ready          Readiness = iota // running: there is something to do
	AlreadyDone                     // nothing is left to do
	StillWaiting                    // people have not decided anything
	StillExhausted                  // a budget is used up; raise it
)

// TakeUp makes a run running if there is something to do, for the worker that
// holds its lease. A done run's items that need attention are taken up again, a
// bounded number per commit.
func (s *Set) TakeUp(ctx context.Context, id string, by Principal) (run *runstore.Run, is Readiness, err error) {
	more := true
	for reopening := false; more; reopening = true {
		err := s.store.Step(ctx, id, func(tx *runstore.Tx, r *runstore.Run) (err error) {
			run, more = r, reopening || r.Status == runstore.Done
			if !reopening {
				if is, err = readiness(tx, r, by); err != nil || is != Ready {
					more = false
					return err
				}
			}
			if more {
				more, err = s.Reopen(tx, r)
			}
			return err
		})
		if err != nil {
			return run, is, err
		}
	}
	return run, is, nil
}

// readiness decides whether there is something to do and makes the run running
// if so. A run that has work and no budget for it is stopped.
func readiness(tx *runstore.Tx, run *runstore.Run, by Principal) (Readiness, error) {
	p, over := &run.Plan, run.Exhausted()
	switch {
	case run.Status == runstore.Done && p.Count(runstore.NeedsAttention) == 0 && p.Decided == 0:
		return AlreadyDone, nil
	case run.Status == runstore.Waiting && p.Decided == 0:
		return StillWaiting, nil
	case over != nil && (run.Status == runstore.Done || run.Status == runstore.Stopped):
		return StillExhausted, nil
	case over != nil:
		return StillExhausted, StopRun(tx, run, over.StopReason())
	}
	run.Guard = runstore.Guard{}
	run.Status, run.Stop, run.Answer = runstore.Running, nil, ""
	return Ready, tx.Trace(run, runstore.TraceResumed, map[string]string{"by": by.Name})
}
