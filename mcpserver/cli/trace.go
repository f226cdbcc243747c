package cli

import (
	"context"
	"errors"

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
	return a.withStore(ctx, s, "trace", func(store *runstore.Store) error {
		run, err := find(ctx, store, argOr(args, 0))
		if err != nil {
			return err
		}
		return a.out.list("trace", func(yield func(any, styled) error) error {
			return store.View(ctx, func(tx *runstore.Tx) error {
				var inner error
				err := tx.TraceEntries(run.ID, 0, func(e runstore.TraceEntry) bool {
					inner = yield(e, format("%6d  %s  %-11s %s", e.Seq, e.At.UTC().Format("15:04:05.000Z"), e.Kind, cut(visible(string(e.Data)), traceWidth)))
					return inner == nil
				})
				return errors.Join(err, inner)
			})
		})
	})
}

// traceWidth bounds a line of the trace for people; --json has all of it.
const traceWidth = 160
