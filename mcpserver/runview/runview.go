// Package runview is what is shown of a run outside: by the commands with
// --json and to hosts as a resource. Its JSON is a contract: members are added,
// none is renamed.
package runview

import (
	"errors"
	"time"

	"orderdesk/runstore"
)

// View is a run as it is shown. The plan's and the actions' items are named by
// the domain's own word for an item.
type View struct {
	RunID       string               `json:"run_id"`
	Status      runstore.Status      `json:"status"`
	Interrupted bool                 `json:"interrupted"` // running, yet nobody works on it
	StopReason  *runstore.StopReason `json:"stop_reason"`
	Owner       string               `json:"owner"`
	Scope       string               `json:"scope"`
	Source      runstore.Source      `json:"source"`
	Created     time.Time            `json:"created"`
	Updated     time.Time            `json:"updated"`
	Worker      string               `json:"worker,omitempty"`
	Plan        []PlanLine           `json:"-"` // the caller marshals them: there may be many
	Actions     []ActionLine         `json:"-"`
	Used        Used                 `json:"used"`
	Budget      Budget               `json:"budget"`
	Counts      map[string]int       `json:"counts"`
	FinalAnswer string               `json:"final_answer"`
	Outcome     string               `json:"outcome,omitempty"` // of a resume that had nothing to drive
}

// Used is what a run has used.
type Used struct {
	ModelCalls int     `json:"model_calls"`
	ToolCalls  int     `json:"tool_calls"`
	Retries    int     `json:"retries"`
	Segments   int     `json:"segments"`
	CharsSent  int     `json:"chars_sent"`
	Seconds    float64 `json:"seconds"`
}

// Budget are the limits of a run.
type Budget struct {
	ModelCalls int `json:"max_model_calls"`
	ToolCalls  int `json:"max_tool_calls"`
	CharsSent  int `json:"max_chars_sent"`
	Seconds    int `json:"max_seconds"`
	CompactAt  int `json:"compact_at"`
}

// Read reads a run, with at most limit lines of its plan and as many actions
// that it waits on; 0: all of them. field is the domain's name for an item's id.
func Read(tx *runstore.Tx, run *runstore.Run, alive func(string) bool, field string, limit int) (*View, error) {
	v := Head(tx, run, alive)
	if err := v.addPlan(tx, run, field, limit); err != nil {
		return nil, err
	}
	return v, v.addActions(tx, run, field, limit)
}

// Head reads what is in a run's header.
func Head(tx *runstore.Tx, run *runstore.Run, alive func(string) bool) *View {
	v := &View{RunID: run.ID, Status: run.Status, StopReason: run.Stop, Owner: run.Owner, Scope: run.Scope, Source: run.Source,
		Created: run.Created, Updated: run.Updated, FinalAnswer: run.Answer, Interrupted: run.Interrupted(tx.Now(), alive),
		Counts: map[string]int{"total": run.Plan.Total}}
	if run.Lease.Held(tx.Now(), alive) {
		v.Worker = run.Lease.Worker
	}
	u, b := run.Used, run.Budget
	v.Used = Used{u.ModelCalls, u.ToolCalls, u.Retries, u.Segments, u.Chars, float64(u.Millis) / 1000}
	v.Budget = Budget{b.ModelCalls.Max, b.ToolCalls.Max, b.Chars.Max, b.Seconds.Max, b.CompactAt.Max}
	for _, s := range runstore.ItemStatuses {
		v.Counts[string(s)] = run.Plan.Count(s)
	}
	return v
}

func (v *View) addPlan(tx *runstore.Tx, run *runstore.Run, field string, limit int) error {
	if !run.Plan.Made {
		return nil
	}
	return tx.Items(run, 0, func(it runstore.Item) bool {
		v.Plan = append(v.Plan, PlanLine{field, it})
		return limit == 0 || len(v.Plan) < limit
	})
}

// addActions lists the run's own actions, then those of other runs that its
// items wait on.
func (v *View) addActions(tx *runstore.Tx, run *runstore.Run, field string, limit int) error {
	err := tx.Actions(run.ID, 1, func(a *runstore.Action) bool {
		v.addAction(a, field)
		return limit == 0 || len(v.Actions) < limit
	})
	if err != nil {
		return err
	}
	for _, line := range v.Plan {
		if limit > 0 && len(v.Actions) >= limit {
			return nil
		}
		ref, ok, err := tx.ItemAction(run, line.Item.ID)
		if err != nil {
			return err
		}
		if !ok || ref.Run == run.ID {
			continue
		}
		a, err := tx.Action(ref)
		if errors.Is(err, runstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		v.addAction(a, field)
	}
	return nil
}

// addAction keeps what is shown of a; the sealed bytes are not.
func (v *View) addAction(a *runstore.Action, field string) {
	a.Envelope = nil
	v.Actions = append(v.Actions, ActionLine{field, a})
}
