package approvalgate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"orderdesk/runstore"
)

// Decision is what a person says about one action.
type Decision struct {
	Approve bool
	Comment string // one line of at most 300 visible characters
	Hash    string // of the envelope the person saw; required
}

// RefDecision is a decision on one of several actions.
type RefDecision struct {
	Ref      Ref
	Decision Decision
}

// Decided is what became of one of several decisions.
type Decided struct {
	Ref    Ref
	Action runstore.Action // as it is stored now; zero if there is none
	Err    error           // why the decision was refused; nil: it is recorded
}

const maxComment = 300

// Decide records who's verdict, or nothing but the attempt. It checks, in this
// sequence: the action exists ([*NotFoundError]); the hash is that of the stored
// envelope, whose bytes have it ([*ChangedError]); it is pending
// ([*DecidedError], with Already for a second click, which is no event) and in
// time ([*ExpiredError]); who does not own the run ([*SelfApprovalError]) and
// holds exactly the required role ([*RoleError]); the comment fits
// ([*InputError]). The action as it is stored is returned in every case.
func (g *Gate) Decide(ctx context.Context, who Person, ref Ref, d Decision) (runstore.Action, error) {
	done, err := g.DecideMany(ctx, who, []RefDecision{{ref, d}})
	if err != nil {
		return runstore.Action{}, err
	}
	return done[0].Action, done[0].Err
}

// DecideMany is [Gate.Decide] for several actions; one commit per 100 of them. An
// error ends it: the decisions returned with it are recorded, the others not.
func (g *Gate) DecideMany(ctx context.Context, who Person, all []RefDecision) ([]Decided, error) {
	if who.Name == "" || who.Auth == "" {
		return nil, ErrNotAuthenticated
	}
	var done []Decided
	for chunk := range slices.Chunk(all, settleBatch) {
		part := make([]Decided, len(chunk))
		err := g.store.Update(ctx, func(tx *runstore.Tx) error {
			now, err := present(tx, who)
			if err != nil {
				return err
			}
			for i, rd := range chunk {
				if part[i], err = g.decideOne(tx, now, rd.Ref, rd.Decision); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return done, err
		}
		done = append(done, part...)
	}
	return done, g.addHolders(ctx, who, done)
}

// present is who as the directory has them now: a role that was taken away
// since the login is gone, and with the person all of them.
func present(tx *runstore.Tx, who Person) (Person, error) {
	if who.Auth != AuthPassphrase {
		return who, nil
	}
	var rec personRecord
	err := ignoreNotFound(tx.Get(personKey(who.Name), &rec))
	who.Roles, who.Login = rec.Roles, cmp.Or(rec.Login, who.Login)
	return who, err
}

// decideOne returns an error only when the store fails.
func (g *Gate) decideOne(tx *runstore.Tx, who Person, ref Ref, d Decision) (Decided, error) {
	run, err := tx.Run(ref.Run)
	if err != nil {
		return g.refuse(tx, who, Decided{Ref: ref, Err: notFound(err, ref.Run)})
	}
	a, err := readAction(tx, ref)
	if err != nil {
		return g.refuse(tx, who, Decided{Ref: ref, Err: notFound(err, ref.Run+"/"+ref.Action)})
	}
	d.Comment = strings.TrimSpace(d.Comment)
	self, err := g.check(run, a, who, d, tx.Now())
	if err != nil {
		return g.refuse(tx, who, Decided{Ref: ref, Action: *a, Err: err})
	}
	a.Approval = &runstore.Approval{
		Approved: d.Approve, By: who.Name, Role: a.Role, Auth: who.Auth, At: tx.Now(),
		Comment: d.Comment, Hash: d.Hash, Self: self,
	}
	a.Status = runstore.Rejected
	if d.Approve {
		a.Status = runstore.Approved
	}
	if err := g.save(tx, run, a, runstore.Pending); err != nil {
		return Decided{}, err
	}
	e := eventOf(a)
	e.By, e.Auth, e.Self, e.Comment = who.Name, who.Auth, self, d.Comment
	if err := record(tx, run, runstore.TraceApproval, string(a.Status), who.Name, e); err != nil {
		return Decided{}, err
	}
	return Decided{Ref: ref, Action: *a}, tx.PutRun(run)
}

// check is the rule for a decision; self says that who owns the run.
func (g *Gate) check(run *runstore.Run, a *runstore.Action, who Person, d Decision, now time.Time) (self bool, err error) {
	ref := Ref{Run: a.Run, Action: a.ID}
	if d.Hash == "" || d.Hash != a.Hash {
		return false, &ChangedError{Ref: ref, Want: a.Hash, Got: d.Hash}
	}
	env, err := open(a, d.Hash)
	if err != nil {
		return false, &ChangedError{Ref: ref, Want: a.Hash, Got: d.Hash, What: err.Error()}
	}
	if a.Status != runstore.Pending {
		no := decided(a)
		no.Already = fold(no.By) == fold(who.Name) && no.Approved == d.Approve
		return false, no
	}
	if !now.Before(env.Expires) {
		return false, &ExpiredError{Ref: ref, At: env.Expires}
	}
	if self = g.opts.SameOwner(run.Owner, who); self && !g.opts.AllowSelf {
		return self, &SelfApprovalError{Ref: ref, Who: who.Name, Owner: run.Owner}
	}
	if !slices.Contains(who.Roles, env.Role) {
		return self, &RoleError{Ref: ref, Need: env.Role, Who: who.Name, Have: who.Roles}
	}
	if s := lineProblem(d.Comment, maxComment); s != "" {
		return self, &InputError{"comment", s, "one line of at most 300 characters"}
	}
	return self, nil
}

// refuse records the attempt. A second click is none.
func (g *Gate) refuse(tx *runstore.Tx, who Person, d Decided) (Decided, error) {
	var no refusal
	if !errors.As(d.Err, &no) {
		return Decided{}, d.Err
	}
	if old := (*DecidedError)(nil); errors.As(d.Err, &old) && old.Already {
		return d, nil
	}
	e := runstore.AuditEntry{What: "decision_refused", By: who.Name, Run: d.Action.Run, Action: d.Action.ID}
	return d, tx.Audit(e, map[string]string{"asked": name(d.Ref), "auth": who.Auth, "reason": no.Error()})
}

// notFound turns the store's answers for absence into ours.
func notFound(err error, id string) error {
	switch {
	case errors.Is(err, runstore.ErrRunNotFound):
		return &NotFoundError{What: "run", ID: id}
	case errors.Is(err, runstore.ErrNotFound):
		return &NotFoundError{What: "action", ID: id}
	}
	return err
}

// addHolders tells those who lack a role who holds it.
func (g *Gate) addHolders(ctx context.Context, who Person, done []Decided) error {
	var lack []*RoleError
	for _, d := range done {
		if no := (*RoleError)(nil); errors.As(d.Err, &no) {
			lack = append(lack, no)
		}
	}
	if len(lack) == 0 {
		return nil
	}
	people, err := g.opts.People.List(ctx)
	for _, no := range lack {
		for _, p := range people {
			if len(no.Holders) < 3 && p.Name != who.Name && slices.Contains(p.Roles, no.Need) {
				no.Holders = append(no.Holders, p.Name)
			}
		}
	}
	return err
}

// sameOwner compares the name in a principal, "os:anna", with a person's Name
// and Login.
func sameOwner(owner string, who Person) bool {
	_, login, ok := strings.Cut(owner, ":")
	if !ok {
		login = owner
	}
	login = fold(login)
	return login != "" && (login == fold(who.Name) || login == fold(who.Login))
}
