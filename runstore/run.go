package runstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Status says what may happen to a run next.
type Status string

const (
	Running Status = "running"              // being worked on; with a lapsed lease: interrupted, resumable
	Waiting Status = "waiting_for_approval" // people have to decide
	Stopped Status = "stopped"              // see the stop reason; resumable
	Done    Status = "done"                 // every item is in a final status
)

// StopReason says why a run is [Stopped]. Code is stable and meant for
// scripts; Message is one sentence for people.
type StopReason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of a [StopReason].
const (
	StopModelCalls  = "budget_model_calls"
	StopToolCalls   = "budget_tool_calls"
	StopChars       = "budget_chars"
	StopSeconds     = "budget_seconds"
	StopContext     = "budget_context"
	StopRepeated    = "guard_repeated_call"
	StopNoProgress  = "guard_no_progress"
	StopErrors      = "guard_errors"
	StopOpenItems   = "open_items"
	StopNoPlan      = "no_plan"
	StopModelError  = "model_error"
	StopRefused     = "model_refused"
	StopEmptyReply  = "model_empty_reply"
	StopInterrupted = "interrupted"
	StopError       = "error"
)

// Source is where a run's facts come from and who decides in it. It is
// remembered so that a resume needs only the run's id.
type Source struct {
	Data     string `json:"data"`     // "sample", or an absolute path
	Model    string `json:"model"`    // "sample": the rule-based decider
	Simulate string `json:"simulate"` // "none", "flaky" or "outage"
}

// Run is the header of one run: everything about it but the records that grow
// with its list. Its methods are the rules; they change the header in memory
// and [Store.Step] saves it.
type Run struct {
	ID      string      `json:"id"`
	Seq     int         `json:"seq"`   // the n-th run of this store, from 1
	Owner   string      `json:"owner"` // authenticated principal, "os:anna"
	Domain  string      `json:"domain"`
	Scope   string      `json:"scope"` // set at start; no tool can change it
	Source  Source      `json:"source"`
	Status  Status      `json:"status"`
	Stop    *StopReason `json:"stop,omitempty"`
	Created time.Time   `json:"created"`
	Updated time.Time   `json:"updated"`
	Session time.Time   `json:"session,omitzero"` // when its present worker took it up
	Answer  string      `json:"answer,omitempty"`

	Used   Usage    `json:"used"`
	Budget Budget   `json:"budget"`
	Lease  Lease    `json:"lease"`
	Plan   PlanHead `json:"plan"`
	Guard  Guard    `json:"guard"`

	TraceSeq  int `json:"trace_seq"`
	ActionSeq int `json:"action_seq"` // the last action is A<ActionSeq>
	Pending   int `json:"pending"`    // own actions in status pending
	Approved  int `json:"approved"`   // own actions approved, executing or unknown: not carried out yet
	// FirstPending and FirstApproved are low-water marks: no own action with a
	// smaller number has that status, so a look-up does not start at A1.
	FirstPending  int `json:"first_pending"`
	FirstApproved int `json:"first_approved"`
}

// ErrRunNotFound says that a run id names no run of this store.
var ErrRunNotFound = errors.New("no such run")

var runID = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{8}$`)

// ValidRunID reports whether s has the form of a run id:
// UTC date, time and 32 random bits, as in 20261006-004349-d40a1b2c.
func ValidRunID(s string) bool { return runID.MatchString(s) }

func newRunID(now time.Time) (string, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("random run id: %w", err)
	}
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(b[:]), nil
}

func runKey(id string) Key { return NewKey("run", id) }

// counters are the store-wide sequence numbers, one small record.
type counters struct {
	Runs  int `json:"runs"`
	Notes int `json:"notes"`
	Audit int `json:"audit"`
}

func countersKey() Key { return NewKey("counters") }

func (tx *Tx) counters() (counters, error) {
	var c counters
	err := tx.Get(countersKey(), &c)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return c, err
}

// NewRun saves a new run made from r's Owner, Domain, Scope, Source and
// Budget, gives it an id and number, and returns it.
func (tx *Tx) NewRun(r Run) (*Run, error) {
	c, err := tx.counters()
	if err != nil {
		return nil, err
	}
	c.Runs++
	if r.ID, err = newRunID(tx.Now()); err != nil {
		return nil, err
	}
	r.Seq, r.Status, r.Created = c.Runs, Running, tx.Now()
	r.FirstPending, r.FirstApproved = 1, 1
	if err := tx.Put(countersKey(), c); err != nil {
		return nil, err
	}
	if err := tx.Put(NewKey("runs", Seq(r.Seq)), r.ID); err != nil {
		return nil, err
	}
	return &r, tx.PutRun(&r)
}

// PutRun saves the header.
func (tx *Tx) PutRun(r *Run) error {
	r.Updated = tx.Now()
	return tx.Put(runKey(r.ID), r)
}

// Run reads a header; [ErrRunNotFound] if there is none or id is malformed.
func (tx *Tx) Run(id string) (*Run, error) {
	if !ValidRunID(id) {
		return nil, ErrRunNotFound
	}
	var r Run
	err := tx.Get(runKey(id), &r)
	if errors.Is(err, ErrNotFound) {
		return nil, ErrRunNotFound
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// LatestRun is the run that was started last; [ErrRunNotFound] without any.
func (tx *Tx) LatestRun() (*Run, error) {
	c, err := tx.counters()
	if err != nil {
		return nil, err
	}
	if c.Runs == 0 {
		return nil, ErrRunNotFound
	}
	return tx.runBySeq(c.Runs)
}

func (tx *Tx) runBySeq(n int) (*Run, error) {
	var id string
	if err := tx.Get(NewKey("runs", Seq(n)), &id); err != nil {
		return nil, err
	}
	return tx.Run(id)
}

// Runs calls fn with every run, the newest first, until fn returns false.
func (tx *Tx) Runs(fn func(*Run) bool) error {
	c, err := tx.counters()
	if err != nil {
		return err
	}
	for n := c.Runs; n >= 1; n-- {
		r, err := tx.runBySeq(n)
		if err != nil {
			return err
		}
		if !fn(r) {
			return nil
		}
	}
	return nil
}
