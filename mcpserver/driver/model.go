package driver

import (
	"context"
	"time"

	"orderdesk/tools"
)

// Model takes one turn. Its errors are classified by tools/upstream; a
// transient one is tried again.
type Model interface {
	Next(ctx context.Context, c Conversation) (Reply, error)
}

// Conversation is the whole context of one turn.
type Conversation struct {
	System   string
	Briefing string
	History  []tools.Exchange
}

// Reply is one turn of a model.
type Reply struct {
	Text    string
	Calls   []tools.Call
	Cut     bool   // the output was cut off; nothing of it is carried out
	Refusal string // the model declined; the category
}

// Rules is the domain's rule-based decider as a [Model].
func Rules(d *tools.Domain) Model { return rules{d.Decide} }

type rules struct{ decide tools.Decider }

func (r rules) Next(_ context.Context, c Conversation) (Reply, error) {
	d := r.decide(c.Briefing, c.History)
	return Reply{Text: d.Answer, Calls: d.Calls}, nil
}

// Event is what an observer is told while a run is driven.
type Event struct {
	Kind     EventKind
	Call     int // number of the model call
	Tool     string
	Args     string
	Result   string
	Refused  bool
	Recorded bool   // answered from what was read before
	Text     string // answer; what became of an action that was carried out
	Before   int    // characters, for a compaction
	After    int
	Retry    tools.Retry
	Took     time.Duration
}

// EventKind says what happened.
type EventKind int

// The kinds of an [Event].
const (
	CallMade EventKind = iota + 1
	CallAnswered
	Retried
	Compacted
	Answered
	Ended
	CarriedOut
)
