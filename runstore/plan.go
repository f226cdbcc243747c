package runstore

import (
	"errors"
	"time"
)

// ItemStatus is the status of one plan item.
type ItemStatus string

const (
	Todo            ItemStatus = "todo"
	ItemDone        ItemStatus = "done"
	WaitingApproval ItemStatus = "waiting_for_approval"
	NeedsAttention  ItemStatus = "needs_attention"
)

// ItemStatuses lists every status, in the sequence in which people read them.
var ItemStatuses = []ItemStatus{Todo, ItemDone, WaitingApproval, NeedsAttention}

// Final reports whether an item of this status needs no further work by the
// model: every status but [Todo].
func (s ItemStatus) Final() bool { return s == ItemDone || s == WaitingApproval || s == NeedsAttention }

// Item is one line of the plan.
type Item struct {
	Pos     int        `json:"pos"` // place in the plan, from 1
	ID      string     `json:"id"`
	Status  ItemStatus `json:"status"`
	Note    string     `json:"note"`
	Gone    bool       `json:"gone,omitempty"` // the list, read again, no longer holds it
	Updated time.Time  `json:"updated,omitzero"`
}

// PlanHead is what the run's header knows of its plan: counts instead of
// lines, so that a step's cost does not grow with the list.
type PlanHead struct {
	Listed    bool           `json:"listed"` // the source list was read whole
	ListedAt  time.Time      `json:"listed_at,omitzero"`
	Made      bool           `json:"made"` // the model has made its plan
	Total     int            `json:"total"`
	Counts    map[string]int `json:"counts,omitempty"` // by ItemStatus
	FirstTodo int            `json:"first_todo"`       // low-water mark: no item before it is todo
	Changes   int            `json:"changes"`          // grows with every change; progress shows in it
	// Decided counts the waiting items whose action is decided while the plan
	// does not say so yet; none stands before position FirstDecided.
	Decided      int `json:"decided"`
	FirstDecided int `json:"first_decided"`
}

// Count is the number of items of one status.
func (p *PlanHead) Count(s ItemStatus) int { return p.Counts[string(s)] }

func (p *PlanHead) add(s ItemStatus, n int) {
	if p.Counts == nil {
		p.Counts = map[string]int{}
	}
	p.Counts[string(s)] += n
}

func itemKey(run string, pos int) Key   { return NewKey("plan", run, Seq(pos)) }
func itemIndex(run, id string) Key      { return NewKey("item", run, id) }
func attention(run string, pos int) Key { return NewKey("attention", run, Seq(pos)) }

// Item reads the plan item of id; [ErrNotFound] if the plan has none.
func (tx *Tx) Item(run *Run, id string) (Item, error) {
	var pos int
	if err := tx.Get(itemIndex(run.ID, id), &pos); err != nil {
		return Item{}, err
	}
	return tx.itemAt(run, pos)
}

func (tx *Tx) itemAt(run *Run, pos int) (Item, error) {
	var it Item
	err := tx.Get(itemKey(run.ID, pos), &it)
	return it, err
}

// fewItems is up to how many items are read one by one: most are at hand, and a
// scan would have to pass all that was ever written under their keys.
const fewItems = 64

func (tx *Tx) itemByItem(run *Run, after int, fn func(Item) bool) error {
	for pos := max(after, 0) + 1; pos <= run.Plan.Total; pos++ {
		it, err := tx.itemAt(run, pos)
		if errors.Is(err, ErrNotFound) {
			continue // doctor counts them
		}
		if err != nil || !fn(it) {
			return err
		}
	}
	return nil
}

// AddItem appends id to the plan as todo, or returns the item it already is.
func (tx *Tx) AddItem(run *Run, id string) (Item, bool, error) {
	it, err := tx.Item(run, id)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return it, false, err
	}
	run.Plan.Total++
	run.Plan.Changes++
	run.Plan.add(Todo, 1)
	it = Item{Pos: run.Plan.Total, ID: id, Status: Todo}
	if run.Plan.FirstTodo == 0 || run.Plan.Count(Todo) == 1 {
		run.Plan.FirstTodo = it.Pos
	}
	if err := tx.Put(itemIndex(run.ID, id), it.Pos); err != nil {
		return it, false, err
	}
	return it, true, tx.Put(itemKey(run.ID, it.Pos), it)
}

// SetItem saves it, whose Pos and ID are those of an existing item, and keeps
// counts and indexes in step.
func (tx *Tx) SetItem(run *Run, it Item) error {
	old, err := tx.itemAt(run, it.Pos)
	if err != nil {
		return err
	}
	if old.Status == it.Status && old.Note == it.Note && old.Gone == it.Gone {
		return nil
	}
	run.Plan.Changes++
	run.Plan.add(old.Status, -1)
	run.Plan.add(it.Status, 1)
	if it.Status == Todo {
		run.Plan.FirstTodo = min(run.Plan.FirstTodo, it.Pos)
	}
	if err := tx.indexAttention(run, old, it); err != nil {
		return err
	}
	if old.Status == WaitingApproval && it.Status != WaitingApproval {
		if err := tx.clearDecided(run, it.Pos); err != nil {
			return err
		}
	}
	it.Updated = tx.Now()
	if err := tx.Put(itemKey(run.ID, it.Pos), it); err != nil {
		return err
	}
	return tx.advanceTodo(run)
}

func (tx *Tx) indexAttention(run *Run, old, it Item) error {
	was, is := old.Status == NeedsAttention, it.Status == NeedsAttention
	switch {
	case is && !was:
		return tx.Put(attention(run.ID, it.Pos), it.ID)
	case was && !is:
		return tx.Delete(attention(run.ID, it.Pos))
	}
	return nil
}

// advanceTodo moves the low-water mark over the items that are no longer todo,
// a bounded number at a time.
func (tx *Tx) advanceTodo(run *Run) error {
	for n := 0; n < 32 && run.Plan.FirstTodo <= run.Plan.Total; n++ {
		it, err := tx.itemAt(run, run.Plan.FirstTodo)
		if err != nil {
			return err
		}
		if it.Status == Todo {
			return nil
		}
		run.Plan.FirstTodo++
	}
	return nil
}

// OpenItems returns the first n items that are todo.
func (tx *Tx) OpenItems(run *Run, n int) ([]Item, error) {
	n = min(n, run.Plan.Count(Todo))
	var open []Item
	for pos := max(1, run.Plan.FirstTodo); pos <= run.Plan.Total && len(open) < n; pos++ {
		it, err := tx.itemAt(run, pos)
		if err != nil {
			return nil, err
		}
		if it.Status == Todo {
			open = append(open, it)
		}
	}
	return open, nil
}

// AttentionItems returns the first n items that need attention.
func (tx *Tx) AttentionItems(run *Run, n int) ([]Item, error) {
	var items []Item
	if run.Plan.Count(NeedsAttention) == 0 || n <= 0 {
		return nil, nil
	}
	err := tx.Scan(NewKey("attention", run.ID), "", func(_ string, get func(any) error) (bool, error) {
		var id string
		if err := get(&id); err != nil {
			return false, err
		}
		it, err := tx.Item(run, id)
		items = append(items, it)
		return len(items) < n, err
	})
	return items, err
}

// Items calls fn with every plan item in plan sequence, from the one after
// position after, until fn returns false.
func (tx *Tx) Items(run *Run, after int, fn func(Item) bool) error {
	if run.Plan.Total-after <= fewItems {
		return tx.itemByItem(run, after, fn)
	}
	from := ""
	if after > 0 {
		from = Seq(after)
	}
	return tx.Scan(NewKey("plan", run.ID), from, func(_ string, get func(any) error) (bool, error) {
		var it Item
		if err := get(&it); err != nil {
			return false, err
		}
		return fn(it), nil
	})
}
