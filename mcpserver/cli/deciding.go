package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
)

// deciding is one approve command at work.
type deciding struct {
	*app
	s      *Settings
	o      approval
	store  *runstore.Store
	people *approvalgate.People
	gate   *approvalgate.Gate
}

// decide shows the actions, authenticates the person, records the decisions on
// exactly what was shown, and returns the run's id. With --all the person comes
// first: what there is to decide depends on roles, and nobody learns from it
// who is an approver.
func (d *deciding) decide(ctx context.Context, args []string) (string, error) {
	name, err := d.person(ctx)
	if err != nil {
		return "", err
	}
	var who approvalgate.Person
	if d.o.all {
		if who, err = d.authenticate(ctx, name); err != nil {
			return "", err
		}
	}
	actions, err := d.actions(ctx, args, who.Roles)
	if err != nil {
		return "", err
	}
	d.showAll(actions)
	if d.o.all || len(actions) > 1 {
		if err := d.ask(ctx, len(actions)); err != nil {
			return "", err
		}
	}
	if !d.o.all {
		if who, err = d.authenticate(ctx, name); err != nil {
			return "", err
		}
	}
	return actions[0].Run, d.record(ctx, who, actions)
}

// ask wants a yes to n decisions.
func (d *deciding) ask(ctx context.Context, n int) error {
	verb := "Approve"
	if d.o.reject {
		verb = "Reject"
	}
	yes, err := d.confirm(ctx, fmt.Sprintf("%s %s?", verb, counted(n, "request")))
	if err == nil && !yes {
		err = &Error{Code: "not_confirmed", Exit: ExitRefused, Message: "not confirmed; nothing recorded"}
	}
	return err
}

func (d *deciding) authenticate(ctx context.Context, name string) (approvalgate.Person, error) {
	passphrase, err := d.passphrase(ctx, d.s, name, false)
	if err != nil {
		return approvalgate.Person{}, err
	}
	return d.people.Authenticate(ctx, name, passphrase)
}

// person is the name of whoever decides: that of --as, else of the approver
// with this login name.
func (d *deciding) person(ctx context.Context) (string, error) {
	if d.s.As != "" {
		return d.s.As, nil // whether there is such a person is not told before the passphrase
	}
	people, err := d.people.List(ctx)
	if err != nil {
		return "", err
	}
	login, err := d.proc.UserName()
	for _, p := range people {
		if err == nil && login != "" && p.Login == login {
			return p.Name, nil
		}
	}
	hint := "--as NAME; orderdesk approver list shows who may decide"
	if len(people) == 0 {
		hint = "orderdesk approver add NAME --role " + exampleRole
	}
	return "", usageError("it is not said who decides; nothing recorded", hint)
}

// actions finds the actions that are named, or with --all everything pending
// in the run for one of the roles.
func (d *deciding) actions(ctx context.Context, args, roles []string) ([]*runstore.Action, error) {
	if d.o.all {
		return d.allPending(ctx, roles)
	}
	var found []*runstore.Action
	for _, id := range args {
		ref, err := d.gate.Resolve(ctx, id, d.o.run)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(found, func(a *runstore.Action) bool { return a.Run == ref.Run && a.ID == ref.Action }) {
			continue // named twice
		}
		var a *runstore.Action
		err = d.store.View(ctx, func(tx *runstore.Tx) (err error) {
			a, err = tx.Action(runstore.ActionRef(ref))
			return err
		})
		if err != nil {
			return nil, err
		}
		found = append(found, a)
		if found[0].Run != ref.Run {
			return nil, usageError("the actions belong to several runs; nothing recorded", "decide one run at a time")
		}
	}
	return found, nil
}

func (d *deciding) allPending(ctx context.Context, roles []string) ([]*runstore.Action, error) {
	run, err := find(ctx, d.store, d.o.run)
	if err != nil {
		return nil, err
	}
	found, err := pendingFor(ctx, d.store.View, run, roles)
	if err == nil && len(found) == 0 {
		return nil, &Error{Code: "nothing_pending", Exit: ExitRefused,
			Message: fmt.Sprintf("nothing in run %s waits for %s; nothing recorded", run.ID, orNone(roles)), Hint: "orderdesk status " + run.ID}
	}
	return found, err
}

// pendingFor reads what waits in the run for one of the roles.
func pendingFor(ctx context.Context, view viewer, run *runstore.Run, roles []string) ([]*runstore.Action, error) {
	var found []*runstore.Action
	err := view(ctx, func(tx *runstore.Tx) error {
		found = nil // it may run again
		pending, err := tx.PendingActions(run, run.Pending)
		for _, a := range pending {
			if slices.Contains(roles, a.Role) {
				found = append(found, a)
			}
		}
		return err
	})
	return found, err
}

func orNone(roles []string) string {
	if len(roles) == 0 {
		return "a role of this person"
	}
	return strings.Join(roles, ", ")
}

// shownWhole is how many actions are shown with all they rest on.
const shownWhole = 5

// showAll shows what is about to be decided, and the sum of several.
func (d *deciding) showAll(actions []*runstore.Action) {
	words := itemWords()
	for i, act := range actions {
		e, err := approvalgate.Open(act.Envelope, act.Hash)
		if err != nil {
			d.out.note("Action %s: %s", act.ID, err)
			continue
		}
		if i < shownWhole {
			d.showOne(act, e)
			continue
		}
		if i < maxLines {
			d.out.note("  %s  %s %s  needs %s  %s %s", act.ID, words.Noun, e.Target.ID, act.Role, e.Amount, e.Evidence["currency"])
		}
	}
	if len(actions) > maxLines {
		d.out.note("  and %d more", len(actions)-maxLines)
	}
	if len(actions) > 1 {
		d.out.note("%d requests, %s in all.", len(actions), sumOf(actions))
	}
}

func (d *deciding) showOne(act *runstore.Action, e approvalgate.Envelope) {
	d.out.note("Action %s/%s: %s for %s %s, needs %s", act.Run, act.ID, e.Tool, itemWords().Noun, e.Target.ID, e.Role)
	for _, k := range slices.Sorted(maps.Keys(e.Evidence)) {
		d.out.note("  %-22s %s", strings.ReplaceAll(k, "_", " "), e.Evidence[k])
	}
	d.out.note("  the agent's words      %s", string(e.Arguments))
	d.out.note("  envelope               %s", act.Hash)
}

// sumOf adds the sealed amounts exactly, by currency.
func sumOf(actions []*runstore.Action) string {
	sums := map[string]*big.Rat{}
	for _, act := range actions {
		e, err := approvalgate.Open(act.Envelope, act.Hash)
		if err != nil {
			continue
		}
		amount, ok := new(big.Rat).SetString(e.Amount)
		if !ok {
			continue
		}
		c := e.Evidence["currency"]
		if sums[c] == nil {
			sums[c] = new(big.Rat)
		}
		sums[c].Add(sums[c], amount)
	}
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, strings.TrimSpace(sums[c].FloatString(2)+" "+c))
	}
	return strings.Join(parts, " and ")
}

// record decides on the hashes that were shown.
func (d *deciding) record(ctx context.Context, who approvalgate.Person, actions []*runstore.Action) error {
	decisions := make([]approvalgate.RefDecision, len(actions))
	for i, act := range actions {
		decisions[i] = approvalgate.RefDecision{Ref: approvalgate.Ref{Run: act.Run, Action: act.ID},
			Decision: approvalgate.Decision{Approve: !d.o.reject, Comment: d.o.comment, Hash: act.Hash}}
	}
	decided, err := d.gate.DecideMany(ctx, who, decisions)
	if err != nil {
		return err
	}
	var failed []error
	for _, x := range decided {
		if x.Err != nil {
			failed = append(failed, x.Err)
		}
	}
	switch {
	case len(failed) == 0:
		return nil
	case len(actions) == 1:
		return failed[0]
	}
	e := &Error{Code: "refused", Exit: ExitRefused,
		Message: fmt.Sprintf("%d of %d decisions were refused; the others are recorded", len(failed), len(actions))}
	for _, f := range failed[:min(len(failed), maxLines)] {
		e.Details = append(e.Details, f.Error())
	}
	return e
}

// show writes an action's sealed bytes, exactly, so that anyone can hash them.
func (d *deciding) show(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usageError("--show-envelope takes one action", "orderdesk approve A1 --show-envelope")
	}
	actions, err := d.actions(ctx, args, nil)
	if err != nil {
		return err
	}
	return errors.Join(d.out.result(actions[0].Envelope, func() { _, _ = d.out.stdout.Write(actions[0].Envelope) }))
}
