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
	c, err := a.examine(ctx, s)
	if err != nil {
		return err
	}
	c.Sound = len(c.Problems) == 0
	if err = a.out.result(c, func() { a.printCheckup(c) }); err != nil {
		return err
	}
	if !c.Sound {
		return ended(ExitStore)
	}
	return nil
}

func (a *app) printCheckup(c *checkup) {
	switch {
	case c.StoreID == "" && len(c.Problems) == 0:
		a.out.say("Data directory: %s", c.DataDir)
		a.out.say("There is no store yet; orderdesk run makes one.")
		return
	case c.StoreID == "":
		a.out.say("Data directory: %s", c.DataDir)
	default:
		a.out.say("Data directory: %s (store %s)", c.DataDir, c.StoreID)
		a.out.say("%s, %s, %s checked.", counted(c.Records, "record"), counted(int(c.Bytes), "byte"), counted(c.Runs, "run"))
	}
	if c.HeldBy != "" {
		a.out.say("In use by %s; checked through it.", c.HeldBy)
	}
	if c.Sound {
		a.out.say("%s", a.out.style(green, "Everything is sound."))
		return
	}
	a.out.say("%s", a.out.style(red, "Damaged:"))
	for _, p := range c.Problems {
		a.out.say("  %s: %s", p.Where, p.What)
	}
	a.out.say("Nothing was changed. The way out is a backup: restore %s from it.", c.DataDir)
}

// examine reads every record of the store that is there; it makes none. The
// database may end the process over a damaged block, so a process of its own
// does the reading, where there is a program to start.
func (a *app) examine(ctx context.Context, s *Settings) (*checkup, error) {
	if runstore.Vacant(s.DataDir) {
		return &checkup{DataDir: s.DataDir, Problems: []doctorsFinding{}}, nil
	}
	if a.proc.Getenv(childMark) == "" {
		if c, started, err := a.examineApart(ctx, s.DataDir); started {
			return c, err
		}
	}
	return a.checkStore(ctx, s)
}

// checkStore reads every record in this process.
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
		return checkRuns(ctx, store.View, c)
	})
}

// maxProblems bounds the list.
const maxProblems = 100

// checkRuns holds every run's counters against its records.
func checkRuns(ctx context.Context, view viewer, c *checkup) error {
	found := len(c.Problems)
	return view(ctx, func(tx *runstore.Tx) error {
		var inner error
		c.Runs, c.Problems = 0, c.Problems[:found] // it may run again
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
