package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// withStore opens the store for one command and closes it after.
func (a *app) withStore(ctx context.Context, s *Settings, command string, use func(*runstore.Store) error) error {
	store, err := runstore.Open(ctx, runstore.Options{Dir: s.DataDir, Command: "orderdesk " + command})
	if err != nil {
		return storeError(err, s.DataDir)
	}
	err = use(store)
	return storeError(errors.Join(err, store.Close()), s.DataDir)
}

// readStore is withStore for a command that only reads: where there is no store
// it makes none, and reads an empty one.
func (a *app) readStore(ctx context.Context, s *Settings, command string, use func(*runstore.Store) error) error {
	if !runstore.Vacant(s.DataDir) {
		return a.withStore(ctx, s, command, use)
	}
	store, err := runstore.Open(ctx, runstore.Options{InMemory: true})
	if err != nil {
		return err
	}
	return storeError(errors.Join(use(store), store.Close()), s.DataDir)
}

// viewer is [runstore.Store.View]: it may run the function more than once.
type viewer func(context.Context, func(*runstore.Tx) error) error

// me is the principal of whoever typed the command.
func (a *app) me() (tools.Principal, error) {
	name, err := a.proc.UserName()
	if err != nil || name == "" {
		return tools.Principal{}, configError("the operating system does not say who you are", "")
	}
	return tools.Principal{Name: "os:" + name}, nil
}

// find reads the run that id names; "" is the run that was started last.
func find(ctx context.Context, store *runstore.Store, id string) (*runstore.Run, error) {
	var run *runstore.Run
	err := store.View(ctx, func(tx *runstore.Tx) (err error) {
		if id == "" {
			run, err = tx.LatestRun()
		} else {
			run, err = tx.Run(id)
		}
		return err
	})
	switch {
	case errors.Is(err, runstore.ErrRunNotFound) && id == "":
		return nil, &Error{Code: "no_run", Exit: ExitUsage, Message: "there is no run yet", Hint: "orderdesk run"}
	case errors.Is(err, runstore.ErrRunNotFound):
		return nil, &Error{Code: "no_run", Exit: ExitUsage, Message: fmt.Sprintf("there is no run %q", cut(visible(id), 60)), Hint: "orderdesk runs lists them"}
	}
	return run, err
}

func argOr(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

// desk is the parts that work on runs of one source.
type desk struct {
	store  *runstore.Store
	people *approvalgate.People
	gate   *approvalgate.Gate
	set    *tools.Set
	model  driver.Model
	scopes []string // that the source has items in
	close  func() error
}

// driverFor makes the driver of a command, showing progress on p.
func (a *app) driverFor(d *desk, s *Settings, who tools.Principal, command string, p *progress) *driver.Driver {
	o := driver.Options{
		Store: d.store, Set: d.set, Gate: d.gate, Model: d.model, Who: who,
		Worker: fmt.Sprintf("orderdesk %s (process %d)", command, os.Getpid()),
	}
	if p != nil {
		o.Observe = a.observer(p)
	}
	if s.CrashAfter.Set && s.CrashAfter.Max > 0 {
		o.CrashAfter = s.CrashAfter.Max
		o.Crash = func() {
			a.out.note("Simulated crash (--crash-after %d). Every step is saved; orderdesk resume goes on.", s.CrashAfter.Max)
			a.proc.Control.Exit(ExitStopped)
		}
	}
	return driver.New(o)
}

// observer translates the driver's events for the progress display.
func (a *app) observer(p *progress) func(driver.Event, *runstore.Run) {
	return func(e driver.Event, run *runstore.Run) {
		p.show(countsOf(run))
		p.show(budgetOf(run))
		switch e.Kind {
		case driver.CallMade:
			p.show(callStarted{N: e.Call, Tool: e.Tool})
		case driver.CallAnswered:
			p.show(finished(e))
		case driver.Retried:
			p.show(retrying{Service: e.Retry.Service, Attempt: e.Retry.Attempt, Wait: milliseconds(e.Retry.WaitMS), Reason: e.Retry.Error})
		case driver.Compacted:
			p.show(compacted{e.Before, e.After})
		case driver.CarriedOut:
			p.show(remark(format("       request %s", e.Text)))
		}
	}
}

func finished(e driver.Event) callFinished {
	f := callFinished{N: e.Call, Tool: e.Tool, Args: e.Args, Outcome: callOK, Took: e.Took}
	switch {
	case e.Refused:
		f.Outcome, f.Detail = callRefused, errorText(e.Result)
	case e.Recorded:
		f.Outcome = callKnown
	}
	return f
}

func countsOf(run *runstore.Run) planCounts {
	c := planCounts{Total: run.Plan.Total}
	for _, s := range runstore.ItemStatuses {
		c.Counts = append(c.Counts, statusCount{string(s), run.Plan.Count(s)})
	}
	return c
}

func budgetOf(run *runstore.Run) budgetLine {
	u, b := run.Used, run.Budget
	return budgetLine{
		{"model calls", u.ModelCalls, b.ModelCalls.Max}, {"tool calls", u.ToolCalls, b.ToolCalls.Max},
		{"characters", u.Chars, b.Chars.Max}, {"seconds", int(u.Millis / 1000), b.Seconds.Max},
	}
}
