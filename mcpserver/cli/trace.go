package cli

import (
	"context"

	"github.com/spf13/cobra"

	"orderdesk/runstore"
)

func (a *app) traceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "trace [RUN]",
		Short: "Show what happened in a run, step by step",
		Long: `Show every recorded event of a run in its sequence: model and tool calls with
their results and times, retries, new contexts, approvals, stops; without RUN of
the one that was started last. Times are UTC.`,
		Example: "  orderdesk trace\n  orderdesk trace --json | jq '.trace[] | select(.kind == \"retry\")'",
		Args:    upTo(1),
		RunE:    a.with(a.trace),
	}
}

func (a *app) trace(ctx context.Context, s *Settings, args []string) error {
	return a.readStore(ctx, s, "trace", func(store *runstore.Store) error {
		run, err := find(ctx, store, argOr(args, 0))
		if err != nil {
			return err
		}
		return a.out.list("trace", func(yield func(any, styled) error) error {
			return eachEntry(ctx, store.View, run.ID, func(e runstore.TraceEntry) error {
				return yield(e, format("%6d  %s  %-11s %s", e.Seq, e.At.UTC().Format("15:04:05.000Z"), e.Kind, cut(visible(string(e.Data)), traceWidth)))
			})
		})
	})
}

// tracePage is how many events are read at a time.
const tracePage = 500

// eachEntry hands a run's events on, page by page: a reader that takes its time
// must not hold the store up, and what view repeats must not come twice.
func eachEntry(ctx context.Context, view viewer, run string, fn func(runstore.TraceEntry) error) error {
	for after := 0; ; {
		var page []runstore.TraceEntry
		err := view(ctx, func(tx *runstore.Tx) error {
			page = page[:0] // it may run again
			return tx.TraceEntries(run, after, func(e runstore.TraceEntry) bool {
				page = append(page, e)
				return len(page) < tracePage
			})
		})
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := fn(e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(page) < tracePage {
			return nil
		}
	}
}

// traceWidth bounds a line of the trace for people; --json has all of it.
const traceWidth = 160
