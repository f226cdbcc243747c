package driver

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/upstream"
)

// Options configures a [Driver]. Store, Set, Gate and Model are needed.
type Options struct {
	Store  *runstore.Store
	Set    *tools.Set
	Gate   *approvalgate.Gate
	Model  Model
	Who    tools.Principal
	Worker string // for people: who drives, in messages to others
	// Service makes the model's calls: attempts, waits; nil: the defaults.
	Service *upstream.Client
	// Observe is told what happens, with the run as it was saved; nil: nobody.
	Observe func(Event, *runstore.Run)
	// CrashAfter calls Crash when the step of that model call is saved, before
	// the next call is reserved; 0: never.
	CrashAfter int
	Crash      func()
	Clock      func() time.Time // measures active time; nil: time.Now
}

// Driver works runs.
type Driver struct{ o Options }

// New makes a driver.
func New(o Options) *Driver {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(Event, *runstore.Run) {}
	}
	if o.Service == nil {
		o.Service = upstream.NewClient(upstream.Options{Service: "model"})
	}
	return &Driver{o}
}

// drive is one run being driven: what is known beside the saved state.
type drive struct {
	*Driver
	id       string
	run      *runstore.Run  // as last saved
	mark     time.Time      // active time is booked up to here
	chars    int            // size of the present context
	reserved runstore.Usage // for a model call that has not begun
	compact  bool           // the context is full
	current  int            // number of the model call under way
	cuts     int            // cut replies in a row
	empties  int            // empty replies in a row
}

// drive works the run until it ends, and returns it as saved. The caller holds
// the run's lease, see [Driver.takeUp]; it is given back. A cancelled ctx stops
// the run at a saved step with [runstore.StopInterrupted].
func (d *Driver) drive(ctx context.Context, run *runstore.Run) (*runstore.Run, error) {
	r := &drive{Driver: d, id: run.ID, run: run, mark: d.o.Clock()}
	for run.Status == runstore.Running {
		err := r.segment(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			err = r.stop(ctx, &runstore.StopReason{Code: runstore.StopInterrupted, Message: "interrupted; resume it to go on"})
		default:
			return r.run, errors.Join(err, r.release(ctx))
		}
		if err != nil {
			return r.run, err
		}
		run = r.run
	}
	return r.run, r.release(ctx)
}

// segment works one context, from its briefing to its end.
func (r *drive) segment(ctx context.Context) error {
	conv, err := r.begin(ctx)
	if err != nil {
		return err
	}
	for r.run.Status == runstore.Running && !r.compact {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.current = r.run.Used.ModelCalls
		reply, err := r.ask(ctx, conv)
		if err != nil || r.run.Status != runstore.Running {
			return err
		}
		if err := r.take(ctx, &conv, reply); err != nil {
			return err
		}
	}
	return nil
}

// begin opens a segment: the briefing, and the reservation of its first call.
func (r *drive) begin(ctx context.Context) (Conversation, error) {
	conv := Conversation{System: r.o.Set.Domain().System}
	before, full := r.chars, r.compact
	err := r.step(ctx, func(tx *runstore.Tx, run *runstore.Run) (err error) {
		if conv.Briefing, err = r.o.Set.Briefing(tx, run); err != nil {
			return err
		}
		r.chars = utf8.RuneCountInString(conv.System) + utf8.RuneCountInString(conv.Briefing)
		if limit := run.Budget.CompactAt.Max; r.chars > limit {
			return tools.StopRun(tx, run, contextStop(r.chars, limit))
		}
		kind := runstore.TraceSegment
		if full {
			kind = runstore.TraceCompacted
		}
		if err := tx.Trace(run, kind, map[string]int{"before": before, "chars": r.chars}); err != nil {
			return err
		}
		return r.reserve(tx, run, runstore.Usage{ModelCalls: 1, Segments: 1, Chars: r.chars})
	})
	if err == nil && full && r.run.Status == runstore.Running {
		r.o.Observe(Event{Kind: Compacted, Before: before, After: r.chars}, r.run)
	}
	r.compact = false
	return conv, err
}

// reserve pays for the next model call, or stops the run.
func (r *drive) reserve(tx *runstore.Tx, run *runstore.Run, u runstore.Usage) error {
	var over *runstore.BudgetError
	r.reserved = runstore.Usage{}
	if err := run.Charge(u); errors.As(err, &over) {
		return tools.StopRun(tx, run, over.StopReason())
	}
	r.reserved = u
	return tx.Trace(run, runstore.TraceModelCall, map[string]int{"chars": u.Chars})
}

// step saves one step of the run under its lease, with the active time since
// the last one.
func (r *drive) step(ctx context.Context, fn func(*runstore.Tx, *runstore.Run) error) error {
	spent := r.spent()
	return r.o.Store.Step(ctx, r.id, func(tx *runstore.Tx, run *runstore.Run) error {
		if err := run.Renew(r.o.Store.Instance(), tx.Now()); err != nil {
			return err
		}
		run.Spend(spent)
		if err := fn(tx, run); err != nil {
			return err
		}
		r.run = run
		return nil
	})
}

// spent is the active time since the last call of spent.
func (r *drive) spent() time.Duration {
	now := r.o.Clock()
	d := now.Sub(r.mark)
	r.mark = now
	return max(0, d)
}

// stop ends the run for a reason, whatever became of ctx, and gives back what
// was reserved and not used.
func (r *drive) stop(ctx context.Context, why *runstore.StopReason) error {
	err := r.step(context.WithoutCancel(ctx), func(tx *runstore.Tx, run *runstore.Run) error {
		run.Refund(r.reserved)
		return tools.StopRun(tx, run, why)
	})
	r.reserved = runstore.Usage{}
	return err
}

// release gives the lease back and tells the observer how the run ended.
func (r *drive) release(ctx context.Context) error {
	err := r.o.Store.Step(context.WithoutCancel(ctx), r.id, func(_ *runstore.Tx, run *runstore.Run) error {
		run.Release(r.o.Store.Instance())
		r.run = run
		return nil
	})
	if err == nil {
		r.o.Observe(Event{Kind: Ended}, r.run)
	}
	return err
}
