package approvalgate

import (
	"cmp"
	"context"
	"strings"

	"orderdesk/runstore"
)

// maxCandidates is how many actions an [*AmbiguousError] lists.
const maxCandidates = 10

// Resolve finds the action that a person names: "RUN/A1", or "A1" together
// with a run's full id, or "A1" alone if exactly one run has an A1. Errors:
// [*AmbiguousError], [*NotFoundError]. There is no newest, no prefix.
func (g *Gate) Resolve(ctx context.Context, id, run string) (Ref, error) {
	asked := id
	if before, after, ok := strings.Cut(id, "/"); ok {
		if run != "" && run != before {
			return Ref{}, &NotFoundError{What: "action", ID: asked}
		}
		run, id = before, after
	}
	if !actionForm.MatchString(id) {
		return Ref{}, &NotFoundError{What: "action", ID: asked}
	}
	var found Ref
	err := g.store.View(ctx, func(tx *runstore.Tx) (err error) {
		if run == "" {
			found, err = onlyOne(tx, id)
			return err
		}
		if _, err := tx.Run(run); err != nil {
			return notFound(err, run)
		}
		found = Ref{Run: run, Action: id}
		_, err = tx.Action(found)
		return notFound(err, asked)
	})
	return found, err
}

// onlyOne is the action of that id if only one run has one.
func onlyOne(tx *runstore.Tx, id string) (Ref, error) {
	var have []Ref
	var failed error
	err := tx.Runs(func(r *runstore.Run) bool {
		ref := Ref{Run: r.ID, Action: id}
		if _, err := tx.Action(ref); err == nil {
			have = append(have, ref)
		} else if failed = ignoreNotFound(err); failed != nil {
			return false
		}
		return len(have) <= maxCandidates
	})
	switch {
	case err != nil || failed != nil:
		return Ref{}, cmp.Or(err, failed)
	case len(have) == 0:
		return Ref{}, &NotFoundError{What: "action", ID: id}
	case len(have) == 1:
		return have[0], nil
	}
	more := len(have) > maxCandidates
	return Ref{}, &AmbiguousError{ID: id, Candidates: have[:min(len(have), maxCandidates)], More: more}
}
