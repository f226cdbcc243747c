package driver

import (
	"cmp"
	"context"
	"errors"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// Outcome says what a resume came to before any model was asked.
type Outcome int

// The outcomes of a resume.
const (
	Driven         Outcome = iota // the run was worked on
	AlreadyDone                   // nothing is left to do
	StillWaiting                  // people have not decided anything
	StillExhausted                // a budget is used up; raise it
	DrivenByOther                 // another worker has the run; it goes by the new limits
)

// outcomes translates what taking a run up came to.
var outcomes = map[tools.Readiness]Outcome{tools.Ready: Driven, tools.AlreadyDone: AlreadyDone,
	tools.StillWaiting: StillWaiting, tools.StillExhausted: StillExhausted}

// Changes is what a person changes of a run when taking it up again. Nil
// fields stay as they are.
type Changes struct {
	ModelCalls, ToolCalls, Chars, Seconds, CompactAt *int
	Simulate                                         string // "": as before
}

// Start drives a new run.
func (d *Driver) Start(ctx context.Context, id string) (*runstore.Run, error) {
	run, err := d.takeUp(ctx, id, Changes{})
	if err != nil {
		return run, err
	}
	return d.drive(ctx, run)
}

// Resume takes a run up again: approved actions are carried out before the
// budget is looked at, then the run is driven if there is something to do. A
// [*runstore.HeldError] says that another worker has the run and that nothing
// was changed.
func (d *Driver) Resume(ctx context.Context, id string, c Changes) (*runstore.Run, Outcome, approvalgate.CarryReport, error) {
	var report approvalgate.CarryReport
	run, err := d.takeUp(ctx, id, c)
	if held := (*runstore.HeldError)(nil); errors.As(err, &held) {
		run, err = d.changeHeld(ctx, id, c, held)
		return run, DrivenByOther, report, err
	}
	if err != nil {
		return nil, Driven, report, err
	}
	if _, err := d.o.Gate.Expire(ctx, id); err != nil {
		return run, Driven, report, errors.Join(err, d.giveBack(ctx, id, nil))
	}
	report, err = d.o.Gate.CarryOut(ctx, id, d.o.Store.Instance(), func(a runstore.Action) {
		d.o.Observe(Event{Kind: CarriedOut, Text: carriedText(a)}, run)
	})
	if err != nil {
		return run, Driven, report, errors.Join(err, d.giveBack(ctx, id, nil))
	}
	run, is, err := d.o.Set.TakeUp(ctx, id, d.o.Who)
	ended := outcomes[is]
	if err != nil || is != tools.Ready {
		return run, ended, report, errors.Join(err, d.giveBack(ctx, id, &run))
	}
	run, err = d.drive(ctx, run)
	return run, ended, report, err
}

// carriedText says what became of an action: "A1 executed (REQ-0001)".
func carriedText(a runstore.Action) string {
	text := a.ID + " " + string(a.Status)
	if a.Outcome == nil {
		return text
	}
	if how := cmp.Or(a.Outcome.Reference, a.Outcome.Detail); how != "" {
		text += " (" + how + ")"
	}
	return text
}

// takeUp acquires the lease and applies what a person changed.
func (d *Driver) takeUp(ctx context.Context, id string, c Changes) (*runstore.Run, error) {
	var run *runstore.Run
	err := d.o.Store.Step(ctx, id, func(tx *runstore.Tx, r *runstore.Run) error {
		if err := r.Acquire(d.o.Store.Instance(), d.o.Worker, tx.Now(), d.o.Store.Alive); err != nil {
			return err
		}
		r.Session = tx.Now()
		if err := c.Apply(tx, r, d.o.Who); err != nil {
			return err
		}
		run = r
		return nil
	})
	return run, err
}

// changeHeld changes the limits of a run that another worker has. The services
// it works with stay. If that changes nothing, the answer is held.
func (d *Driver) changeHeld(ctx context.Context, id string, c Changes, held *runstore.HeldError) (*runstore.Run, error) {
	c.Simulate = ""
	var run *runstore.Run
	err := d.o.Store.Step(ctx, id, func(tx *runstore.Tx, r *runstore.Run) error {
		before := r.Budget
		if err := c.Apply(tx, r, d.o.Who); err != nil {
			return err
		}
		if run = r; r.Budget == before {
			return held
		}
		return nil
	})
	return run, err
}

// Apply makes a person's changes and records them with who, old and new. The
// next check of a budget goes by them, whoever drives the run. An error of
// [runstore.Budget.Check] says that nothing was changed.
func (c Changes) Apply(tx *runstore.Tx, run *runstore.Run, by tools.Principal) error {
	type change struct {
		What string `json:"what"`
		Old  int    `json:"old"`
		New  int    `json:"new"`
	}
	var made []change
	set := func(what string, l *runstore.Limit, v *int) {
		if v != nil && (*v != l.Max || !l.Set) {
			made = append(made, change{what, l.Max, *v})
			*l = runstore.Limit{Max: *v, Set: true}
		}
	}
	changed := run.Budget
	b := &changed
	set("model_calls", &b.ModelCalls, c.ModelCalls)
	set("tool_calls", &b.ToolCalls, c.ToolCalls)
	set("chars", &b.Chars, c.Chars)
	set("seconds", &b.Seconds, c.Seconds)
	set("compact_at", &b.CompactAt, c.CompactAt)
	if err := changed.Check(); err != nil {
		return err
	}
	run.Budget = changed
	if c.Simulate != "" && c.Simulate != run.Source.Simulate {
		was := run.Source.Simulate
		run.Source.Simulate = c.Simulate
		if err := tx.Trace(run, runstore.TraceSource, map[string]any{"by": by.Name, "what": "simulate", "old": was, "new": c.Simulate}); err != nil {
			return err
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := tx.Trace(run, runstore.TraceBudget, map[string]any{"by": by.Name, "changes": made}); err != nil {
		return err
	}
	return tx.Audit(runstore.AuditEntry{What: "budget_changed", By: by.Name, Run: run.ID}, made)
}

// giveBack releases the lease.
func (d *Driver) giveBack(ctx context.Context, id string, saved **runstore.Run) error {
	return d.o.Store.Step(context.WithoutCancel(ctx), id, func(_ *runstore.Tx, run *runstore.Run) error {
		run.Release(d.o.Store.Instance())
		if saved != nil {
			*saved = run
		}
		return nil
	})
}
