package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"orderdesk/runstore"
	"orderdesk/tools"
)

const (
	openFor   = 24 * time.Hour // a running run that was not touched for so long is not meant without its id
	namedRuns = 5              // runs that a refusal lists
	renewAt   = runstore.LeaseTime / 2
)

// open finds the run a call is for and makes sure that this process holds its
// lease. Without an id it is the caller's one open run; a caller without one
// gets a new one, but not for a call that is refused.
func (h *Hosts) open(ctx context.Context, who tools.Principal, id string, refusal error) (*runstore.Run, error) {
	run, err := h.look(ctx, who, id)
	switch {
	case err != nil:
		return nil, err
	case run == nil && refusal != nil:
		return nil, refusal
	case run == nil:
		return h.start(ctx, who)
	}
	if run.Status != runstore.Running {
		return run, nil // the set refuses the call and says why
	}
	return run, h.acquire(ctx, run)
}

// look finds the caller's run: by id, or its one open one; nil if it has none.
func (h *Hosts) look(ctx context.Context, who tools.Principal, id string) (run *runstore.Run, err error) {
	err = h.store.View(ctx, func(tx *runstore.Tx) error {
		if id != "" {
			run, err = own(tx, who, id)
			return err
		}
		open, err := openRuns(tx, who)
		switch {
		case err != nil || len(open) == 0:
			return err
		case len(open) > 1:
			return tools.Refusef("You have %d open runs: %s. Say which one with run_id.", len(open), names(open))
		}
		run = open[0]
		return nil
	})
	return run, err
}

// own reads a run of the caller's. Another's is not told from one that is not
// there.
func own(tx *runstore.Tx, who tools.Principal, id string) (*runstore.Run, error) {
	run, err := tx.Run(id)
	if errors.Is(err, runstore.ErrRunNotFound) || err == nil && run.Owner != who.Name {
		return nil, tools.Refusef("There is no run %s. Call run_list to see yours.", tools.Quote(tools.Limit(id, 60)))
	}
	return run, err
}

// openRuns are the caller's running runs that were touched lately, the newest
// first.
func openRuns(tx *runstore.Tx, who tools.Principal) ([]*runstore.Run, error) {
	var open []*runstore.Run
	err := tx.Runs(func(r *runstore.Run) bool {
		if r.Owner == who.Name && r.Status == runstore.Running && tx.Now().Sub(r.Updated) < openFor {
			open = append(open, r)
		}
		return true
	})
	return open, err
}

func names(runs []*runstore.Run) string {
	var out []string
	for _, r := range runs[:min(len(runs), namedRuns)] {
		out = append(out, r.ID)
	}
	if more := len(runs) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// start begins a run of the caller's and takes its lease.
func (h *Hosts) start(ctx context.Context, who tools.Principal) (*runstore.Run, error) {
	parts, err := h.partsOf(h.o.Source)
	if err != nil {
		return nil, err
	}
	var run *runstore.Run
	err = h.store.Update(ctx, func(tx *runstore.Tx) error {
		if run, err = parts.Set.Begin(tx, who, h.o.Scope, h.o.Source, h.o.Budget); err != nil {
			return err
		}
		if err := run.Acquire(h.store.Instance(), h.worker(who), tx.Now(), h.store.Alive); err != nil {
			return err
		}
		run.Session = tx.Now()
		return tx.PutRun(run)
	})
	return run, err
}

// acquire takes the run's lease unless this process has it for some time yet.
func (h *Hosts) acquire(ctx context.Context, run *runstore.Run) error {
	if run.Lease.Holder == h.store.Instance() && time.Until(run.Lease.Expires) > renewAt {
		return nil
	}
	return h.store.Step(ctx, run.ID, func(tx *runstore.Tx, r *runstore.Run) error {
		return h.take(tx, r)
	})
}

func (h *Hosts) take(tx *runstore.Tx, run *runstore.Run) error {
	mine := run.Lease.Holder == h.store.Instance()
	if mine {
		return run.Renew(h.store.Instance(), tx.Now())
	}
	if err := run.Acquire(h.store.Instance(), h.worker(tools.Principal{Name: run.Owner}), tx.Now(), h.store.Alive); err != nil {
		return err
	}
	run.Session = tx.Now()
	return nil
}

func (h *Hosts) worker(who tools.Principal) string { return h.o.Worker + " for " + who.Name }
