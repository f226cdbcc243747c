package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// runStart begins a run, or goes on with one.
func (h *Hosts) runStart(ctx context.Context, who tools.Principal, args map[string]any) (any, error) {
	id := runArg(args)
	if id == "" {
		run, err := h.start(ctx, who)
		if err != nil {
			return nil, err
		}
		return h.standing(ctx, run)
	}
	run, err := h.look(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if err := h.store.Step(ctx, run.ID, func(tx *runstore.Tx, r *runstore.Run) error { return h.take(tx, r) }); err != nil {
		return nil, err
	}
	if run.Status == runstore.Running {
		return h.standing(ctx, run)
	}
	return h.goOn(ctx, who, run)
}

// goOn carries out what people approved and makes the run running if there is
// something to do. The lease is held.
func (h *Hosts) goOn(ctx context.Context, who tools.Principal, run *runstore.Run) (any, error) {
	parts, err := h.partsOf(run.Source)
	if err != nil {
		return nil, h.releaseAfter(ctx, run.ID, err)
	}
	var done []string
	if _, err = parts.Gate.Expire(ctx, run.ID); err == nil {
		_, err = parts.Gate.CarryOut(ctx, run.ID, h.store.Instance(), func(a runstore.Action) {
			done = append(done, carried(a))
		})
	}
	if err != nil {
		return nil, h.releaseAfter(ctx, run.ID, err)
	}
	_, is, err := parts.Set.TakeUp(ctx, run.ID, who)
	if err != nil || is != tools.Ready {
		if err = h.releaseAfter(ctx, run.ID, err); err != nil {
			return nil, err
		}
	}
	s, err := h.standing(ctx, run)
	if err != nil {
		return nil, err
	}
	return struct {
		*standing
		CarriedOut []string `json:"carried_out,omitempty"`
	}{s, done[:min(len(done), maxListed)]}, nil
}

// carried says what became of an action.
func carried(a runstore.Action) string {
	if a.Outcome != nil && a.Outcome.Reference != "" {
		return fmt.Sprintf("%s %s (%s)", a.ID, a.Status, a.Outcome.Reference)
	}
	return fmt.Sprintf("%s %s", a.ID, a.Status)
}

// releaseAfter gives up the lease and returns err, or what went wrong with it.
func (h *Hosts) releaseAfter(ctx context.Context, id string, err error) error {
	rerr := h.store.Step(ctx, id, func(_ *runstore.Tx, r *runstore.Run) error {
		r.Release(h.store.Instance())
		return nil
	})
	if err == nil {
		err = rerr
	}
	return err
}

// runStatus shows a run: the one named, the open one, or the latest.
func (h *Hosts) runStatus(ctx context.Context, who tools.Principal, args map[string]any) (any, error) {
	run, err := h.look(ctx, who, runArg(args))
	if err != nil {
		return nil, err
	}
	if run == nil {
		mine, _, err := h.mine(ctx, who, 1)
		if err != nil {
			return nil, err
		}
		if len(mine) == 0 {
			return nil, tools.Refusef("You have no run yet. Call run_start.")
		}
		run = mine[0]
	}
	return h.standing(ctx, run)
}

// listedRun is one line of run_list.
type listedRun struct {
	Run     string               `json:"run_id"`
	Status  runstore.Status      `json:"status"`
	Created time.Time            `json:"created"`
	Updated time.Time            `json:"updated"`
	Listed  int                  `json:"listed"`
	Open    int                  `json:"todo"`
	Pending int                  `json:"requests_pending"`
	Stop    *runstore.StopReason `json:"stop_reason,omitempty"`
}

func (h *Hosts) runList(ctx context.Context, who tools.Principal, args map[string]any) (any, error) {
	page := 1
	if n, ok := args["page"].(json.Number); ok {
		if v, err := n.Int64(); err == nil {
			page = int(v)
		}
	}
	mine, total, err := h.mine(ctx, who, page)
	if err != nil {
		return nil, err
	}
	list := []listedRun{}
	for _, r := range mine {
		list = append(list, listedRun{r.ID, r.Status, r.Created, r.Updated, r.Plan.Total, r.Plan.Count(runstore.Todo), r.Pending, r.Stop})
	}
	first := (page - 1) * maxListed
	shown := fmt.Sprintf("%d to %d of %d", min(first+1, total), min(first+len(list), total), total)
	return map[string]any{"runs": list, "shown": shown, "page": page}, nil
}

// mine is one page of the caller's runs, the newest first, and how many there
// are.
func (h *Hosts) mine(ctx context.Context, who tools.Principal, page int) (runs []*runstore.Run, total int, err error) {
	err = h.store.View(ctx, func(tx *runstore.Tx) error {
		runs, total = nil, 0 // it may run again
		return tx.Runs(func(r *runstore.Run) bool {
			if r.Owner == who.Name {
				if total >= (page-1)*maxListed && len(runs) < maxListed {
					runs = append(runs, r)
				}
				total++
			}
			return true
		})
	})
	return runs, total, err
}

// runFinish ends the work on a run whose plan is settled.
func (h *Hosts) runFinish(ctx context.Context, who tools.Principal, args map[string]any) (any, error) {
	run, err := h.look(ctx, who, runArg(args))
	if err != nil {
		return nil, err
	}
	if run == nil {
		return nil, tools.Refusef("You have no open run. Call run_list to see yours, and name one with run_id.")
	}
	parts, err := h.partsOf(run.Source)
	if err != nil {
		return nil, err
	}
	answer, _ := args["answer"].(string)
	err = h.store.Step(ctx, run.ID, func(tx *runstore.Tx, r *runstore.Run) error {
		if r.Status != runstore.Running {
			return tools.Refusef("Run %s is %s already. Call run_status to see it.", r.ID, r.Status)
		}
		if err := h.take(tx, r); err != nil {
			return err
		}
		why, err := parts.Set.Unfinished(tx, r)
		if err != nil {
			return err
		}
		if why != nil {
			return notFinished(why)
		}
		r.Release(h.store.Instance())
		return parts.Set.Finish(tx, r, answer)
	})
	if err != nil {
		return nil, err
	}
	return h.standing(ctx, run)
}

// notFinished says what is left to do.
func notFinished(why *runstore.StopReason) error {
	if why.Code == runstore.StopNoPlan {
		return tools.Refusef("The run has no plan yet. Read the list, make the plan with plan_update, and settle every one of it.")
	}
	_, left, _ := strings.Cut(why.Message, ", but ")
	return tools.Refusef("The run is not finished: %s. Settle that with plan_update first.", left)
}
