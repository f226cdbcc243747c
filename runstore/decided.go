package runstore

// A run learns that an action it waits on was decided from an index of its
// own: decided/<run>/<item position>. Whoever settles an action writes it for
// every run that waits on it; the plan change that takes note of the decision
// removes it.

func decidedKey(run string, pos int) Key { return NewKey("decided", run, Seq(pos)) }

func linkPrefix(ref ActionRef) Key { return NewKey("link", ref.Run, ref.Action) }

// LinkItem makes an item of run wait on ref, an action of another run.
func (tx *Tx) LinkItem(run *Run, item string, ref ActionRef) error {
	if err := tx.SetItemAction(run, item, ref); err != nil {
		return err
	}
	return tx.Put(NewKey("link", ref.Run, ref.Action, run.ID), item)
}

// Settle tells every run that waits on a that it was decided for good. owner
// is the header of a's own run, which the caller saves.
func (tx *Tx) Settle(owner *Run, a *Action) error {
	if err := tx.markDecided(owner, a.Target.ID); err != nil {
		return err
	}
	var linked []ActionRef // run and item
	err := tx.Scan(linkPrefix(ActionRef{a.Run, a.ID}), "", func(run string, get func(any) error) (bool, error) {
		var item string
		err := get(&item)
		linked = append(linked, ActionRef{run, item})
		return true, err
	})
	if err != nil {
		return err
	}
	for _, l := range linked {
		other, err := tx.Run(l.Run)
		if err != nil {
			return err
		}
		if err := tx.markDecided(other, l.Action); err != nil {
			return err
		}
		if err := tx.PutRun(other); err != nil {
			return err
		}
	}
	return nil
}

// markDecided notes that the item's action is decided while its plan line
// still waits.
func (tx *Tx) markDecided(run *Run, item string) error {
	it, err := tx.Item(run, item)
	if err != nil || it.Status != WaitingApproval {
		return ignoreNotFound(err)
	}
	k := decidedKey(run.ID, it.Pos)
	var seen string
	if ok, err := tx.lookup(k, &seen); ok || err != nil {
		return err
	}
	if run.Plan.Decided == 0 || it.Pos < run.Plan.FirstDecided {
		run.Plan.FirstDecided = it.Pos
	}
	run.Plan.Decided++
	return tx.Put(k, item)
}

// clearDecided is called when an item leaves [WaitingApproval].
func (tx *Tx) clearDecided(run *Run, pos int) error {
	var item string
	k := decidedKey(run.ID, pos)
	ok, err := tx.lookup(k, &item)
	if !ok || err != nil {
		return err
	}
	run.Plan.Decided--
	if pos == run.Plan.FirstDecided {
		run.Plan.FirstDecided++
	}
	return tx.Delete(k)
}

// forgetDecision is called when an item is to wait on ref instead of the
// action it waited on before.
func (tx *Tx) forgetDecision(run *Run, item string, ref ActionRef) error {
	if run.Plan.Decided == 0 {
		return nil
	}
	it, err := tx.Item(run, item)
	if err != nil {
		return ignoreNotFound(err)
	}
	a, err := tx.Action(ref)
	if err != nil || !a.Status.Open() {
		return ignoreNotFound(err)
	}
	return tx.clearDecided(run, it.Pos)
}

// DecidedItems returns the first n waiting items whose action is decided.
func (tx *Tx) DecidedItems(run *Run, n int) ([]Item, error) {
	n = min(n, run.Plan.Decided)
	if n <= 0 {
		return nil, nil
	}
	var ids []string
	from := Seq(max(0, run.Plan.FirstDecided-1))
	err := tx.Scan(NewKey("decided", run.ID), from, func(_ string, get func(any) error) (bool, error) {
		var id string
		err := get(&id)
		ids = append(ids, id)
		return len(ids) < n, err
	})
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(ids))
	for i, id := range ids {
		if items[i], err = tx.Item(run, id); err != nil {
			return nil, err
		}
	}
	return items, nil
}
