package tools

import (
	"context"
	"encoding/json"
	"slices"

	"orderdesk/runstore"
)

// stageSize is how many listed items one commit adds to a plan.
const stageSize = 1000

// maxChanged bounds the ids a re-read list names.
const maxChanged = 20

// stage adds the items of a source list to the plan, a bounded number per
// commit. Until [call.recordList] says that the list was read whole, a crash
// in between only means that the next read adds the rest.
func (c *fetching) stage(ctx context.Context, items []string) error {
	for len(items) > stageSize {
		part := items[:stageSize]
		items = items[stageSize:]
		var added []string
		err := c.store.Step(ctx, c.Run, func(tx *runstore.Tx, run *runstore.Run) (err error) {
			if err = c.renew(tx, run); err == nil {
				added, err = addItems(tx, run, part)
			}
			return err
		})
		if err != nil {
			return err
		}
		c.added = append(c.added, added...)
	}
	return nil
}

// addItems puts listed items into the plan and returns those that are todo
// now and were not before: new ones, and those that were gone.
func addItems(tx *runstore.Tx, run *runstore.Run, ids []string) ([]string, error) {
	var fresh []string
	for _, id := range ids {
		it, added, err := tx.AddItem(run, id)
		if err != nil {
			return nil, err
		}
		back := it.Gone && it.Status != runstore.WaitingApproval
		if added || back {
			fresh = append(fresh, id)
		}
		if !it.Gone {
			continue
		}
		if it.Gone = false; back {
			it.Status = runstore.Todo
		}
		if err := tx.SetItem(run, it); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// recordList finishes a read of the source list: budgets follow its size, and
// a list read again says what is new and what is gone.
func (c *fetching) recordList(tx *runstore.Tx, run *runstore.Run, raw json.RawMessage, items []string) (json.RawMessage, error) {
	again := run.Plan.Listed
	rest := items
	if len(items) > stageSize {
		rest = items[(len(items)-1)/stageSize*stageSize:]
	}
	added, err := addItems(tx, run, rest)
	if err != nil {
		return nil, err
	}
	run.Plan.Listed, run.Plan.ListedAt = true, tx.Now()
	n := run.Plan.Total
	if c.ceiling.Items > 0 {
		n = min(n, c.ceiling.Items)
	}
	run.Budget.Fit(n)
	if !again {
		return raw, nil
	}
	gone, err := markGone(tx, run, items)
	if err != nil {
		return nil, err
	}
	if raw, err = WithMember(raw, "new", firstOf(slices.Concat(c.added, added), maxChanged)); err != nil {
		return nil, err
	}
	return WithMember(raw, "no_longer_listed", firstOf(gone, maxChanged))
}

// markGone marks the planned items that the list no longer holds.
func markGone(tx *runstore.Tx, run *runstore.Run, items []string) ([]string, error) {
	listed := make(map[string]bool, len(items))
	for _, id := range items {
		listed[id] = true
	}
	var missing []runstore.Item
	err := tx.Items(run, 0, func(it runstore.Item) bool {
		if !listed[it.ID] && !it.Gone {
			missing = append(missing, it)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, it := range missing {
		it.Gone = true
		gone = append(gone, it.ID)
		if err := tx.SetItem(run, it); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

func firstOf(ids []string, n int) []string {
	if ids == nil {
		return []string{}
	}
	return ids[:min(n, len(ids))]
}
