package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"orderdesk/runstore"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the settings and every record of the store",
		Long: `Check the settings, the data directory and the checksum of every record. Nothing
is changed.

Exit codes: 0 sound, 2 settings, 5 damaged: what is wrong is listed.`,
		Args: upTo(0),
		RunE: a.with(a.doctor),
	}
}

// checkup is what doctor found.
type checkup struct {
	Sound    bool             `json:"sound"`
	DataDir  string           `json:"data_dir"`
	StoreID  string           `json:"store_id,omitempty"`
	HeldBy   string           `json:"held_by,omitempty"` // another process; the store is checked through it
	Records  int              `json:"records"`
	Bytes    int64            `json:"bytes"`
	Runs     int              `json:"runs"`
	Problems []doctorsFinding `json:"problems"`
}

type doctorsFinding struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

func (a *app) doctor(ctx context.Context, s *Settings, _ []string) error {
	c, err := a.checkStore(ctx, s)
	if err != nil {
		return err
	}
	c.Sound = len(c.Problems) == 0
	err = a.out.result(c, func() {
		a.out.say("Data directory: %s (store %s)", c.DataDir, c.StoreID)
		if c.HeldBy != "" {
			a.out.say("In use by %s; checked through it.", c.HeldBy)
		}
		a.out.say("%s records, %s bytes, %s runs checked.", grouped(c.Records), grouped(int(c.Bytes)), grouped(c.Runs))
		for _, p := range c.Problems {
			a.out.say("  %s: %s", p.Where, p.What)
		}
		if c.Sound {
			a.out.say("%s", a.out.style(green, "Everything is sound."))
		}
	})
	if err != nil {
		return err
	}
	if !c.Sound {
		return ended(ExitStore)
	}
	return nil
}

// checkStore reads every record. The library may crash the process on a
// damaged block, so the real check runs in a process of its own where there is
// one to start.
func (a *app) checkStore(ctx context.Context, s *Settings) (*checkup, error) {
	c := &checkup{DataDir: s.DataDir, Problems: []doctorsFinding{}}
	return c, a.withStore(ctx, s, "doctor", func(store *runstore.Store) error {
		c.StoreID = store.ID()
		if pid, command, self := store.Owner(); !self {
			c.HeldBy = fmt.Sprintf("%s (process %d)", command, pid)
		}
		report, err := store.Check(ctx, func(p runstore.Problem) {
			if len(c.Problems) < maxProblems {
				c.Problems = append(c.Problems, doctorsFinding{p.Key, p.What})
			}
		})
		c.Records, c.Bytes = report.Records, report.Bytes
		if err != nil {
			return err
		}
		return a.checkRuns(ctx, store, c)
	})
}

// maxProblems bounds the list.
const maxProblems = 100

// checkRuns holds every run's counters against its records.
func (a *app) checkRuns(ctx context.Context, store *runstore.Store, c *checkup) error {
	return store.View(ctx, func(tx *runstore.Tx) error {
		var inner error
		err := tx.Runs(func(r *runstore.Run) bool {
			c.Runs++
			var wrong []string
			wrong, inner = tx.Consistent(r)
			for _, w := range wrong {
				if len(c.Problems) < maxProblems {
					c.Problems = append(c.Problems, doctorsFinding{"run " + r.ID, w})
				}
			}
			return inner == nil
		})
		return errors.Join(err, inner)
	})
}
