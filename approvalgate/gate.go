// Package approvalgate answers one question: who may say yes? A change that
// an agent proposes is queued, sealed, decided by an authenticated person,
// and carried out exactly as sealed, once.
//
// # States
//
//	pending -> approved -> executing -> executed | failed | unknown
//	        -> rejected | expired | withdrawn      approved -> refused | expired
//
// One live action per target, whatever run asks: live is pending, approved,
// executing, unknown or executed. Another run that asks gets a link to it.
// After any other end the target may be proposed again, as a new action.
//
// # Envelope
//
// [Gate.Queue] builds one JSON object and writes it in the canonical form of
// RFC 8785 (keys sorted, no white space, one spelling per string and number):
//
//	schema         "orderdesk-envelope/1"
//	run, action    the action's immutable name, for example "A1"
//	tool           what is to be done
//	target         {kind, id, group}; group is left out when there is none
//	arguments      an object; its numbers are integers of at most 15 digits
//	required_role  exactly this role decides
//	evidence       name to text: the figures the role came from, as decimal
//	               strings, and when they were read (RFC 3339, UTC)
//	amount, rule   what counts towards the group; the rule's version
//	queued,expires RFC 3339, UTC
//
// Texts are taken as they are: no Unicode normalisation, so two spellings of
// one word are two envelopes. An envelope has at most 8 KiB.
//
// # Hash
//
// The hash of an envelope is "h1:" and the lower-case hex SHA-256 of its
// canonical bytes. To check one by hand:
//
//	orderdesk approve A1 --show-envelope | sha256sum
//
// [Open] takes bytes and hash and accepts exactly one byte form per envelope.
// The person decides on a hash; the receiver gets what the sealed bytes
// decode to and nothing else.
//
// # People
//
// Approvers are local: a name, roles, a passphrase (argon2id, salt per
// person) and, where it is known, their operating-system login. Names are
// unique after trimming and case folding. After the n-th wrong passphrase in a
// row the next is not looked at for 1, 2, 4, ... at most 60 seconds. The owner
// of a run does not decide its actions, see [Options].AllowSelf.
//
// # Carrying out
//
// [Gate.CarryOut] checks expiry, seal and role again and asks the domain to
// read the world again; saves "executing"; calls the [Receiver] under the key
// "<run>/<action>"; saves the outcome. What a crash or a timeout leaves open is
// looked up by that key before it is sent again, under the same key. Only
// CarryOut makes a [Permit].
//
// Every queue, decision (a refused one too), outcome and change to an approver is an
// entry of the audit log, written in the same transaction.
package approvalgate

import (
	"time"

	"orderdesk/runstore"
)

// DefaultLifetime is how long a queued action may be decided and carried out.
const DefaultLifetime = 72 * time.Hour

// Options say what a gate works with. Store and Receiver are required.
type Options struct {
	Store    *runstore.Store
	Receiver Receiver
	Recheck  Rechecker // nil: the world is not read again before carrying out
	People   *People   // nil: the approvers kept in Store

	// AllowSelf lets the owner of a run decide its actions, for trials by one
	// person. Every such decision says so.
	AllowSelf bool
	Lifetime  time.Duration // of an action from queueing; 0: DefaultLifetime
	// SameOwner reports whether who is the principal that owns a run. Nil: the
	// principal's name ("os:anna" is anna) is the person's Name or Login.
	SameOwner func(owner string, who Person) bool
	// CallTimeout ends one call of the receiver; 0: 30 seconds.
	CallTimeout time.Duration
}

// Gate is the one way from a proposal to an effect. Its methods may be called
// from many goroutines and, on one store, from several processes.
type Gate struct {
	opts  Options
	store *runstore.Store
}

// Ref names an action of any run.
type Ref = runstore.ActionRef

// New makes a gate.
func New(o Options) *Gate {
	if o.Lifetime == 0 {
		o.Lifetime = DefaultLifetime
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 30 * time.Second
	}
	if o.SameOwner == nil {
		o.SameOwner = sameOwner
	}
	if o.People == nil {
		o.People = NewPeople(o.Store)
	}
	return &Gate{opts: o, store: o.Store}
}
