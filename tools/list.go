package tools

import (
	"context"
	"encoding/json"

	"orderdesk/runstore"
)

// stageSize is how many listed items one commit adds to a plan.
const stageSize = 1000

// maxChanged bounds the ids a re-read list names.
const maxChanged = 20

// stage adds the items of a source list to the plan, a bounded number per
// commit. Until [call.recordList] says that the list was read whole, a crash
// in between only means that the next read adds the rest.
func (c *call) stage(ctx context.Context, items []string) error {
	for len(items) > stageSize {
		part := items[:stageSize]
		items = items[stageSize:]
		err := c.store.Step(ctx, c.Run, func(tx *runstore.Tx, run *runstore.Run) error {
			return addItems(tx, run, part, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func addItems(tx *runstore.Tx, run *runstore.Run, ids []string, isNew func(string)) error {
	for _, id := range ids {
		it, added, err := tx.AddItem(run, id)
		if err != nil {
			return err
		}
		if added && isNew != nil {
			isNew(id)
		}
		if it.Gone {
			it.Gone = false
			if err := tx.SetItem(run, it); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordList finishes a read of the source list: budgets follow its size, and
// a list read again says what is new and what is gone.
func (c *call) recordList(tx *runstore.Tx, run *runstore.Run, raw json.RawMessage, items []string) (json.RawMessage, error) {
	again := run.Plan.Listed
	before := run.Plan.Total
	var added []string
	rest := items
	if len(items) > stageSize {
		rest = items[(len(items)-1)/stageSize*stageSize:]
	}
	if err := addItems(tx, run, rest, func(id string) { added = append(added, id) }); err != nil {
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
	gone, err := markGone(tx, run, items, before)
	if err != nil {
		return nil, err
	}
	if raw, err = with(raw, "new", firstOf(added, maxChanged)); err != nil {
		return nil, err
	}
	return with(raw, "no_longer_listed", firstOf(gone, maxChanged))
}

// markGone marks the planned items that the list no longer holds.
func markGone(tx *runstore.Tx, run *runstore.Run, items []string, upTo int) ([]string, error) {
	listed := make(map[string]bool, len(items))
	for _, id := range items {
		listed[id] = true
	}
	var missing []runstore.Item
	err := tx.Items(run, 0, func(it runstore.Item) bool {
		if it.Pos <= upTo && !listed[it.ID] && !it.Gone {
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
