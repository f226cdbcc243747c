package tools

import (
	"context"
	"encoding/json"
	"time"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
)

// ItemWords are the words a domain has for the items of its lists.
type ItemWords struct {
	Field string // argument and JSON name of an item's id
	Noun  string // "item" in a sentence
}

// Domain is one field of work. Its functions are pure but for the facts they
// are handed; they are called inside transactions.
type Domain struct {
	Name   string
	Words  ItemWords
	Tools  []*Tool // in the sequence in which hosts list them
	System string  // the system prompt
	Task   func(scope string) string

	// Normalize gives an item id its one form, or refuses it.
	Normalize func(raw string) (string, error)
	// ListTool names the tool whose read is the source list.
	ListTool string
	// Seen reports whether the run has read the item itself: the evidence
	// that "done" needs.
	Seen func(f Facts, item string) (bool, error)
	// Questions lists what a briefing shows of an open item: the reads that
	// concern it and the subjects whose notes concern it.
	Questions func(f Facts, item string) ([]Question, []runstore.Subject, error)
	// Subject reads what a note is about from the words people use.
	Subject func(text string) (runstore.Subject, error)
	// Decide is the rule-based stand-in for a model.
	Decide Decider
	// Recheck reads the world again before an approved action is carried out.
	Recheck approvalgate.Rechecker
}

// Question is one read: a tool and the checked ids it is asked with.
type Question struct {
	Tool string
	IDs  []string
}

// Facts looks up what a run has read.
type Facts interface {
	Fact(tool string, ids ...string) (runstore.Fact, bool, error)
}

// Exchange is one call of a segment and its answer, as a model saw them.
type Exchange struct {
	Call    Call
	Result  json.RawMessage
	Refused bool
}

// Call is a model's request for one tool.
type Call struct {
	ID   string // the model's name for the call; may be empty
	Name string
	Args json.RawMessage
}

// Decision is what a decider wants next: calls, or an answer.
type Decision struct {
	Calls  []Call
	Answer string
}

// Decider picks the next step from the briefing and the exchanges of its
// segment, and from nothing else.
type Decider func(briefing string, history []Exchange) Decision

// Tool is one tool as hosts see it, with what runs behind it: exactly one of
// Read and Write.
type Tool struct {
	Name        string
	Title       string
	Description string
	Schema      *Schema
	Hints       Hints
	Read        *Read
	Write       func(*Writing) (any, error)
}

// Hints are the four annotations hosts use to sort tools.
type Hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Read is what runs behind a reading tool.
type Read struct {
	// Ask turns checked arguments into the ids of the question, in one form
	// per id, or refuses them. scope is the run's.
	Ask func(scope string, args map[string]any) (ids []string, err error)
	// Fetch asks the outside world. It runs outside any transaction; an error
	// of class Business is shown to the model as it is.
	Fetch func(ctx context.Context, ids []string) (Found, error)
	// Enrich completes a fetched result with what the store knows, in the
	// transaction that records it; nil: the result is recorded as fetched. A
	// [*FetchError] is the answer, like one of Fetch. It must not write.
	Enrich func(w *Writing, result any) (any, error)
	// Subjects lists what the result is about, so that earlier notes on it
	// can be shown beside it.
	Subjects func(result json.RawMessage) []runstore.Subject
}

// Found is the answer of a fetch.
type Found struct {
	Result  any
	Items   []string // the source list, for the list tool only
	Retries []Retry
	// Raw is Result as it came, if invisible characters in it were kept from
	// the model; nil: there were none.
	Raw any
}

// Retry is one repeated attempt, for the trace.
type Retry struct {
	Service string `json:"service"`
	Attempt int    `json:"attempt"`
	WaitMS  int64  `json:"wait_ms"`
	Error   string `json:"error"`
}

// FetchError is a failed fetch with the attempts it took. Text goes to the
// model: what failed and what to do with the item now.
type FetchError struct {
	Text     string
	Business bool // the answer is about the question, not about the service
	Retries  []Retry
	Err      error
}

// Error is the text for the model.
func (e *FetchError) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// Writing is what a writing tool works on: one transaction of one run.
type Writing struct {
	Tx     *runstore.Tx
	Run    *runstore.Run
	Who    Principal
	Args   map[string]any
	Raw    json.RawMessage // canonical arguments
	Gate   *approvalgate.Gate
	Domain *Domain
	MaxAge time.Duration // older facts decide nothing
	Asked  time.Time     // when the fetch began whose result is enriched
	// Unchanged is set by a tool whose call changed nothing.
	Unchanged bool
}

// Principal is who makes a call: authenticated by the door it came through.
type Principal struct {
	Name string // "os:anna"
}

// Fact looks up a fact that is young enough to decide with.
func (w *Writing) Fact(tool string, ids ...string) (runstore.Fact, bool, error) {
	f, ok, err := w.Tx.Fact(w.Run, tool, ids...)
	if ok && w.Tx.Now().Sub(f.ReadAt) > w.MaxAge {
		ok = false
	}
	return f, ok, err
}

// runFacts are all facts of a run, whatever their age.
type runFacts struct {
	tx  *runstore.Tx
	run *runstore.Run
}

func (f runFacts) Fact(tool string, ids ...string) (runstore.Fact, bool, error) {
	return f.tx.Fact(f.run, tool, ids...)
}
