package approvalgate

import (
	"context"
	"errors"
	"strings"
	"time"

	"orderdesk/runstore"
)

// maxRetry is the longest delay after wrong passphrases.
const maxRetry = time.Minute

// attempts counts the wrong passphrases in a row. It is kept for names nobody
// has as well, so that the answers do not tell them apart, under
// attempt/<first 16 bits of the name's hash>: wrong names cannot fill the store.
type attempts struct {
	Wrong int       `json:"wrong"`
	Until time.Time `json:"until,omitzero"` // before this time no attempt is looked at
}

func attemptKey(name string) runstore.Key { return runstore.NewKey("attempt", nameHash(name)[:4]) }

// fail counts one more and returns how long the next one has to wait.
func (a *attempts) fail(now time.Time) time.Duration {
	a.Wrong++
	wait := min(maxRetry, time.Second<<min(a.Wrong-1, 10))
	a.Until = now.Add(wait)
	return wait
}

// Authenticate returns the approver of that name if the passphrase is right,
// else a [*WrongPassphraseError]. A name that nobody has takes the same time and
// gets the same answer. During the delay that follows a wrong attempt nothing is
// looked at; the delay outlives the process and does not shrink when the
// clock is set back.
func (p *People) Authenticate(ctx context.Context, name, passphrase string) (Person, error) {
	name = strings.TrimSpace(name)
	var rec personRecord
	known := false
	err := p.store.View(ctx, func(tx *runstore.Tx) error {
		if _, err := mayTry(tx, name); err != nil {
			return err
		}
		err := tx.Get(personKey(name), &rec)
		known = err == nil
		return ignoreNotFound(err)
	})
	if err != nil {
		return Person{}, err
	}
	right := false
	if !known {
		newSecret(passphrase, p.cost) // takes the same time
	} else if right, err = rec.Secret.matches(passphrase); err != nil {
		return Person{}, err
	}
	if err := p.count(ctx, name, right); err != nil {
		return Person{}, err
	}
	return Person{Name: rec.Name, Roles: rec.Roles, Auth: AuthPassphrase, Login: rec.Login}, nil
}

// mayTry is a [*WrongPassphraseError] during a delay.
func mayTry(tx *runstore.Tx, name string) (attempts, error) {
	var a attempts
	if err := ignoreNotFound(tx.Get(attemptKey(name), &a)); err != nil {
		return a, err
	}
	if left := a.Until.Sub(tx.Now()); left > 0 {
		return a, &WrongPassphraseError{Name: name, RetryIn: left, Waiting: true}
	}
	return a, nil
}

// count records how an attempt ended. A right one does not count while a
// delay runs that began after it was let through: guesses made side by side
// get no further than guesses made one by one.
func (p *People) count(ctx context.Context, name string, right bool) error {
	var wrong error
	err := p.store.Update(ctx, func(tx *runstore.Tx) error {
		wrong = nil
		a, err := mayTry(tx, name)
		switch {
		case err != nil:
			return err
		case !right:
			wrong = &WrongPassphraseError{Name: name, RetryIn: a.fail(tx.Now())}
			return tx.Put(attemptKey(name), a)
		case a.Wrong > 0:
			return tx.Delete(attemptKey(name))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return wrong
}

func ignoreNotFound(err error) error {
	if errors.Is(err, runstore.ErrNotFound) {
		return nil
	}
	return err
}
