// Package drivertest is a scripted model for tests of the driver.
//
// A [Model] plays a list of turns, one per call, and keeps every conversation
// it was shown:
//
//	m := drivertest.New(
//		drivertest.Ask("plan_update", `{"items":[]}`),
//		drivertest.Fail(&upstream.Error{Class: upstream.Transient, Text: "busy"}),
//		drivertest.Say("All is done."),
//	)
//
// A failed turn is used up like any other: the attempt that follows it gets
// the next one. A model that is asked again after its last turn fails with
// [ErrPlayed], which is permanent, so a test never hangs.
package drivertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"orderdesk/mcpserver/driver"
	"orderdesk/tools"
	"orderdesk/tools/upstream"
)

// ErrPlayed is the answer of a model that has no turns left.
var ErrPlayed = &upstream.Error{Class: upstream.Permanent, Service: "model", Text: "the script has ended"}

// Turn is one turn of a model: it sees the conversation as any model would.
type Turn func(ctx context.Context, c driver.Conversation) (driver.Reply, error)

// Say answers with text and no calls.
func Say(text string) Turn { return Send(driver.Reply{Text: text}) }

// Ask makes one call; args are sent as they are.
func Ask(tool, args string) Turn { return Send(driver.Reply{Calls: []tools.Call{Call(tool, args)}}) }

// AskAll makes several calls at once, with the ids c1, c2, ...
func AskAll(calls ...tools.Call) Turn {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].ID = fmt.Sprintf("c%d", i+1)
	}
	return Send(driver.Reply{Calls: calls})
}

// Call is a call for [AskAll].
func Call(tool, args string) tools.Call {
	return tools.Call{ID: "c1", Name: tool, Args: json.RawMessage(args)}
}

// Send answers with r.
func Send(r driver.Reply) Turn {
	return func(context.Context, driver.Conversation) (driver.Reply, error) { return r, nil }
}

// Fail fails with err.
func Fail(err error) Turn {
	return func(context.Context, driver.Conversation) (driver.Reply, error) { return driver.Reply{}, err }
}

// Hang answers when ctx ends, with its error. begun, if not nil, is called
// first.
func Hang(begun func()) Turn {
	return func(ctx context.Context, _ driver.Conversation) (driver.Reply, error) {
		if begun != nil {
			begun()
		}
		<-ctx.Done()
		return driver.Reply{}, ctx.Err()
	}
}

// Times is turn n times over.
func Times(n int, turn Turn) []Turn { return slices.Repeat([]Turn{turn}, n) }

// Model plays turns. It is safe for concurrent use.
type Model struct {
	mu    sync.Mutex
	turns []Turn
	seen  []driver.Conversation
}

var _ driver.Model = (*Model)(nil)

// New makes a model of turns.
func New(turns ...Turn) *Model { return &Model{turns: turns} }

// Next plays the next turn.
func (m *Model) Next(ctx context.Context, c driver.Conversation) (driver.Reply, error) {
	turn, ok := m.next(c)
	if !ok {
		return driver.Reply{}, ErrPlayed
	}
	return turn(ctx, c)
}

func (m *Model) next(c driver.Conversation) (Turn, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.History = slices.Clone(c.History)
	m.seen = append(m.seen, c)
	if len(m.turns) == 0 {
		return nil, false
	}
	turn := m.turns[0]
	m.turns = m.turns[1:]
	return turn, true
}

// Seen returns the conversations of all calls so far, failed ones included.
func (m *Model) Seen() []driver.Conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen)
}

// Calls is how often the model was asked.
func (m *Model) Calls() int { return len(m.Seen()) }

// Last is the last conversation the model was shown; the zero one before any.
func (m *Model) Last() driver.Conversation {
	if seen := m.Seen(); len(seen) > 0 {
		return seen[len(seen)-1]
	}
	return driver.Conversation{}
}
