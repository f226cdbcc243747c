package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"orderdesk/runstore"
)

func (a *app) runsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "runs",
		Short: "List the runs, the newest first",
		Args:  upTo(0),
		RunE:  a.with(a.runs),
	}
}

// runLine is one line of the list of runs.
type runLine struct {
	RunID       string               `json:"run_id"`
	Status      runstore.Status      `json:"status"`
	Interrupted bool                 `json:"interrupted"`
	StopReason  *runstore.StopReason `json:"stop_reason"`
	Owner       string               `json:"owner"`
	Scope       string               `json:"scope"`
	Data        string               `json:"data"`
	Created     time.Time            `json:"created"`
	Updated     time.Time            `json:"updated"`
	Counts      map[string]int       `json:"counts"`
	Pending     int                  `json:"pending_actions"`
}

func (a *app) runs(ctx context.Context, s *Settings, _ []string) error {
	var lines []runLine
	err := a.readStore(ctx, s, "runs", func(store *runstore.Store) (err error) {
		lines, err = runLines(ctx, store.View, store.Alive)
		return err
	})
	if err != nil {
		return err
	}
	return a.out.result(map[string]any{"runs": lines}, func() {
		if len(lines) == 0 {
			a.out.say("There is no run yet. Start one: orderdesk run")
			return
		}
		t := a.out.table("RUN", "STATUS", "STARTED (UTC)", "BY", "PLAN")
		for _, l := range lines {
			status := string(l.Status)
			if l.Interrupted {
				status = "interrupted, resumable"
			}
			t.row(l.RunID, status, l.Created.UTC().Format("2006-01-02 15:04:05Z"), l.Owner, countsText(l.Counts))
		}
		t.print()
	})
}

func runLines(ctx context.Context, view viewer, alive func(string) bool) ([]runLine, error) {
	var lines []runLine
	err := view(ctx, func(tx *runstore.Tx) error {
		lines = []runLine{} // it may run again
		return tx.Runs(func(r *runstore.Run) bool {
			v := headOf(tx, r, alive)
			lines = append(lines, runLine{r.ID, r.Status, v.Interrupted, r.Stop, r.Owner, r.Scope, r.Source.Data, r.Created, r.Updated, v.Counts, r.Pending})
			return true
		})
	})
	return lines, err
}
