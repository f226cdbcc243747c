package runstore

import (
	"encoding/json"
	"time"
)

// The kinds of a trace entry.
const (
	TraceStarted    = "started"
	TraceSegment    = "segment"
	TraceCompacted  = "compacted"
	TraceModelCall  = "model_call"
	TraceToolCall   = "tool_call"
	TraceRetry      = "retry"
	TraceCheckpoint = "checkpoint"
	TraceQueued     = "queued"
	TraceApproval   = "approval"
	TraceExecution  = "execution"
	TraceBudget     = "budget"
	TraceSource     = "source"
	TraceResumed    = "resumed"
	TraceAnswer     = "answer"
	TraceStopped    = "stopped"
)

// TraceEntry is one event of a run. Data is a small JSON object whose form
// depends on Kind.
type TraceEntry struct {
	Seq  int             `json:"seq"` // from 1, without gaps
	At   time.Time       `json:"at"`  // UTC
	Call int             `json:"call"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Trace appends an event to the run's trace.
func (tx *Tx) Trace(run *Run, kind string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	run.TraceSeq++
	e := TraceEntry{Seq: run.TraceSeq, At: tx.Now(), Call: run.Used.ModelCalls, Kind: kind, Data: raw}
	return tx.Put(NewKey("trace", run.ID, Seq(e.Seq)), e)
}

// TraceEntries calls fn with the run's events after number after, in sequence,
// until fn returns false.
func (tx *Tx) TraceEntries(run string, after int, fn func(TraceEntry) bool) error {
	from := ""
	if after > 0 {
		from = Seq(after)
	}
	return tx.Scan(NewKey("trace", run), from, func(_ string, get func(any) error) (bool, error) {
		var e TraceEntry
		if err := get(&e); err != nil {
			return false, err
		}
		return fn(e), nil
	})
}
