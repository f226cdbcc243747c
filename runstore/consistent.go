package runstore

import "fmt"

// Consistent holds a run's counters and indexes against its records and
// returns what does not agree, one phrase each.
func (tx *Tx) Consistent(run *Run) ([]string, error) {
	c := &consistency{tx: tx, run: run}
	for _, check := range []func() error{c.plan, c.attention, c.decided, c.actions, c.trace} {
		if err := check(); err != nil {
			return c.wrong, err
		}
	}
	return c.wrong, nil
}

type consistency struct {
	tx    *Tx
	run   *Run
	wrong []string
}

func (c *consistency) note(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func (c *consistency) equal(what string, got, want int) {
	if got != want {
		c.note("%s: the header says %d, the records say %d", what, want, got)
	}
}

// mark holds a low-water mark against the first record it stands for; 0: there
// is none.
func (c *consistency) mark(what string, first, mark int) {
	if first > 0 && mark > first {
		c.note("the first %s stands at %d, before the header's mark %d", what, first, mark)
	}
}

func (c *consistency) plan() error {
	counts, total, first := map[ItemStatus]int{}, 0, 0
	err := c.tx.Items(c.run, 0, func(it Item) bool {
		total++
		counts[it.Status]++
		if it.Status == Todo && first == 0 {
			first = it.Pos
		}
		if it.Pos != total {
			c.note("plan item %s stands at %d, not %d", it.ID, total, it.Pos)
		}
		return true
	})
	c.equal("plan items", total, c.run.Plan.Total)
	for _, s := range ItemStatuses {
		c.equal("plan items "+string(s), counts[s], c.run.Plan.Count(s))
	}
	c.mark("todo item", first, c.run.Plan.FirstTodo)
	return err
}

// attention holds the index of items that need attention against the plan.
func (c *consistency) attention() error {
	n, err := c.index("attention", NeedsAttention, nil)
	c.equal("index of items that need attention", n, c.run.Plan.Count(NeedsAttention))
	return err
}

// decided holds the index of waiting items that are decided against the plan.
func (c *consistency) decided() error {
	first := 0
	n, err := c.index("decided", WaitingApproval, func(pos int) {
		if first == 0 {
			first = pos
		}
	})
	c.equal("decided items", n, c.run.Plan.Decided)
	c.mark("decided item", first, c.run.Plan.FirstDecided)
	return err
}

// index counts an index of plan items, which must all have the status.
func (c *consistency) index(kind string, want ItemStatus, each func(pos int)) (int, error) {
	n := 0
	err := c.tx.Scan(NewKey(kind, c.run.ID), "", func(_ string, get func(any) error) (bool, error) {
		var id string
		if err := get(&id); err != nil {
			return false, err
		}
		it, err := c.tx.Item(c.run, id)
		if err != nil {
			return false, err
		}
		if n++; it.Status != want {
			c.note("item %s is %s and in the index %s", id, it.Status, kind)
		}
		if each != nil {
			each(it.Pos)
		}
		return true, nil
	})
	return n, err
}

func (c *consistency) actions() error {
	n, pending, approved := 0, 0, 0
	firstPending, firstApproved := 0, 0
	err := c.tx.Actions(c.run.ID, 1, func(a *Action) bool {
		n++
		switch {
		case a.Status == Pending:
			if pending++; pending == 1 {
				firstPending = a.Seq
			}
		case a.Status.Open():
			if approved++; approved == 1 {
				firstApproved = a.Seq
			}
		}
		if a.Seq != n {
			c.note("action %s stands at %d", a.ID, n)
		}
		return true
	})
	c.equal("actions", n, c.run.ActionSeq)
	c.equal("pending actions", pending, c.run.Pending)
	c.equal("approved actions", approved, c.run.Approved)
	c.mark("pending action", firstPending, c.run.FirstPending)
	c.mark("approved action", firstApproved, c.run.FirstApproved)
	return err
}

func (c *consistency) trace() error {
	n := 0
	err := c.tx.TraceEntries(c.run.ID, 0, func(e TraceEntry) bool {
		n++
		if e.Seq != n {
			c.note("trace entry %d stands at %d", e.Seq, n)
		}
		return e.Seq == n
	})
	c.equal("trace entries", n, c.run.TraceSeq)
	return err
}
