package cli

import (
	"context"

	"github.com/spf13/cobra"

	"orderdesk/runstore"
)

func (a *app) statusCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show a run: plan, approvals, budget",
		Long: `Show where a run stands: its plan with counts by status, what waits for whom, and
what it has used of its budget; without RUN the one that was started last. It
works beside a command that drives the run.`,
		Example: "  orderdesk status\n  orderdesk status --json | jq .status",
		Args:    upTo(1),
		RunE: a.with(func(ctx context.Context, s *Settings, args []string) error {
			return a.status(ctx, s, args, all)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "print every line of a long plan")
	return cmd
}

func (a *app) status(ctx context.Context, s *Settings, args []string, all bool) error {
	var v *runView
	err := a.readStore(ctx, s, "status", func(store *runstore.Store) error {
		run, err := find(ctx, store, argOr(args, 0))
		if err != nil {
			return err
		}
		v, err = viewOf(ctx, store, run.ID, itemWords().Field)
		return err
	})
	if err != nil {
		return err
	}
	return a.out.result(v, func() {
		a.printRun(v, itemWords(), all)
		if v.Worker == "" {
			a.printNext(v)
		}
	})
}
