package approvalgate

import (
	"encoding/json"
	"time"

	"orderdesk/runstore"
)

// Proposal is a change that an agent asks for. Role, Evidence, Amount and Rule
// come from code that has read the world, never from the agent.
type Proposal struct {
	Tool      string
	Target    runstore.Target
	Arguments json.RawMessage   // a JSON object; numbers are integers of at most 15 digits
	Role      string            // the one role that decides
	Evidence  map[string]string // the figures the role came from, and when they were read
	Amount    string            // what counts towards the group: a decimal, a currency code may follow
	Rule      string            // version of the rule
	Lifetime  time.Duration     // 0: the gate's
}

// Queued is what became of a proposal.
type Queued struct {
	Action   runstore.Action
	Existing bool // the target had a live action; nothing was added
	Linked   bool // and it is another run's: the run now waits on it
}

// Queue seals p as the next action of run, or finds the target's live action,
// whatever run asked for it. The caller saves run. A live action that is past
// its expiry is expired first. Errors: [*SealError] for a proposal that cannot
// be sealed, [*GroupFullError]; neither leaves anything of the proposal in tx.
func (g *Gate) Queue(tx *runstore.Tx, run *runstore.Run, p Proposal) (Queued, error) {
	live, ok, err := tx.LiveAction(p.Target)
	if err != nil {
		return Queued{}, err
	}
	if ok {
		a, err := readAction(tx, live)
		if err != nil {
			return Queued{}, err
		}
		if a.Status.Live() && !lapsed(a, tx.Now()) {
			return g.join(tx, run, a)
		}
		if a.Status.Live() {
			if err := g.lapse(tx, run, a); err != nil {
				return Queued{}, err
			}
		}
	}
	return g.add(tx, run, p)
}

// lapsed reports whether a waits for a decision or for being carried out and
// its time is over.
func lapsed(a *runstore.Action, now time.Time) bool {
	return (a.Status == runstore.Pending || a.Status == runstore.Approved) && !now.Before(a.Expires)
}

// lapse expires a, an action of any run, while run's header is in the caller's
// hands: a may be run's own, or run may wait on it.
func (g *Gate) lapse(tx *runstore.Tx, run *runstore.Run, a *runstore.Action) error {
	if a.Run == run.ID {
		return g.expire(tx, run, a)
	}
	if err := tx.PutRun(run); err != nil {
		return err
	}
	owner, err := tx.Run(a.Run)
	if err != nil {
		return err
	}
	if err := g.expire(tx, owner, a); err != nil {
		return err
	}
	if err := tx.PutRun(owner); err != nil {
		return err
	}
	fresh, err := tx.Run(run.ID)
	if err == nil {
		*run = *fresh
	}
	return err
}

// join makes run wait on a, the live action of a target.
func (g *Gate) join(tx *runstore.Tx, run *runstore.Run, a *runstore.Action) (Queued, error) {
	q := Queued{Action: *a, Existing: true, Linked: a.Run != run.ID}
	ref := Ref{Run: a.Run, Action: a.ID}
	waits, ok, err := tx.ItemAction(run, a.Target.ID)
	if err != nil || ok && waits == ref {
		return q, err
	}
	if !q.Linked {
		return q, tx.SetItemAction(run, a.Target.ID, ref)
	}
	if err := tx.LinkItem(run, a.Target.ID, ref); err != nil {
		return q, err
	}
	e := eventOf(a)
	e.LinkedRun = a.Run
	return q, record(tx, run, runstore.TraceQueued, "linked", run.Owner, e)
}

// add seals p as a new action.
func (g *Gate) add(tx *runstore.Tx, run *runstore.Run, p Proposal) (Queued, error) {
	life := p.Lifetime
	if life == 0 {
		life = g.opts.Lifetime
	}
	env := Envelope{
		Schema: EnvelopeSchema, Run: run.ID, Action: run.NewActionID(), Tool: p.Tool, Target: p.Target,
		Arguments: p.Arguments, Role: p.Role, Evidence: p.Evidence, Amount: p.Amount, Rule: p.Rule,
		Queued: tx.Now(), Expires: tx.Now().Add(life),
	}
	if env.Evidence == nil {
		env.Evidence = map[string]string{}
	}
	sealed, hash, err := seal(env)
	if err != nil {
		return Queued{}, err
	}
	if others, err := g.Group(tx, p.Target.Group); err != nil {
		return Queued{}, err
	} else if len(others) >= MaxGroup {
		return Queued{}, &GroupFullError{Group: p.Target.Group, Max: MaxGroup}
	}
	a := &runstore.Action{
		ID: env.Action, Run: env.Run, Tool: env.Tool, Target: env.Target, Status: runstore.Pending,
		Role: env.Role, Envelope: sealed, Hash: hash, Queued: env.Queued, Expires: env.Expires,
	}
	if err := tx.PutAction(run, a); err != nil {
		return Queued{}, err
	}
	return Queued{Action: *a}, g.index(tx, run, a, env.Amount)
}

// index writes what hangs on a new action.
func (g *Gate) index(tx *runstore.Tx, run *runstore.Run, a *runstore.Action, amount string) error {
	ref := Ref{Run: a.Run, Action: a.ID}
	if err := g.note(tx, a, amount); err != nil {
		return err
	}
	if err := tx.SetLive(a.Target, ref); err != nil {
		return err
	}
	if err := tx.SetItemAction(run, a.Target.ID, ref); err != nil {
		return err
	}
	if err := tx.Put(expiryKey(a), a.ID); err != nil {
		return err
	}
	e := eventOf(a)
	e.Tool = a.Tool
	return record(tx, run, runstore.TraceQueued, "queued", run.Owner, e)
}
