package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// workFlags are the settings of the commands that drive a run.
func workFlags() []string {
	return []string{"model", "simulate", "crash_after",
		"max_model_calls", "max_tool_calls", "max_chars", "max_seconds", "compact_at"}
}

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "run",
		Short:   "Start a run and work through the list",
		Long:    helpRun + "\n\nExit codes: 0 done or waiting for approvals, 2, 3 stopped, 5, 130.",
		Example: "  orderdesk run\n  orderdesk run --org 1010 --data export/ --max-seconds 600\n  orderdesk run --simulate flaky --json",
		Args:    upTo(0),
		RunE:    a.with(a.run),
	}
	bind(cmd, cmd.Flags(), append(workFlags(), "org", "data")...)
	return cmd
}

func (a *app) run(ctx context.Context, s *Settings, _ []string) error {
	src, err := sourceOf(s)
	if err != nil {
		return err
	}
	return a.work(ctx, s, "run", func(store *runstore.Store, who tools.Principal, p *progress) (*runView, error) {
		d, err := wire(store, s, src)
		if err != nil {
			return nil, err
		}
		defer d.close()
		if text := scopeWarning(d.scopes, s.Org); text != "" {
			a.out.note("%s", text)
		}
		run, err := d.set.Start(ctx, who, s.Org, src, budgetFrom(s.Limits))
		if err != nil {
			return nil, err
		}
		p.show(remark(format("Run %s started.", run.ID)))
		if _, err := a.driverFor(d, s, who, "run", p).Start(ctx, run.ID); err != nil {
			return nil, err
		}
		return viewOf(context.WithoutCancel(ctx), store, run.ID, itemWords().Field)
	})
}

// work opens the store, lets do work on a run and prints the run.
func (a *app) work(ctx context.Context, s *Settings, command string, do func(*runstore.Store, tools.Principal, *progress) (*runView, error)) error {
	who, err := a.me()
	if err != nil {
		return err
	}
	var v *runView
	err = a.withStore(ctx, s, command, func(store *runstore.Store) (err error) {
		p := a.progress()
		defer p.close()
		v, err = do(store, who, p)
		return err
	})
	if err != nil {
		return err
	}
	if err := a.out.result(v, func() { a.printWorked(v) }); err != nil {
		return err
	}
	return exitOf(v)
}

// printWorked prints a run that was worked on, its answer first, and what to
// type next.
func (a *app) printWorked(v *runView) {
	if v.FinalAnswer != "" {
		for line := range strings.Lines(v.FinalAnswer) {
			a.out.say("%s", strings.TrimSuffix(line, "\n"))
		}
		a.out.say("")
	}
	a.printRun(v, itemWords(), false)
	a.printNext(v)
}

func (a *app) printNext(v *runView) {
	for _, hint := range nextSteps(v) {
		a.out.say("next: %s", hint)
	}
}

// nextSteps are the commands that may follow, a few of them.
func nextSteps(v *runView) []string {
	var next []string
	pending, approved := map[string]int{}, false // pending by run: a request may be another's
	for _, line := range v.Actions {
		act := line.Action
		approved = approved || act.Status == runstore.Approved
		if act.Status != runstore.Pending {
			continue
		}
		if pending[act.Run]++; len(next) < 3 {
			next = append(next, fmt.Sprintf("orderdesk approve %s/%s --as NAME   (needs %s)", act.Run, act.ID, act.Role))
		}
	}
	for _, run := range slices.Sorted(maps.Keys(pending)) {
		if n := pending[run]; n > 1 {
			next = append(next, fmt.Sprintf("orderdesk approve --all --run %s --as NAME   (%d wait)", run, n))
		}
	}
	switch {
	case v.Status == runstore.Stopped && v.StopReason != nil && strings.HasPrefix(v.StopReason.Code, "budget_"):
		next = append(next, "orderdesk resume "+v.RunID+" "+raiseFlag(v)+"   (a person raises a limit, on purpose)")
	case v.Status == runstore.Stopped || v.Status == runstore.Running, v.Status == runstore.Waiting && (approved || len(pending) == 0):
		next = append(next, "orderdesk resume "+v.RunID)
	}
	return next
}

// raiseFlag is the flag that raises the limit a run stopped at.
func raiseFlag(v *runView) string {
	switch v.StopReason.Code {
	case runstore.StopModelCalls:
		return fmt.Sprintf("--max-model-calls %d", max(25, 2*v.Budget.ModelCalls))
	case runstore.StopToolCalls:
		return fmt.Sprintf("--max-tool-calls %d", max(30, 2*v.Budget.ToolCalls))
	case runstore.StopChars:
		return fmt.Sprintf("--max-chars %d", max(150000, 2*v.Budget.CharsSent))
	case runstore.StopSeconds:
		return fmt.Sprintf("--max-seconds %d", max(300, 2*v.Budget.Seconds))
	}
	return fmt.Sprintf("--compact-at %d", max(runstore.DefaultCompactAt, 2*v.Budget.CompactAt))
}

// sourceOf makes the run's source from the settings: a path is remembered
// whole, so that a resume finds it from anywhere.
func sourceOf(s *Settings) (runstore.Source, error) {
	src := runstore.Source{Data: s.Source.Data, Model: s.Source.Model, Simulate: s.Source.Simulate}
	if src.Data == "sample" {
		return src, nil
	}
	abs, err := filepath.Abs(src.Data)
	if err != nil {
		return src, configError("the data path cannot be used: "+err.Error(), "--data PATH")
	}
	src.Data = abs
	return src, nil
}

func budgetFrom(l Limits) runstore.Budget {
	limit := func(l Limit) runstore.Limit { return runstore.Limit{Max: l.Max, Set: l.Set} }
	return runstore.Budget{ModelCalls: limit(l.ModelCalls), ToolCalls: limit(l.ToolCalls), Chars: limit(l.Chars),
		Seconds: limit(l.Seconds), CompactAt: limit(l.CompactAt)}
}
