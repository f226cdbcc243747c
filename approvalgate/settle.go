package approvalgate

import (
	"context"

	"orderdesk/runstore"
)

// settleBatch is how many decisions or expiries share one commit.
const settleBatch = 100

// event is what trace and audit log keep of an action.
type event struct {
	Action    string                `json:"action"`
	Status    runstore.ActionStatus `json:"status"`
	Target    runstore.Target       `json:"target"`
	Role      string                `json:"role"`
	Hash      string                `json:"hash"`
	Tool      string                `json:"tool,omitempty"`
	By        string                `json:"by,omitempty"`
	Auth      string                `json:"auth,omitempty"`
	Self      bool                  `json:"self,omitempty"`
	Comment   string                `json:"comment,omitempty"`
	Key       string                `json:"key,omitempty"`
	Reference string                `json:"reference,omitempty"`
	Detail    string                `json:"detail,omitempty"`
	LinkedRun string                `json:"linked_run,omitempty"` // the action is that run's
}

func eventOf(a *runstore.Action) event {
	e := event{Action: a.ID, Status: a.Status, Target: a.Target, Role: a.Role, Hash: a.Hash}
	if a.Outcome != nil {
		e.Reference, e.Detail = a.Outcome.Reference, a.Outcome.Detail
	}
	return e
}

// record writes one event of a to run's trace and to the audit log.
func record(tx *runstore.Tx, run *runstore.Run, kind, what, by string, e event) error {
	if err := tx.Trace(run, kind, e); err != nil {
		return err
	}
	return tx.Audit(runstore.AuditEntry{What: what, By: by, Run: run.ID, Action: e.Action}, e)
}

// save writes a, whose status was just changed from before, and what hangs on
// the status: the live key, the group's ledger, the index of what can expire,
// and, once a is over, the runs that wait on it.
func (g *Gate) save(tx *runstore.Tx, run *runstore.Run, a *runstore.Action, before runstore.ActionStatus) error {
	if err := tx.PutAction(run, a); err != nil {
		return err
	}
	if err := g.note(tx, a, ""); err != nil {
		return err
	}
	if before == runstore.Pending {
		if err := tx.Delete(expiryKey(a)); err != nil {
			return err
		}
	}
	if !a.Status.Live() {
		if err := clearLive(tx, a); err != nil {
			return err
		}
	}
	if a.Status.Open() {
		return nil
	}
	return tx.Settle(run, a)
}

// clearLive frees a's target unless another action has taken it.
func clearLive(tx *runstore.Tx, a *runstore.Action) error {
	ref, ok, err := tx.LiveAction(a.Target)
	if err != nil || !ok || ref != (Ref{Run: a.Run, Action: a.ID}) {
		return err
	}
	return tx.SetLive(a.Target, Ref{})
}

// Unblocked tells the gate that the world shows t as settled: what was carried
// out for it does not keep it from being asked for again.
func (g *Gate) Unblocked(tx *runstore.Tx, t runstore.Target) error {
	ref, ok, err := tx.LiveAction(t)
	if err != nil || !ok {
		return err
	}
	a, err := tx.Action(ref)
	if err != nil || a.Status != runstore.Executed {
		return err
	}
	return tx.SetLive(t, Ref{})
}

// expiryKey is expiry/<run>/<second of expiry>-<number>: a run's pending
// actions in the sequence in which they expire.
func expiryKey(a *runstore.Action) runstore.Key {
	return runstore.NewKey("expiry", a.Run, runstore.Seq(int(a.Expires.Unix()))+"-"+runstore.Seq(a.Seq))
}

// Expire moves the run's pending actions that are past their expiry to expired
// and returns how many those were.
func (g *Gate) Expire(ctx context.Context, runID string) (int, error) {
	total := 0
	for {
		n, due := 0, false
		err := g.store.Look(ctx, runID, func(tx *runstore.Tx, _ *runstore.Run) (err error) {
			found, err := overdue(tx, runID)
			due = len(found) > 0
			return err
		})
		if err == nil && due {
			err = g.store.Step(ctx, runID, func(tx *runstore.Tx, run *runstore.Run) (err error) {
				n, err = g.expireDue(tx, run)
				return err
			})
		}
		if err != nil || n == 0 {
			return total, err
		}
		total += n
	}
}

func (g *Gate) expireDue(tx *runstore.Tx, run *runstore.Run) (int, error) {
	due, err := overdue(tx, run.ID)
	if err != nil {
		return 0, err
	}
	for _, d := range due {
		a, err := readAction(tx, d.ref)
		if err != nil {
			return 0, err
		}
		if err := tx.Delete(d.key); err != nil { // also one that does not fit its action
			return 0, err
		}
		if a.Status != runstore.Pending {
			continue
		}
		if err := g.expire(tx, run, a); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// dueAction is an action that the index says is past its expiry.
type dueAction struct {
	ref Ref
	key runstore.Key // of the index
}

// overdue returns the first actions of the run that the index says are past
// expiry.
func overdue(tx *runstore.Tx, run string) ([]dueAction, error) {
	var due []dueAction
	now := runstore.Seq(int(tx.Now().Unix()))
	err := tx.Scan(runstore.NewKey("expiry", run), "", func(rest string, get func(any) error) (bool, error) {
		if rest >= now { // the second of expiry must be over
			return false, nil
		}
		var id string
		err := get(&id)
		due = append(due, dueAction{Ref{Run: run, Action: id}, runstore.NewKey("expiry", run, rest)})
		return len(due) < settleBatch, err
	})
	return due, err
}

// expire ends a, pending or approved, for want of time.
func (g *Gate) expire(tx *runstore.Tx, run *runstore.Run, a *runstore.Action) error {
	return g.finish(tx, run, a, runstore.Expired, runstore.Outcome{Detail: expiredText(a)})
}

func expiredText(a *runstore.Action) string {
	if a.Status == runstore.Pending {
		return "nobody decided before " + utcText(a.Expires)
	}
	return "approved, but not carried out before " + utcText(a.Expires)
}

// readAction reads the action of that name: a record that was copied there
// from elsewhere keeps the name of its place, and so does not fit its seal.
func readAction(tx *runstore.Tx, ref Ref) (*runstore.Action, error) {
	a, err := tx.Action(ref)
	if err == nil {
		a.Run, a.ID = ref.Run, ref.Action
	}
	return a, err
}

// finish gives a its outcome and records it.
func (g *Gate) finish(tx *runstore.Tx, run *runstore.Run, a *runstore.Action, s runstore.ActionStatus, o runstore.Outcome) error {
	before := a.Status
	o.At = tx.Now()
	a.Status, a.Outcome = s, &o
	if err := g.save(tx, run, a, before); err != nil {
		return err
	}
	kind, by := runstore.TraceExecution, "gate"
	if before == runstore.Pending {
		kind = runstore.TraceApproval
	}
	if s == runstore.Withdrawn {
		by = run.Owner
	}
	e := eventOf(a)
	if kind == runstore.TraceExecution && (s == runstore.Executed || s == runstore.Failed || s == runstore.Unknown) {
		e.Key = a.Key()
	}
	return record(tx, run, kind, string(s), by, e)
}

// Withdraw takes back a pending action of run, which the caller saves. An
// action in another status is a [*DecidedError].
func (g *Gate) Withdraw(tx *runstore.Tx, run *runstore.Run, id string) error {
	a, err := readAction(tx, Ref{Run: run.ID, Action: id})
	if err != nil {
		return notFound(err, run.ID+"/"+id)
	}
	if a.Status != runstore.Pending {
		return decided(a)
	}
	return g.finish(tx, run, a, runstore.Withdrawn, runstore.Outcome{Detail: "withdrawn by " + run.Owner})
}

func decided(a *runstore.Action) *DecidedError {
	e := &DecidedError{Ref: Ref{Run: a.Run, Action: a.ID}, Status: a.Status}
	if a.Approval != nil {
		e.Approved, e.By, e.At = a.Approval.Approved, a.Approval.By, a.Approval.At
	}
	return e
}
