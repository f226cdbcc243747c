package tools

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"orderdesk/runstore"
)

// Limits of plan_update.
const (
	MaxPlanItems = 20  // entries of one call
	MaxPlanNote  = 200 // characters of a note
	wholePlan    = 20  // plans up to this length are answered whole
	nextShown    = 5   // open items a long plan's answer names
)

// PlanUpdate is the plan_update tool: it sets or updates 1 to [MaxPlanItems]
// entries, all or none. A status needs its evidence: waiting_for_approval the
// queued action, done that the item was read in this run.
func PlanUpdate(w *Writing) (any, error) {
	entries, err := planEntries(w)
	if err != nil {
		return nil, err
	}
	before := w.Run.Plan.Changes
	items := make([]runstore.Item, len(entries))
	for i, e := range entries {
		if items[i], err = e.check(w, i); err != nil {
			return nil, err
		}
	}
	for i, e := range entries {
		if err := e.apply(w, items[i]); err != nil {
			return nil, err
		}
	}
	w.Unchanged = w.Run.Plan.Made && w.Run.Plan.Changes == before
	w.Run.Plan.Made = true
	return planAnswer(w.Tx, w.Run, w.Domain.Words.Field, entries)
}

type planEntry struct {
	id     string
	status runstore.ItemStatus
	note   string
}

// planEntries reads the checked arguments; the schema has seen to types,
// statuses and counts.
func planEntries(w *Writing) ([]planEntry, error) {
	list, _ := w.Args["items"].([]any)
	if len(list) < 1 || len(list) > MaxPlanItems {
		return nil, Refusef("items must hold 1 to %d entries; you sent %d.", MaxPlanItems, len(list))
	}
	seen := map[string]bool{}
	var entries []planEntry
	for i, v := range list {
		m, _ := v.(map[string]any)
		raw, _ := m[w.Domain.Words.Field].(string)
		status, _ := m["status"].(string)
		note, _ := m["note"].(string)
		id, err := w.Domain.Normalize(raw)
		if err != nil {
			return nil, Refusef("items[%d].%s %s", i, w.Domain.Words.Field, refusalText(err))
		}
		if seen[id] {
			return nil, Refusef("items[%d]: %s %s appears twice; send it once.", i, w.Domain.Words.Noun, id)
		}
		seen[id] = true
		if err := CheckLine(fmt.Sprintf("items[%d].note", i), note, MaxPlanNote); err != nil {
			return nil, err
		}
		entries = append(entries, planEntry{id, runstore.ItemStatus(status), note})
	}
	return entries, nil
}

// CheckLine refuses text that is too long or not one visible line.
func CheckLine(field, text string, limit int) error {
	if n := utf8.RuneCountInString(text); n > limit {
		return Refusef("%s must be at most %d characters; you sent %d.", field, limit, n)
	}
	if bad := firstInvisible(text); bad != "" {
		return Refusef("%s must be one line of visible text; it contains %s.", field, bad)
	}
	return nil
}

// check holds one entry against the rules. The returned item has Pos 0 if the
// plan does not have it yet.
func (e planEntry) check(w *Writing, i int) (runstore.Item, error) {
	noun := w.Domain.Words.Noun
	seen, err := w.Domain.Seen(runFacts{w.Tx, w.Run}, e.id)
	if err != nil {
		return runstore.Item{}, err
	}
	it, err := w.Tx.Item(w.Run, e.id)
	switch {
	case errors.Is(err, runstore.ErrNotFound) && !seen:
		return it, Refusef("items[%d]: %s %s is neither in the list nor read in this run. Read it first, or leave it out.", i, noun, e.id)
	case errors.Is(err, runstore.ErrNotFound):
		it = runstore.Item{ID: e.id}
	case err != nil:
		return it, err
	}
	if e.status == runstore.ItemDone && !seen {
		return it, Refusef("items[%d]: %s %s was not read in this run, so it cannot be done. Read it first, or set needs_attention.", i, noun, e.id)
	}
	return it, e.checkAction(w, i)
}

// checkAction holds the entry against the action its item waits on.
func (e planEntry) checkAction(w *Writing, i int) error {
	noun, waiting := w.Domain.Words.Noun, e.status == runstore.WaitingApproval
	ref, ok, err := w.Tx.ItemAction(w.Run, e.id)
	if err != nil {
		return err
	}
	if !ok {
		if waiting {
			return Refusef("items[%d]: %s %s has no queued request. Queue one first, or choose another status.", i, noun, e.id)
		}
		return nil
	}
	a, err := w.Tx.Action(ref)
	if err != nil {
		return err
	}
	switch {
	case waiting && !a.Status.Open():
		return Refusef("items[%d]: the request %s for %s %s is %s, so nothing waits. Set the status that follows from that.", i, a.ID, noun, e.id, a.Status)
	case waiting || !a.Status.Open():
		return nil
	case a.Status == runstore.Unknown && e.status == runstore.NeedsAttention:
		return nil
	}
	return Refusef("items[%d]: %s %s has request %s (%s) waiting for approval; its status must be waiting_for_approval.", i, noun, e.id, a.ID, a.Status)
}

func (e planEntry) apply(w *Writing, it runstore.Item) (err error) {
	if it.Pos == 0 {
		if it, _, err = w.Tx.AddItem(w.Run, e.id); err != nil {
			return err
		}
	}
	it.Status, it.Note = e.status, e.note
	return w.Tx.SetItem(w.Run, it)
}

// planAnswer tells a short plan whole and a long one by its counts, what
// changed, and what comes next.
func planAnswer(tx *runstore.Tx, run *runstore.Run, field string, entries []planEntry) (any, error) {
	if run.Plan.Total <= wholePlan {
		var lines []string
		err := tx.Items(run, 0, func(it runstore.Item) bool {
			lines = append(lines, it.ID+" "+string(it.Status))
			return true
		})
		if err != nil {
			return nil, err
		}
		out := shortPlanAnswer{Plan: lines}
		out.Decided, err = decidedItems(tx, run, field)
		return out, err
	}
	changed := make([]string, len(entries))
	for i, e := range entries {
		changed[i] = e.id + " " + string(e.status)
	}
	next, err := tx.OpenItems(run, nextShown)
	if err != nil {
		return nil, err
	}
	out := longPlan{Changed: changed, Counts: countsOf(run), Next: itemIDs(next)}
	out.Decided, err = decidedItems(tx, run, field)
	return out, err
}

type shortPlanAnswer struct {
	Plan    []string         `json:"plan"`
	Decided []map[string]any `json:"decided,omitempty"` // waiting items whose request is decided
}

type longPlan struct {
	Changed []string         `json:"changed"`
	Counts  map[string]int   `json:"counts"`
	Next    []string         `json:"next_todo"`
	Decided []map[string]any `json:"decided,omitempty"` // waiting items whose request is decided
}

func countsOf(run *runstore.Run) map[string]int {
	counts := map[string]int{}
	for _, s := range runstore.ItemStatuses {
		counts[string(s)] = run.Plan.Count(s)
	}
	return counts
}

func itemIDs(items []runstore.Item) []string {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.ID
	}
	return ids
}

// maxDecided is how many decided actions a briefing or an answer shows.
const maxDecided = 8

// decidedItems shows the first waiting items whose action is decided.
func decidedItems(tx *runstore.Tx, run *runstore.Run, field string) ([]map[string]any, error) {
	items, err := tx.DecidedItems(run, maxDecided)
	if err != nil {
		return nil, err
	}
	var shown []map[string]any
	for _, it := range items {
		ref, ok, err := tx.ItemAction(run, it.ID)
		if err != nil || !ok {
			return nil, err
		}
		a, err := tx.Action(ref)
		if err != nil {
			return nil, err
		}
		m, err := actionWords(tx, a, run, field)
		if err != nil {
			return nil, err
		}
		m[field] = it.ID
		shown = append(shown, m)
	}
	return shown, nil
}

// OthersRun stands for the id of a run that is not the caller's.
const OthersRun = "another-user"

// RunName is what whoever works on run is told of another run, whose request
// stands for both: its id, if both are one owner's.
func RunName(tx *runstore.Tx, run *runstore.Run, id string) (string, error) {
	other, err := tx.Run(id)
	switch {
	case errors.Is(err, runstore.ErrRunNotFound) || err == nil && other.Owner != run.Owner:
		return OthersRun, nil
	case err != nil:
		return "", err
	}
	return id, nil
}

// actionWords is an action as a briefing and an answer show it.
func actionWords(tx *runstore.Tx, a *runstore.Action, run *runstore.Run, field string) (map[string]any, error) {
	m := map[string]any{"action": a.ID, field: a.Target.ID, "status": a.Status, "role": a.Role}
	if a.Run != run.ID {
		name, err := RunName(tx, run, a.Run)
		if err != nil {
			return nil, err
		}
		m["run"] = name
	}
	if a.Approval != nil {
		m["by"] = a.Approval.By
		if a.Approval.Comment != "" {
			m["comment"] = a.Approval.Comment
		}
	}
	if a.Outcome != nil {
		if a.Outcome.Reference != "" {
			m["request"] = a.Outcome.Reference
		}
		if a.Outcome.Detail != "" {
			m["detail"] = Limit(a.Outcome.Detail, 160)
		}
	}
	return m, nil
}

func refusalText(err error) string {
	if r, ok := AsRefusal(err); ok {
		return r.Text
	}
	return err.Error()
}
