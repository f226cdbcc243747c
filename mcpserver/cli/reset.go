package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"orderdesk/runstore"
)

func (a *app) resetCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "reset --yes",
		Short: "Delete the store with all runs, decisions and notes",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := upTo(0)(cmd, args); err != nil {
				return err
			}
			if !yes {
				return usageError("reset deletes all runs, decisions, approvers and notes for good; nothing was deleted",
					"orderdesk reset --yes")
			}
			return nil
		},
		RunE: a.with(a.reset),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "yes, delete everything")
	return cmd
}

func (a *app) reset(_ context.Context, s *Settings, _ []string) error {
	if err := runstore.Remove(s.DataDir, func() error { return os.RemoveAll(registerDir(s)) }); err != nil {
		return storeError(err, s.DataDir)
	}
	return a.out.result(map[string]any{"reset": true, "data_dir": s.DataDir}, func() {
		a.out.say("Deleted all runs, decisions, approvers, notes and created requests in %s.", s.DataDir)
	})
}
