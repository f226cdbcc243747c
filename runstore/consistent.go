package runstore

import "fmt"

// Consistent holds a run's counters and indexes against its records and
// returns what does not agree, one phrase each.
func (tx *Tx) Consistent(run *Run) ([]string, error) {
	c := &consistency{tx: tx, run: run}
	for _, check := range []func() error{c.plan, c.actions, c.trace} {
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

func (c *consistency) equal(what string, got, want int) {
	if got != want {
		c.wrong = append(c.wrong, fmt.Sprintf("%s: the header says %d, the records say %d", what, want, got))
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
			c.wrong = append(c.wrong, fmt.Sprintf("plan item %s stands at %d, not %d", it.ID, total, it.Pos))
		}
		return true
	})
	c.equal("plan items", total, c.run.Plan.Total)
	for _, s := range ItemStatuses {
		c.equal("plan items "+string(s), counts[s], c.run.Plan.Count(s))
	}
	if first > 0 && c.run.Plan.FirstTodo > first {
		c.wrong = append(c.wrong, "the first todo item stands before the header's mark")
	}
	return err
}

func (c *consistency) actions() error {
	n, pending, approved := 0, 0, 0
	err := c.tx.Actions(c.run.ID, 1, func(a *Action) bool {
		n++
		switch {
		case a.Status == Pending:
			pending++
		case a.Status.Open():
			approved++
		}
		if a.Seq != n {
			c.wrong = append(c.wrong, fmt.Sprintf("action %s stands at %d", a.ID, n))
		}
		return true
	})
	c.equal("actions", n, c.run.ActionSeq)
	c.equal("pending actions", pending, c.run.Pending)
	c.equal("approved actions", approved, c.run.Approved)
	return err
}

func (c *consistency) trace() error {
	n := 0
	err := c.tx.TraceEntries(c.run.ID, 0, func(e TraceEntry) bool {
		n++
		if e.Seq != n {
			c.wrong = append(c.wrong, fmt.Sprintf("trace entry %d stands at %d", e.Seq, n))
		}
		return e.Seq == n
	})
	c.equal("trace entries", n, c.run.TraceSeq)
	return err
}
