package runstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ActionStatus is the state of a queued action.
//
//	pending -> approved -> executing -> executed | failed | unknown
//	        -> rejected | expired | withdrawn      approved -> refused
type ActionStatus string

const (
	Pending   ActionStatus = "pending"
	Approved  ActionStatus = "approved"
	Executing ActionStatus = "executing"
	Executed  ActionStatus = "executed"
	Failed    ActionStatus = "failed"
	Unknown   ActionStatus = "unknown" // sent, outcome not known: a person's matter
	Rejected  ActionStatus = "rejected"
	Expired   ActionStatus = "expired"
	Withdrawn ActionStatus = "withdrawn"
	Refused   ActionStatus = "refused" // approved, but not carried out: changed, stale, role gone
)

// Live reports whether the action keeps its target from being asked for again.
func (s ActionStatus) Live() bool {
	return s == Pending || s == Approved || s == Executing || s == Unknown || s == Executed
}

// Open reports whether the action's fate is still open: undecided, or decided
// and not carried out.
func (s ActionStatus) Open() bool {
	return s == Pending || s == Approved || s == Executing || s == Unknown
}

// Target is what an action acts on. Kind and ID are checked ids; Group ties
// targets together whose amounts count as one.
type Target struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Group string `json:"group,omitempty"`
}

// Approval is the decision of an authenticated person.
type Approval struct {
	Approved bool      `json:"approved"`
	By       string    `json:"by"`
	Role     string    `json:"role"`
	Auth     string    `json:"auth"` // how the person was authenticated
	At       time.Time `json:"at"`
	Comment  string    `json:"comment,omitempty"`
	Hash     string    `json:"hash"`           // of the envelope the person saw
	Self     bool      `json:"self,omitempty"` // separation of duties was switched off
}

// Outcome is what became of an action.
type Outcome struct {
	Reference string    `json:"reference,omitempty"` // the receiver's name for what it created
	Detail    string    `json:"detail,omitempty"`    // why it was refused, failed or is unknown
	At        time.Time `json:"at"`
}

// Action is one change that waits for people. What is carried out is the
// sealed Envelope and nothing else; the other fields are for finding it.
type Action struct {
	ID       string          `json:"id"` // "A1": the n-th action of its run
	Run      string          `json:"run"`
	Seq      int             `json:"seq"`
	Tool     string          `json:"tool"`
	Target   Target          `json:"target"`
	Status   ActionStatus    `json:"status"`
	Role     string          `json:"role"`
	Envelope json.RawMessage `json:"envelope"`
	Hash     string          `json:"hash"`
	Queued   time.Time       `json:"queued"`
	Expires  time.Time       `json:"expires"`
	Approval *Approval       `json:"approval,omitempty"`
	Outcome  *Outcome        `json:"outcome,omitempty"`
}

// Key is the idempotency key under which the action is carried out.
func (a *Action) Key() string { return a.Run + "/" + a.ID }

// ActionRef names an action of any run.
type ActionRef struct {
	Run    string `json:"run"`
	Action string `json:"action"`
}

func actionKey(run string, n int) Key { return NewKey("action", run, Seq(n)) }

// actionNumber is 7 for "A7", 0 for anything else.
func actionNumber(id string) int {
	if len(id) < 2 || id[0] != 'A' || id[1] == '0' {
		return 0
	}
	n, err := strconv.Atoi(id[1:])
	if err != nil || n < 1 || strconv.Itoa(n) != id[1:] {
		return 0
	}
	return n
}

// NewActionID is the id the run's next action gets; [Tx.PutAction] with that
// id counts it.
func (r *Run) NewActionID() string { return fmt.Sprintf("A%d", r.ActionSeq+1) }

// Action reads an action; [ErrNotFound] without one.
func (tx *Tx) Action(ref ActionRef) (*Action, error) {
	n := actionNumber(ref.Action)
	if n == 0 || !ValidRunID(ref.Run) {
		return nil, ErrNotFound
	}
	var a Action
	if err := tx.Get(actionKey(ref.Run, n), &a); err != nil {
		return nil, err
	}
	return &a, nil
}

// PutAction saves a, an action of run, and keeps the run's counts in step.
func (tx *Tx) PutAction(run *Run, a *Action) error {
	if a.Run != run.ID || actionNumber(a.ID) == 0 {
		return fmt.Errorf("action %q does not belong to run %s", a.ID, run.ID)
	}
	a.Seq = actionNumber(a.ID)
	old, err := tx.Action(ActionRef{run.ID, a.ID})
	switch {
	case errors.Is(err, ErrNotFound):
		run.ActionSeq = max(run.ActionSeq, a.Seq)
	case err != nil:
		return err
	default:
		run.countAction(old.Status, a.Seq, -1)
	}
	run.countAction(a.Status, a.Seq, 1)
	if err := tx.Put(actionKey(run.ID, a.Seq), a); err != nil {
		return err
	}
	return tx.advanceActions(run)
}

func (r *Run) countAction(s ActionStatus, seq, n int) {
	switch s {
	case Pending:
		r.Pending += n
		if n > 0 {
			r.FirstPending = min(r.FirstPending, seq)
		}
	case Approved, Executing, Unknown:
		r.Approved += n
		if n > 0 {
			r.FirstApproved = min(r.FirstApproved, seq)
		}
	}
}

// advanceActions moves the low-water marks, a bounded number of steps at a time.
func (tx *Tx) advanceActions(run *Run) error {
	move := func(first *int, is func(ActionStatus) bool) error {
		for n := 0; n < 8 && *first <= run.ActionSeq; n++ {
			a, err := tx.Action(ActionRef{run.ID, fmt.Sprintf("A%d", *first)})
			if err != nil {
				return err
			}
			if is(a.Status) {
				return nil
			}
			*first++
		}
		return nil
	}
	if err := move(&run.FirstPending, func(s ActionStatus) bool { return s == Pending }); err != nil {
		return err
	}
	return move(&run.FirstApproved, func(s ActionStatus) bool { return s.Open() && s != Pending })
}

// Actions calls fn with the run's own actions from number from on, until fn
// returns false.
func (tx *Tx) Actions(run string, from int, fn func(*Action) bool) error {
	after := ""
	if from > 1 {
		after = Seq(from - 1)
	}
	return tx.Scan(NewKey("action", run), after, func(_ string, get func(any) error) (bool, error) {
		var a Action
		if err := get(&a); err != nil {
			return false, err
		}
		return fn(&a), nil
	})
}

// PendingActions returns the first n own actions that wait for a decision.
func (tx *Tx) PendingActions(run *Run, n int) ([]*Action, error) {
	n = min(n, run.Pending)
	if n <= 0 {
		return nil, nil
	}
	var found []*Action
	err := tx.Actions(run.ID, run.FirstPending, func(a *Action) bool {
		if a.Status == Pending {
			found = append(found, a)
		}
		return len(found) < n
	})
	return found, err
}

// ApprovedActions returns the first n own actions that are approved and not
// carried out, those a crash left executing included.
func (tx *Tx) ApprovedActions(run *Run, n int) ([]*Action, error) {
	n = min(n, run.Approved)
	if n <= 0 {
		return nil, nil
	}
	var found []*Action
	err := tx.Actions(run.ID, run.FirstApproved, func(a *Action) bool {
		if a.Status.Open() && a.Status != Pending {
			found = append(found, a)
		}
		return len(found) < n
	})
	return found, err
}

// LiveAction is the one live action on a target, whatever run asked for it;
// false if there is none.
func (tx *Tx) LiveAction(t Target) (ActionRef, bool, error) {
	var ref ActionRef
	ok, err := tx.lookup(NewKey("live", t.Kind, t.ID), &ref)
	return ref, ok, err
}

// SetLive makes ref the target's live action; a zero ref clears it.
func (tx *Tx) SetLive(t Target, ref ActionRef) error {
	k := NewKey("live", t.Kind, t.ID)
	if ref == (ActionRef{}) {
		return tx.Delete(k)
	}
	return tx.Put(k, ref)
}

// ItemAction is the action that a run's item waits on: the run's own, or a
// link to another run's.
func (tx *Tx) ItemAction(run *Run, item string) (ActionRef, bool, error) {
	var ref ActionRef
	ok, err := tx.lookup(NewKey("itemaction", run.ID, item), &ref)
	return ref, ok, err
}

// SetItemAction makes ref the action that the run's item waits on. If ref is
// still open, an earlier action's decision has no bearing on the item any more.
func (tx *Tx) SetItemAction(run *Run, item string, ref ActionRef) error {
	if err := tx.forgetDecision(run, item, ref); err != nil {
		return err
	}
	return tx.Put(NewKey("itemaction", run.ID, item), ref)
}
