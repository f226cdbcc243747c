package tools

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orderdesk/runstore"
)

// Request is one call of a tool.
type Request struct {
	Who  Principal
	Run  string
	Name string
	Args []byte // as they came
	// Refusal says what the caller found wrong with the arguments; nil: nothing.
	Refusal error
	// Checked are the arguments, if the caller has checked them against the
	// tool's schema; Args are then canonical.
	Checked map[string]any
	// Holder is the worker's store instance; the call is refused with
	// [runstore.ErrLeaseLost] if the run's lease is not its own. Empty: the
	// caller does not hold a lease.
	Holder string
	// Spent is active time since the caller's last step; it is booked first.
	Spent time.Duration
	// After runs in the transaction that records the call's result. It sees
	// the run as it will be saved.
	After func(tx *runstore.Tx, run *runstore.Run, r Result) error
}

// Result is the answer to a call.
type Result struct {
	JSON     json.RawMessage // one JSON object
	Refused  bool            // it says what to send instead, or what failed
	Recorded bool            // answered from a fact the run has already read
	Retries  []Retry
	Booked   time.Duration        // active time the fetch took, already booked
	Stop     *runstore.StopReason // the call, or a budget, has stopped the run
	Hidden   bool                 // invisible characters were kept from the model
}

// Call makes one call of a tool in a run. Everything a model can get wrong is
// answered in the result; an error is ours, and nothing of the call was saved
// but, possibly, its charge.
func (s *Set) Call(ctx context.Context, req Request) (Result, error) {
	c := &call{Set: s, Request: req, tool: s.byName[req.Name]}
	c.prepare()
	if c.refusal == nil && c.tool.Read != nil {
		return c.read(ctx)
	}
	return c.write(ctx)
}

// call is one call under way.
type call struct {
	*Set
	Request
	tool    *Tool
	raw     json.RawMessage // canonical arguments; as sent, if they are no good
	args    map[string]any
	refusal error // the arguments, or the name, are no good
}

func (c *call) prepare() {
	if c.tool == nil {
		c.raw, c.refusal = asSent(c.Args), c.unknownTool(c.Name)
		return
	}
	switch c.refusal = c.Refusal; {
	case c.refusal == nil && c.Checked != nil:
		c.raw, c.args = c.Args, c.Checked
	case c.refusal == nil:
		c.raw, c.args, c.refusal = ParseArguments(c.Args, c.tool.Schema)
	}
	if c.refusal != nil {
		c.raw = asSent(c.Args)
	}
}

// open charges the call. stop is set, and the run is stopped, when there is
// no budget left for it.
func (c *call) open(tx *runstore.Tx, run *runstore.Run) (stop *runstore.StopReason, err error) {
	if err := c.renew(tx, run); err != nil {
		return nil, err
	}
	if run.Status != runstore.Running {
		return notRunning(run), nil
	}
	run.Spend(c.Spent)
	var over *runstore.BudgetError
	if err := run.Charge(runstore.Usage{ToolCalls: 1}); errors.As(err, &over) {
		stop := over.StopReason()
		return stop, StopRun(tx, run, stop)
	}
	return nil, nil
}

func notRunning(run *runstore.Run) *runstore.StopReason {
	why := &runstore.StopReason{Code: "not_running", Message: "the run is " + string(run.Status)}
	if run.Stop != nil {
		why.Message += " (" + run.Stop.Message + ")"
	}
	return why
}

// renew extends the caller's lease, if it has one.
func (c *call) renew(tx *runstore.Tx, run *runstore.Run) error {
	if c.Holder == "" {
		return nil
	}
	return run.Renew(c.Holder, tx.Now())
}

// StopRun stops the run for a reason and traces it.
func StopRun(tx *runstore.Tx, run *runstore.Run, why *runstore.StopReason) error {
	run.Status, run.Stop = runstore.Stopped, why
	return tx.Trace(run, runstore.TraceStopped, why)
}

func (c *call) write(ctx context.Context) (res Result, err error) {
	err = c.store.Step(ctx, c.Run, func(tx *runstore.Tx, run *runstore.Run) error {
		stop, err := c.open(tx, run)
		if err != nil {
			return err
		}
		if stop != nil {
			res = Stopped(stop)
			return c.after(tx, run, res)
		}
		out, progress, err := c.apply(tx, run)
		res, err = answer(out, err)
		if err != nil {
			return err
		}
		return c.close(tx, run, &res, progress, 0)
	})
	return res, err
}

// apply runs the writing tool. It must check before it writes: a refusal
// leaves nothing behind but its charge.
func (c *call) apply(tx *runstore.Tx, run *runstore.Run) (out any, progress bool, err error) {
	if c.refusal != nil {
		return nil, false, c.refusal
	}
	w := c.writing(tx, run)
	out, err = c.tool.Write(w)
	return out, err == nil && !w.Unchanged, err
}

func (c *call) writing(tx *runstore.Tx, run *runstore.Run) *Writing {
	return &Writing{Tx: tx, Run: run, Who: c.Who, Args: c.args, Raw: c.raw, Gate: c.gate, Domain: c.domain, MaxAge: c.maxAge}
}

// close records the call's result: guards, trace, and what the caller wants
// done in the same commit.
func (c *call) close(tx *runstore.Tx, run *runstore.Run, res *Result, progress bool, took time.Duration) error {
	for _, r := range res.Retries {
		if err := tx.Trace(run, runstore.TraceRetry, r); err != nil {
			return err
		}
	}
	entry := toolTrace{Tool: Limit(c.Name, 60), Args: bounded(c.raw), Result: bounded(res.JSON), Refused: res.Refused, Hidden: res.Hidden, MS: took.Milliseconds()}
	if err := tx.Trace(run, runstore.TraceToolCall, entry); err != nil {
		return err
	}
	if why := run.Guard.Observe(callHash(c.Name, c.raw), res.Refused, progress); why != nil && run.Status == runstore.Running {
		res.Stop = why
		if err := StopRun(tx, run, why); err != nil {
			return err
		}
	}
	return c.after(tx, run, *res)
}

func (c *call) after(tx *runstore.Tx, run *runstore.Run, res Result) error {
	if c.After == nil {
		return nil
	}
	return c.After(tx, run, res)
}

type toolTrace struct {
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Result  json.RawMessage `json:"result"`
	Refused bool            `json:"refused,omitempty"`
	Hidden  bool            `json:"hidden,omitempty"` // invisible characters were kept from the model
	MS      int64           `json:"ms"`
}
