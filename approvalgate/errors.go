package approvalgate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"orderdesk/runstore"
)

// ErrNotSent is wrapped by a [Receiver]'s error that promises that nothing
// left this machine: the action stays approved.
var ErrNotSent = errors.New("not sent")

// RefuseError is a definite no from a [Rechecker] or a [Receiver]. Text is one
// sentence that is safe to show.
type RefuseError struct{ Text string }

// Error is the text.
func (e *RefuseError) Error() string { return e.Text }

// refusal is an answer to a person: nothing was recorded but the attempt.
type refusal interface {
	error
	Hint() string // what to type next, "" if there is nothing to type
}

func name(ref Ref) string { return oneLine(ref.Run, 40) + "/" + oneLine(ref.Action, 20) }

func look(ref Ref) string { return "orderdesk status " + oneLine(ref.Run, 40) }

func utcText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// RoleError says that the person does not hold the required role.
type RoleError struct {
	Ref     Ref
	Need    string
	Who     string
	Have    []string
	Holders []string // some who do hold it
}

// Error names the role needed and those the person has.
func (e *RoleError) Error() string {
	have := "no role"
	if len(e.Have) > 0 {
		have = strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("action %s needs %s; %s has %s; nothing recorded", e.Ref.Action, e.Need, e.Who, have)
}

// Hint is the command for somebody who holds the role.
func (e *RoleError) Hint() string {
	if len(e.Holders) == 0 {
		return "orderdesk approver add NAME --role " + e.Need
	}
	return "orderdesk approve " + name(e.Ref) + " --as " + shellWord(e.Holders[0])
}

// ChangedError says that what the person saw is not what is stored.
type ChangedError struct {
	Ref  Ref
	Want string // the hash that is stored
	Got  string // the hash the person saw, "" if none was given
	What string // not "": the stored action does not match its own seal
}

// Error says which of the two it is.
func (e *ChangedError) Error() string {
	switch {
	case e.What != "":
		return fmt.Sprintf("action %s was changed after it was queued (%s); nothing recorded", e.Ref.Action, e.What)
	case e.Got == "":
		return fmt.Sprintf("a decision on action %s needs the hash of what you saw; nothing recorded", e.Ref.Action)
	}
	return fmt.Sprintf("action %s is not what you saw; nothing recorded", e.Ref.Action)
}

// Hint shows the action as it is now.
func (e *ChangedError) Hint() string { return "orderdesk approve " + name(e.Ref) + " --show-envelope" }

// DecidedError says that the action is not pending any more.
type DecidedError struct {
	Ref      Ref
	Status   runstore.ActionStatus
	Approved bool
	By       string // "" if no person decided
	At       time.Time
	Already  bool // the same person gave the same verdict before
}

// Error names who decided what and when, and the state of the action.
func (e *DecidedError) Error() string {
	if e.By == "" {
		return fmt.Sprintf("action %s is %s; nothing recorded", e.Ref.Action, e.Status)
	}
	verdict := "rejected"
	if e.Approved {
		verdict = "approved"
	}
	text := fmt.Sprintf("action %s was already %s by %s at %s", e.Ref.Action, verdict, e.By, utcText(e.At))
	if string(e.Status) != verdict {
		text += " and is " + string(e.Status)
	}
	return text + "; nothing recorded"
}

// Hint shows the run.
func (e *DecidedError) Hint() string { return look(e.Ref) }

// ExpiredError says that the time for a decision is over.
type ExpiredError struct {
	Ref Ref
	At  time.Time
}

// Error says since when.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("action %s expired at %s; nothing recorded", e.Ref.Action, utcText(e.At))
}

// Hint has the run propose it anew.
func (e *ExpiredError) Hint() string { return "orderdesk resume " + oneLine(e.Ref.Run, 40) }

// SelfApprovalError says that the owner of a run cannot decide its actions.
type SelfApprovalError struct {
	Ref   Ref
	Who   string
	Owner string
}

// Error names both.
func (e *SelfApprovalError) Error() string {
	return fmt.Sprintf("%s started the run of action %s (as %s) and cannot decide it; nothing recorded",
		e.Who, e.Ref.Action, oneLine(e.Owner, 80))
}

// Hint asks for another approver.
func (e *SelfApprovalError) Hint() string {
	return "orderdesk approve " + name(e.Ref) + " --as NAME"
}

// AmbiguousError says that a short action id fits several actions.
type AmbiguousError struct {
	ID         string
	Candidates []Ref
	More       bool // there are further ones
}

// Error lists the candidates.
func (e *AmbiguousError) Error() string {
	var names []string
	for _, c := range e.Candidates {
		names = append(names, name(c))
	}
	if e.More {
		names = append(names, "and more")
	}
	return fmt.Sprintf("%s is the name of several actions: %s; nothing recorded", e.ID, strings.Join(names, ", "))
}

// Hint names one of them in full.
func (e *AmbiguousError) Hint() string {
	return "orderdesk approve " + name(e.Candidates[0])
}
