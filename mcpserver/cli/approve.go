package cli

import (
	"context"

	"github.com/spf13/cobra"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
)

// approval is what one approve command decides.
type approval struct {
	all     bool   // everything the approver's roles may decide in the run
	run     string // "": as the actions say, or the run that was started last
	reject  bool
	comment string
	// showEnvelope prints an action's sealed bytes and decides nothing.
	showEnvelope bool
}

func (a *app) approveCommand() *cobra.Command {
	var o approval
	cmd := &cobra.Command{
		Use:   "approve ACTION... | --all",
		Short: "Approve or reject what a run asks for",
		Long: `Show what a run asks for, and approve or reject it as a person who was added with
"orderdesk approver add"; the passphrase is asked for. An action is named A1, or
RUN/A1 when several runs have an A1. Nothing is carried out yet: that happens on
"orderdesk resume".

Exit codes: 0 recorded, 2, 4 refused: wrong role, already decided, changed,
expired, wrong passphrase. What was refused is not recorded; of several actions
the others are.`,
		Example: "  orderdesk approve A1 --as \"Maria Weber\"\n" +
			"  orderdesk approve A2 --as \"Jon Berg\" --reject --comment \"Wait for the payment\"\n" +
			"  orderdesk approve --all --as \"Maria Weber\" --passphrase-file ~/.maria",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.all != (len(args) == 0) {
				return usageError("approve takes either actions or --all", cmd.UseLine())
			}
			return nil
		},
		RunE: a.with(func(ctx context.Context, s *Settings, args []string) error {
			return a.approve(ctx, s, args, o)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "decide everything your roles may decide in the run")
	flags.StringVar(&o.run, "run", "", "decide in `RUN`")
	flags.BoolVar(&o.reject, "reject", false, "reject instead of approve")
	flags.StringVar(&o.comment, "comment", "", "record `TEXT` with the decision; the assistant sees it")
	flags.BoolVar(&o.showEnvelope, "show-envelope", false, "print the action's sealed bytes, as hashed, and decide nothing")
	bind(cmd, flags, "as", "passphrase_file")
	return cmd
}

func (a *app) approve(ctx context.Context, s *Settings, args []string, o approval) error {
	var v *runView
	err := a.withStore(ctx, s, "approve", func(store *runstore.Store) error {
		d := &deciding{app: a, s: s, o: o, store: store, people: approvalgate.NewPeople(store)}
		d.gate = approvalgate.New(approvalgate.Options{Store: store, People: d.people, AllowSelf: s.SelfApproval})
		if o.showEnvelope {
			return d.show(ctx, args)
		}
		run, err := d.decide(ctx, args)
		if err != nil {
			return err
		}
		v, err = viewOf(ctx, store, run, itemWords().Field)
		return err
	})
	if err != nil || v == nil {
		return err
	}
	return a.out.result(v, func() {
		a.printRun(v, itemWords(), false)
		a.out.say("next: orderdesk resume %s", v.RunID)
	})
}
