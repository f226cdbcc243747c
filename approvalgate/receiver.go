package approvalgate

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"orderdesk/runstore"
)

// Permit allows one effect. Only [Gate.CarryOut] makes one that is valid; a
// receiver refuses any other.
type Permit struct {
	env      Envelope
	approval runstore.Approval
	valid    bool
}

// Valid reports whether the permit was made by a gate.
func (p *Permit) Valid() bool { return p != nil && p.valid }

// Key is the idempotency key, "<run>/<action>". One key never has two bodies.
func (p *Permit) Key() string { return p.env.Key() }

// Envelope is what the sealed bytes hold: all that may be carried out.
func (p *Permit) Envelope() Envelope { return p.env }

// Approval is the decision.
func (p *Permit) Approval() runstore.Approval { return p.approval }

// Receipt is the receiver's name for what it created.
type Receipt struct{ Reference string }

// Receiver is where approved actions take effect.
type Receiver interface {
	// Lookup finds what was created under key; false if nothing was.
	Lookup(ctx context.Context, key string) (Receipt, bool, error)
	// Create carries p out. A second call with the same key creates nothing
	// and returns the first one's receipt. A [*RefuseError] is a definite no,
	// [ErrNotSent] promises that nothing left; any other error leaves open
	// whether the effect took place.
	Create(ctx context.Context, p *Permit) (Receipt, error)
}

// Recheck is what the world says now.
type Recheck struct {
	Role     string            // the role the rule asks for now
	Evidence map[string]string // the figures now
	Blocked  bool              // the target still needs the action
	Reason   string            // why it is not blocked, "" if there is no more to say
}

// Rechecker reads the world again before an action is carried out. A
// [*RefuseError] says that the action must not be carried out; with any other
// error the action stays approved and is tried with the next CarryOut.
type Rechecker func(ctx context.Context, e Envelope) (Recheck, error)

// difference says why what was approved does not hold any more, or "".
func (r Recheck) difference(e Envelope) string {
	switch {
	case !r.Blocked:
		return oneLine(strings.TrimSuffix(fmt.Sprintf("no longer blocked: %s", r.Reason), ": "), maxDetail)
	case r.Role == e.Role:
		return ""
	}
	text := fmt.Sprintf("needs %s now; approved was %s", r.Role, e.Role)
	var moved []string
	for name, now := range r.Evidence {
		if was, ok := e.Evidence[name]; ok && was != now {
			moved = append(moved, fmt.Sprintf("%s was %s, is %s", name, was, now))
		}
	}
	sort.Strings(moved)
	if len(moved) > 0 {
		text += " (" + strings.Join(moved, "; ") + ")"
	}
	return oneLine(text, maxDetail)
}

const maxDetail = 300

// answer is what sending came to.
type answer struct {
	status    runstore.ActionStatus
	reference string
	detail    string
	err       error // for the log, never for a model
}

func created(r Receipt) answer {
	return answer{status: runstore.Executed, reference: oneLine(r.Reference, 80)}
}

// lookup asks the receiver what it has under key.
func (g *Gate) lookup(ctx context.Context, key string) (answer, bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opts.CallTimeout)
	defer cancel()
	r, found, err := g.opts.Receiver.Lookup(ctx, key)
	if err != nil || !found {
		return answer{}, false, err
	}
	return created(r), true, nil
}

func (g *Gate) create(ctx context.Context, p *Permit) (Receipt, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opts.CallTimeout)
	defer cancel()
	r, err := g.opts.Receiver.Create(ctx, p)
	if err == nil && r.Reference == "" {
		err = errors.New("the receiver answered without a reference")
	}
	return r, err
}

// send calls the receiver. doubt says that p may have been sent before. After
// an answer that settles nothing it looks up, and sends once more, under the
// same key, only if the receiver says that it has nothing.
func (g *Gate) send(ctx context.Context, p *Permit, doubt bool) answer {
	var last error // of a first attempt that may still be under way
	for range 2 {
		r, err := g.create(ctx, p)
		if err == nil {
			return created(r)
		}
		if errors.Is(err, ErrNotSent) && !doubt {
			return answer{status: runstore.Approved, detail: "the receiver could not be reached", err: err}
		}
		var no *RefuseError
		refused := errors.As(err, &no)
		if refused && !doubt {
			return answer{status: runstore.Failed, detail: oneLine(no.Text, maxDetail), err: err}
		}
		before := last
		doubt, last = true, err
		had, found, lerr := g.lookup(ctx, p.Key())
		switch {
		case found:
			return had
		case lerr != nil:
			return answer{status: runstore.Unknown, detail: "sent, but the receiver does not say whether it was done", err: errors.Join(err, lerr)}
		case refused && before != nil: // maybe because the first is still being worked on
			return answer{status: runstore.Unknown, detail: "refused while the first attempt may be under way: " + oneLine(no.Text, maxDetail), err: err}
		case refused:
			return answer{status: runstore.Failed, detail: oneLine(no.Text, maxDetail), err: err}
		}
	}
	return answer{status: runstore.Unknown, detail: "sent twice under one key without an answer; the receiver has nothing under it yet", err: last}
}
