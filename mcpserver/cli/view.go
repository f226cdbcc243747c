package cli

import (
	"context"

	"orderdesk/mcpserver/runview"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// runView is a run as status, run, resume and approve print it.
type runView struct{ runview.View }

// viewOf reads a run whole: every plan line and every action it waits on.
func viewOf(ctx context.Context, store *runstore.Store, id, field string) (*runView, error) {
	var v *runView
	err := store.Look(ctx, id, func(tx *runstore.Tx, run *runstore.Run) error {
		read, err := runview.Read(tx, run, store.Alive, field, 0)
		if err == nil {
			v = &runView{*read}
		}
		return err
	})
	return v, err
}

func headOf(tx *runstore.Tx, run *runstore.Run, alive func(string) bool) *runView {
	return &runView{*runview.Head(tx, run, alive)}
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
			t.row("  "+line.Item.ID, string(line.Item.Status), line.Item.Note)
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
		act := line.Action
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
	if o := runview.OutcomeText(act); o != "" {
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
