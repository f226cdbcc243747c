package cli

import (
	"context"
	"errors"
	"time"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// runView is a run as status, run, resume and approve print it. Its JSON is a
// contract: members are added, none is renamed. The plan's and the actions'
// items are named by the domain's own word for an item.
type runView struct {
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
	Plan        []planLine           `json:"-"` // see [runView.stream]
	Actions     []actionLine         `json:"-"`
	Used        usedView             `json:"used"`
	Budget      budgetView           `json:"budget"`
	Counts      map[string]int       `json:"counts"`
	FinalAnswer string               `json:"final_answer"`
	Outcome     string               `json:"outcome,omitempty"` // of a resume that had nothing to drive
}

type usedView struct {
	ModelCalls int     `json:"model_calls"`
	ToolCalls  int     `json:"tool_calls"`
	Retries    int     `json:"retries"`
	Segments   int     `json:"segments"`
	CharsSent  int     `json:"chars_sent"`
	Seconds    float64 `json:"seconds"`
}

type budgetView struct {
	ModelCalls int `json:"max_model_calls"`
	ToolCalls  int `json:"max_tool_calls"`
	CharsSent  int `json:"max_chars_sent"`
	Seconds    int `json:"max_seconds"`
	CompactAt  int `json:"compact_at"`
}

// viewOf reads a run whole: every plan line and every action it waits on.
func viewOf(ctx context.Context, store *runstore.Store, id, field string) (*runView, error) {
	var v *runView
	err := store.Look(ctx, id, func(tx *runstore.Tx, run *runstore.Run) (err error) {
		v = headOf(tx, run, store.Alive)
		if err := v.addPlan(tx, run, field); err != nil {
			return err
		}
		return v.addActions(tx, run, field)
	})
	return v, err
}

func headOf(tx *runstore.Tx, run *runstore.Run, alive func(string) bool) *runView {
	v := &runView{RunID: run.ID, Status: run.Status, StopReason: run.Stop, Owner: run.Owner, Scope: run.Scope, Source: run.Source,
		Created: run.Created, Updated: run.Updated, FinalAnswer: run.Answer, Interrupted: run.Interrupted(tx.Now(), alive),
		Counts: map[string]int{"total": run.Plan.Total}}
	if run.Lease.Held(tx.Now(), alive) {
		v.Worker = run.Lease.Worker
	}
	u, b := run.Used, run.Budget
	v.Used = usedView{u.ModelCalls, u.ToolCalls, u.Retries, u.Segments, u.Chars, float64(u.Millis) / 1000}
	v.Budget = budgetView{b.ModelCalls.Max, b.ToolCalls.Max, b.Chars.Max, b.Seconds.Max, b.CompactAt.Max}
	for _, s := range runstore.ItemStatuses {
		v.Counts[string(s)] = run.Plan.Count(s)
	}
	return v
}

func (v *runView) addPlan(tx *runstore.Tx, run *runstore.Run, field string) error {
	if !run.Plan.Made {
		return nil
	}
	return tx.Items(run, 0, func(it runstore.Item) bool {
		v.Plan = append(v.Plan, planLine{field, it})
		return true
	})
}

// addActions lists the run's own actions, then those of other runs that its
// items wait on.
func (v *runView) addActions(tx *runstore.Tx, run *runstore.Run, field string) error {
	err := tx.Actions(run.ID, 1, func(a *runstore.Action) bool {
		v.addAction(a, field)
		return true
	})
	if err != nil {
		return err
	}
	for _, line := range v.Plan {
		ref, ok, err := tx.ItemAction(run, line.item.ID)
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
func (v *runView) addAction(a *runstore.Action, field string) {
	a.Envelope = nil
	v.Actions = append(v.Actions, actionLine{field, a})
}

// maxLines bounds the plan lines and actions that are printed for people.
const maxLines = 40

// printRun prints a run for people.
func (a *app) printRun(v *runView, words tools.ItemWords, all bool) {
	a.out.say("Run %s: %s%s", v.RunID, a.statusText(v), reasonText(v))
	if len(v.Plan) > 0 {
		a.out.say("Plan: %s", countsText(v.Counts))
		t := a.out.table()
		for i, line := range v.Plan {
			if i == maxLines && !all {
				break
			}
			t.row("  "+line.item.ID, string(line.item.Status), line.item.Note)
		}
		t.print()
		a.more(v.RunID, len(v.Plan), all)
	}
	a.printActions(v, words, all)
	u, b := v.Used, v.Budget
	a.out.say("Used: %s/%s model calls, %s/%s tool calls, %s/%s characters, %.1f/%d seconds, %d retries, %d segments.",
		grouped(u.ModelCalls), grouped(b.ModelCalls), grouped(u.ToolCalls), grouped(b.ToolCalls), grouped(u.CharsSent), grouped(b.CharsSent),
		u.Seconds, b.Seconds, u.Retries, u.Segments)
}

func (a *app) more(run string, n int, all bool) {
	if n > maxLines && !all {
		a.out.say("  and %s more: orderdesk status %s --all shows them", grouped(n-maxLines), run)
	}
}

func (a *app) printActions(v *runView, words tools.ItemWords, all bool) {
	if len(v.Actions) == 0 {
		return
	}
	a.out.say("Requests:")
	t := a.out.table()
	for i, line := range v.Actions {
		if i == maxLines && !all {
			break
		}
		act := line.action
		id := act.ID
		if act.Run != v.RunID {
			id = act.Run + "/" + id
		}
		t.row("  "+id, words.Noun+" "+act.Target.ID, act.Role, string(act.Status), decidedText(act))
	}
	t.print()
	a.more(v.RunID, len(v.Actions), all)
}

func decidedText(act *runstore.Action) string {
	text := ""
	if p := act.Approval; p != nil {
		text = "by " + p.By
		if p.Comment != "" {
			text += " (" + p.Comment + ")"
		}
	}
	if o := outcomeText(act); o != "" {
		text += " -> " + o
	}
	return text
}

func (a *app) statusText(v *runView) styled {
	colors := map[runstore.Status]string{runstore.Done: green, runstore.Waiting: yellow, runstore.Stopped: red}
	if v.Interrupted {
		return a.out.style(red, "interrupted, resumable")
	}
	return a.out.style(colors[v.Status], string(v.Status))
}

func reasonText(v *runView) string {
	switch {
	case v.StopReason != nil:
		return " (" + v.StopReason.Message + ")"
	case v.Worker != "":
		return " (driven by " + v.Worker + ")"
	}
	return ""
}

func countsText(counts map[string]int) string {
	parts := planCounts{Total: counts["total"]}
	for _, s := range runstore.ItemStatuses {
		parts.Counts = append(parts.Counts, statusCount{string(s), counts[string(s)]})
	}
	if text := parts.parts(); len(text) > 0 {
		return text[0]
	}
	return "empty"
}

// exitOf is the exit code that a worked run's state asks for.
func exitOf(v *runView) error {
	switch {
	case v.Status == runstore.Done || v.Status == runstore.Waiting || v.Worker != "":
		return nil // or somebody else goes on with it
	case v.StopReason != nil && v.StopReason.Code == runstore.StopInterrupted:
		return ended(ExitInterrupted)
	}
	return ended(ExitStopped)
}
