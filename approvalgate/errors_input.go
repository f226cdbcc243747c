package approvalgate

import (
	"errors"
	"fmt"
	"time"
)

// NotFoundError says that an id or a name names nothing in this store.
type NotFoundError struct {
	What string // "action", "run", "approver"
	ID   string
}

// Error names it, escaped.
func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no %s %s", e.What, shown(e.ID)) }

// Hint lists what there is.
func (e *NotFoundError) Hint() string {
	if e.What == "approver" {
		return "orderdesk approver list"
	}
	return "orderdesk runs"
}

// WrongPassphraseError says that name and passphrase do not belong together;
// it is the same for a name that is not known.
type WrongPassphraseError struct {
	Name    string
	RetryIn time.Duration // until the next attempt is looked at
	Waiting bool          // this attempt was not looked at
}

// Error says how long to wait.
func (e *WrongPassphraseError) Error() string {
	if e.Waiting {
		return fmt.Sprintf("too many wrong passphrases for %s; this one was not looked at", shown(e.Name))
	}
	return fmt.Sprintf("name or passphrase is wrong for %s", shown(e.Name))
}

// Hint says when to try again.
func (e *WrongPassphraseError) Hint() string {
	return fmt.Sprintf("try again in %d s", int((e.RetryIn+time.Second-1)/time.Second))
}

// ErrNotAuthenticated says that a decision came without an authenticated person.
var ErrNotAuthenticated = errors.New("a decision needs an authenticated person; nothing recorded")

// InputError says what is wrong with a value that was given.
type InputError struct {
	Field string // "name", "role", "passphrase", "comment", ...
	Text  string // what is wrong with it; never holds a passphrase
	Next  string // what to type next
}

// Error is field and problem.
func (e *InputError) Error() string { return e.Field + " " + e.Text + "; nothing recorded" }

// Hint says what form is expected.
func (e *InputError) Hint() string { return e.Next }

// GroupFullError says that a group has so many undecided or fresh requests that
// no further one can be weighed against them.
type GroupFullError struct {
	Group string
	Max   int
}

// Error names group and limit.
func (e *GroupFullError) Error() string {
	return fmt.Sprintf("group %s has %d open requests; some must be decided before another is queued", e.Group, e.Max)
}

// Hint names the command that decides.
func (e *GroupFullError) Hint() string { return "orderdesk approve --all" }
