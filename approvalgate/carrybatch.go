package approvalgate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"orderdesk/runstore"
)

// judge applies the rules for carrying out to j.action and sets env, doubt,
// recent, and out if a rule forbids to send. The error is the store's.
func (g *Gate) judge(tx *runstore.Tx, run *runstore.Run, j *job) error {
	a := &j.action
	j.doubt = a.Status != runstore.Approved
	j.recent = j.doubt && a.Outcome != nil && tx.Now().Sub(a.Outcome.At) < quiet
	j.out = nil
	status, why := runstore.Refused, ""
	var err error
	switch {
	case a.Approval == nil || !a.Approval.Approved:
		why = "no approval is recorded"
	default:
		j.env, err = open(a, a.Approval.Hash)
		if err != nil {
			why = "changed after it was approved: " + err.Error()
			restore(a)
		} else if !tx.Now().Before(j.env.Expires) {
			status, why = runstore.Expired, expiredText(a)
		} else if why, err = g.standing(tx, run, a.Approval, j.env.Role); err != nil {
			return err
		}
	}
	if why != "" {
		j.forbid(status, why)
	}
	return nil
}

// standing says why the approval does not stand any more, or "": whoever gave
// it must still be an approver and still hold the role.
func (g *Gate) standing(tx *runstore.Tx, run *runstore.Run, given *runstore.Approval, role string) (string, error) {
	if given.Role != role {
		return fmt.Sprintf("approved as %s; it needs %s", oneLine(given.Role, 40), role), nil
	}
	rec, err := readPerson(tx, given.By)
	if no := (*NotFoundError)(nil); errors.As(err, &no) {
		return oneLine(given.By, 80) + " is no approver any more", nil
	}
	if err != nil {
		return "", err
	}
	if !slices.Contains(rec.Roles, role) {
		return fmt.Sprintf("%s does not hold %s any more", rec.Name, role), nil
	}
	if !given.Self && g.opts.SameOwner(run.Owner, Person{Name: rec.Name, Roles: rec.Roles, Auth: given.Auth, Login: rec.Login}) {
		return rec.Name + " owns the run and cannot decide its actions", nil
	}
	return "", nil
}

// restore takes the fields beside an intact seal from the seal, so that what
// hangs on a refused action ends where it began.
func restore(a *runstore.Action) {
	e, err := Open(a.Envelope, a.Approval.Hash)
	if err == nil && e.Run == a.Run && e.Action == a.ID {
		a.Tool, a.Target, a.Role, a.Hash = e.Tool, e.Target, e.Role, a.Approval.Hash
		a.Queued, a.Expires = e.Queued, e.Expires
	}
}

// forbid ends j without sending. What was sent a moment ago may still take
// effect: that is unknown, not refused.
func (j *job) forbid(s runstore.ActionStatus, why string) {
	if j.recent {
		s, why = runstore.Unknown, "sent before, with no answer yet; it may not be sent again: "+why
	}
	j.out = &answer{status: s, detail: oneLine(why, maxDetail)}
}

// prepare asks the world: the receiver what it has, if j may have been sent
// before, and the domain whether what was approved still holds.
func (g *Gate) prepare(ctx context.Context, j *job) {
	if j.doubt {
		had, found, err := g.lookup(ctx, j.action.Key())
		if found {
			j.out, j.truth = &had, true
			return
		}
		if err != nil {
			j.out = &answer{status: runstore.Unknown, detail: "sent before; the receiver cannot be asked now", err: err}
			j.truth = true
			return
		}
	}
	if j.out != nil || g.opts.Recheck == nil {
		return
	}
	r, err := g.opts.Recheck(ctx, j.env)
	var no *RefuseError
	switch {
	case errors.As(err, &no):
		j.forbid(runstore.Refused, no.Text)
	case err != nil:
		j.out = &answer{detail: "the facts behind it could not be read again", err: err}
	default:
		if why := r.difference(j.env); why != "" {
			j.forbid(runstore.Refused, why)
		}
	}
}

// intend saves, in one commit, what the jobs that are not sent came to, and
// "executing" for the others, which it returns. The rules are applied again in
// the same transaction.
func (c *carrier) intend(ctx context.Context, jobs []*job) ([]*job, error) {
	var send []*job
	var ends []end
	err := c.gate.store.Step(ctx, c.run, func(tx *runstore.Tx, run *runstore.Run) error {
		send, ends = nil, nil
		if c.holder != "" {
			if err := run.Renew(c.holder, tx.Now()); err != nil {
				return err
			}
		}
		for _, old := range jobs {
			j, err := c.again(tx, run, old)
			switch {
			case err != nil:
				return err
			case j == nil:
				continue
			case j.out != nil:
				ends, err = c.finish(tx, run, j, ends)
			default:
				send = append(send, j)
				err = c.gate.markExecuting(tx, run, &j.action)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.tell(ends)
	return send, nil
}

// again reads and judges old's action once more; nil if somebody else has
// taken it on.
func (c *carrier) again(tx *runstore.Tx, run *runstore.Run, old *job) (*job, error) {
	a, err := readAction(tx, Ref{Run: c.run, Action: old.action.ID})
	if err != nil || a.Status != old.action.Status {
		return nil, ignoreNotFound(err)
	}
	j := &job{action: *a}
	if err := c.gate.judge(tx, run, j); err != nil {
		return nil, err
	}
	if old.out != nil && (j.out == nil || old.truth) {
		j.out = old.out
	}
	return j, nil
}

func (g *Gate) markExecuting(tx *runstore.Tx, run *runstore.Run, a *runstore.Action) error {
	before := a.Status
	a.Status, a.Outcome = runstore.Executing, &runstore.Outcome{At: tx.Now()}
	return g.save(tx, run, a, before)
}

// conclude saves what sending came to. It does so whoever holds the lease by
// now and whatever becomes of ctx: it is the truth.
func (c *carrier) conclude(ctx context.Context, sent []*job) error {
	if len(sent) == 0 {
		return nil
	}
	var ends []end
	err := c.gate.store.Step(context.WithoutCancel(ctx), c.run, func(tx *runstore.Tx, run *runstore.Run) error {
		ends = nil
		if run.Lease.Holder == c.holder && c.holder != "" {
			if err := run.Renew(c.holder, tx.Now()); err != nil {
				return err
			}
		}
		for _, old := range sent {
			a, err := readAction(tx, Ref{Run: c.run, Action: old.action.ID})
			if err != nil {
				return err
			}
			if !a.Status.Open() || a.Status == runstore.Pending {
				continue // another process has settled it
			}
			j := &job{action: *a, doubt: old.doubt, out: old.out}
			if ends, err = c.finish(tx, run, j, ends); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		c.tell(ends)
	}
	return err
}

// finish gives j its outcome and appends it to ends. One that was not sent
// keeps its status, or goes back to approved.
func (c *carrier) finish(tx *runstore.Tx, run *runstore.Run, j *job, ends []end) ([]end, error) {
	a, before, out := &j.action, j.action.Status, *j.out
	var err error
	switch {
	case out.status == "" || out.status == before || out.status == runstore.Approved && j.doubt:
	case out.status == runstore.Approved:
		a.Status, a.Outcome = runstore.Approved, nil
		err = c.gate.save(tx, run, a, before)
	default:
		err = c.gate.finish(tx, run, a, out.status, runstore.Outcome{Reference: out.reference, Detail: out.detail})
	}
	return append(ends, end{action: *a, before: before, out: out}), err
}
