package approvalgate

import (
	"context"
	"errors"
	"time"

	"orderdesk/runstore"
)

const (
	carryBatch = 64               // actions that share the two commits
	batchTime  = 30 * time.Second // after which a batch sends no more
	// quiet is how long after sending the receiver may still be at it. Only
	// then does "nothing under that key" mean that nothing was done.
	quiet = 15 * time.Minute
)

// Problem is an action that could not be carried to its end this time.
type Problem struct {
	Action string
	Reason string // one sentence, safe to show
	Err    error  // for the log, never for a model; may be nil
}

// CarryReport counts what [Gate.CarryOut] did.
type CarryReport struct {
	Executed, Failed, Refused, Expired int
	Unknown                            []Problem // sent, outcome open: a person's matter
	Postponed                          []Problem // still approved: the next CarryOut tries them again
}

// carrier carries out one run's approved actions.
type carrier struct {
	gate     *Gate
	run      string
	holder   string
	progress func(runstore.Action)
	report   CarryReport
}

// job is one action on its way.
type job struct {
	action runstore.Action // as it was read, or saved, last
	env    Envelope
	doubt  bool    // it may have been sent before
	recent bool    // and so lately that the receiver may still be at it
	out    *answer // what becomes of it without sending; nil: send
	truth  bool    // out is the receiver's, whatever the rules say
}

// CarryOut carries out the run's approved actions, and settles those that a
// crash or a timeout left open. It asks for no budget. holder, if not "", must
// hold the run's lease, which is renewed ([runstore.ErrLeaseLost]). progress, if
// not nil, hears of every action whose status has changed, after that is saved.
//
// Actions go in batches of 64: one commit says "executing", then the receiver
// is called, then one commit says what came of it. A canceled ctx ends it
// before the next call of the receiver, never between a call and its record.
func (g *Gate) CarryOut(ctx context.Context, runID, holder string, progress func(runstore.Action)) (CarryReport, error) {
	c := &carrier{gate: g, run: runID, holder: holder, progress: progress}
	for after := 0; ; {
		jobs, err := c.load(ctx, after)
		if err != nil || len(jobs) == 0 {
			return c.report, err
		}
		last, err := c.batch(ctx, jobs)
		if err != nil {
			return c.report, err
		}
		after = max(after+1, last)
	}
}

// load reads the next actions after number after and judges them.
func (c *carrier) load(ctx context.Context, after int) ([]*job, error) {
	var jobs []*job
	err := c.gate.store.Look(ctx, c.run, func(tx *runstore.Tx, run *runstore.Run) error {
		jobs = nil
		if c.holder != "" && run.Lease.Holder != c.holder {
			return runstore.ErrLeaseLost
		}
		if run.Approved == 0 {
			return nil
		}
		err := tx.Actions(run.ID, max(after+1, run.FirstApproved), func(a *runstore.Action) bool {
			if a.Status.Open() && a.Status != runstore.Pending {
				a.Run = run.ID
				jobs = append(jobs, &job{action: *a})
			}
			return len(jobs) < carryBatch
		})
		for _, j := range jobs {
			err = errors.Join(err, c.gate.judge(tx, run, j))
		}
		return err
	})
	return jobs, err
}

// batch carries out jobs, or the first of them if time runs out, and returns
// the number of the last.
func (c *carrier) batch(ctx context.Context, jobs []*job) (int, error) {
	timed, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	for i, j := range jobs {
		if i > 0 && timed.Err() != nil {
			jobs = jobs[:i]
			break
		}
		c.gate.prepare(ctx, j)
	}
	last := jobs[len(jobs)-1].action.Seq
	send, err := c.intend(ctx, jobs)
	if err != nil {
		return last, err
	}
	for i, j := range send {
		if ctx.Err() != nil || i > 0 && timed.Err() != nil {
			j.out = &answer{status: runstore.Approved, detail: "there was no time to send it"}
			continue
		}
		a := c.gate.send(ctx, &Permit{env: j.env, approval: *j.action.Approval, valid: true}, j.doubt)
		j.out = &a
	}
	if err := c.conclude(ctx, send); err != nil {
		return last, err
	}
	return last, ctx.Err()
}

// end is what a batch's commit made of one action.
type end struct {
	action runstore.Action
	before runstore.ActionStatus
	out    answer
}

// tell reports ends after they were saved.
func (c *carrier) tell(ends []end) {
	r := &c.report
	for _, e := range ends {
		problem := Problem{Action: e.action.ID, Reason: e.out.detail, Err: e.out.err}
		switch e.action.Status {
		case runstore.Executed:
			r.Executed++
		case runstore.Failed:
			r.Failed++
		case runstore.Refused:
			r.Refused++
		case runstore.Expired:
			r.Expired++
		case runstore.Unknown:
			r.Unknown = append(r.Unknown, problem)
		default:
			r.Postponed = append(r.Postponed, problem)
		}
		if c.progress != nil && e.action.Status != e.before {
			c.progress(e.action)
		}
	}
}
