package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/tools"
)

func (a *app) resumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Carry out decisions and go on with a run",
		Long: `Carry out what was approved, then go on with the run where it stopped; without
RUN with the one that was started last. Data, model and limits are those of the
run; a limit given here, as a flag, replaces its own, and that is recorded. It
also holds for another process that works on the run at the moment.

Exit codes: 0 done or waiting for approvals, 2, 3 stopped, 4 another process
works on the run, 5, 130.`,
		Example: "  orderdesk resume\n  orderdesk resume 20261006-004349-d40a1b2c --max-model-calls 25",
		Args:    upTo(1),
		RunE:    a.with(a.resume),
	}
	bind(cmd, cmd.Flags(), workFlags()...)
	return cmd
}

func (a *app) resume(ctx context.Context, s *Settings, args []string) error {
	return a.work(ctx, s, "resume", func(store *runstore.Store, who tools.Principal, p *progress) (*runView, error) {
		run, err := find(ctx, store, argOr(args, 0))
		if err != nil {
			return nil, err
		}
		src := run.Source
		if s.From("simulate") == FromFlag {
			src.Simulate = s.Source.Simulate
		}
		d, err := wire(store, s, src)
		if err != nil {
			return nil, err
		}
		defer d.close()
		_, outcome, report, err := a.driverFor(d, s, who, "resume", p).Resume(ctx, run.ID, changesFrom(s))
		if err != nil {
			return nil, err
		}
		v, err := viewOf(context.WithoutCancel(ctx), store, run.ID, itemWords().Field)
		if err != nil {
			return nil, err
		}
		v.Outcome = resumeText(outcome, v)
		a.tellResume(v, report)
		return v, nil
	})
}

func resumeText(o driver.Outcome, v *runView) string {
	switch o {
	case driver.AlreadyDone:
		return "already done; there is nothing to resume"
	case driver.StillWaiting:
		return "still waiting for decisions; nothing was decided since"
	case driver.StillExhausted:
		return "out of budget; raise a limit to go on"
	case driver.DrivenByOther:
		return "being worked on by " + cmp.Or(v.Worker, "another process") + "; the new limits are saved and hold for it"
	}
	return ""
}

func (a *app) tellResume(v *runView, report approvalgate.CarryReport) {
	if v.Outcome != "" {
		a.out.note("orderdesk: run %s is %s", v.RunID, v.Outcome)
	}
	for _, p := range report.Postponed {
		a.out.note("warning: %s was not carried out yet: %s", p.Action, p.Reason)
	}
}

// changesFrom are the limits given with a resume: each replaces the run's own.
func changesFrom(s *Settings) driver.Changes {
	c := driver.Changes{}
	for _, l := range []struct {
		name  string
		limit Limit
		to    **int
	}{
		{"max_model_calls", s.Limits.ModelCalls, &c.ModelCalls}, {"max_tool_calls", s.Limits.ToolCalls, &c.ToolCalls},
		{"max_chars", s.Limits.Chars, &c.Chars}, {"max_seconds", s.Limits.Seconds, &c.Seconds}, {"compact_at", s.Limits.CompactAt, &c.CompactAt},
	} {
		if l.limit.Set && s.From(l.name) == FromFlag {
			*l.to = &l.limit.Max
		}
	}
	if s.From("simulate") == FromFlag {
		c.Simulate = s.Source.Simulate
	}
	return c
}
