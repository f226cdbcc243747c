package tools

import (
	"fmt"
	"strings"

	"orderdesk/runstore"
)

// namedOpen bounds the open items a stop reason names.
const namedOpen = 5

// Finish ends the run's work with an answer. The status is decided by code,
// from the plan, whatever the answer says: stopped while an item is todo or a
// decision is not in the plan, waiting_for_approval while people have to
// decide, else done.
func (s *Set) Finish(tx *runstore.Tx, run *runstore.Run, answer string) error {
	run.Answer, run.Stop = answer, nil
	if err := tx.Trace(run, runstore.TraceAnswer, map[string]string{"answer": Limit(answer, maxTraced)}); err != nil {
		return err
	}
	why, err := s.Unfinished(tx, run)
	if err != nil {
		return err
	}
	switch {
	case why != nil:
		return StopRun(tx, run, why)
	case run.Plan.Count(runstore.WaitingApproval) > 0:
		run.Status = runstore.Waiting
	default:
		run.Status = runstore.Done
	}
	return tx.Trace(run, runstore.TraceStopped, map[string]any{"status": run.Status})
}

// maxReopened bounds the items that one call of [Set.Reopen] takes up.
const maxReopened = 500

// Reopen makes items that need attention todo again and forgets what was read
// about them, so that they are looked at with fresh eyes: neither a failure nor
// what a person has mended since is for ever. It takes a bounded number, and
// more says that some are left.
func (s *Set) Reopen(tx *runstore.Tx, run *runstore.Run) (more bool, err error) {
	items, err := tx.AttentionItems(run, maxReopened)
	if err != nil {
		return false, err
	}
	for _, it := range items {
		questions, _, err := s.domain.Questions(runFacts{tx, run}, it.ID)
		if err != nil {
			return false, err
		}
		for _, q := range questions {
			if err := tx.DropFact(run, q.Tool, q.IDs...); err != nil {
				return false, err
			}
		}
		it.Status = runstore.Todo
		if err := tx.SetItem(run, it); err != nil {
			return false, err
		}
	}
	return run.Plan.Count(runstore.NeedsAttention) > 0, nil
}

// Unfinished says what keeps the run from being finished; nil: nothing does.
func (s *Set) Unfinished(tx *runstore.Tx, run *runstore.Run) (*runstore.StopReason, error) {
	p := &run.Plan
	if !p.Listed || p.Total > 0 && !p.Made {
		return &runstore.StopReason{Code: runstore.StopNoPlan, Message: "the model answered without making a plan"}, nil
	}
	items, what := p.Count(runstore.Todo), "still todo"
	open, err := tx.OpenItems(run, namedOpen)
	if err == nil && items == 0 && p.Decided > 0 {
		items, what = p.Decided, "decided, but the plan does not say so"
		open, err = tx.DecidedItems(run, namedOpen)
	}
	if err != nil || items == 0 {
		return nil, err
	}
	names := strings.Join(itemIDs(open), ", ")
	if more := items - len(open); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return &runstore.StopReason{Code: runstore.StopOpenItems, Message: fmt.Sprintf("the model answered, but %s %s", names, what)}, nil
}
