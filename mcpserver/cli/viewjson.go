package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"orderdesk/runstore"
)

// planLine is one line of a run's plan; field is the domain's name for an
// item's id.
type planLine struct {
	field string
	item  runstore.Item
}

// MarshalJSON writes the members of the contract.
func (l planLine) MarshalJSON() ([]byte, error) {
	m := map[string]any{l.field: l.item.ID, "status": l.item.Status, "note": l.item.Note}
	if l.item.Gone {
		m["no_longer_listed"] = true
	}
	return json.Marshal(m)
}

// actionLine is one action that a run waits on.
type actionLine struct {
	field  string
	action *runstore.Action
}

// MarshalJSON writes the members of the contract.
func (l actionLine) MarshalJSON() ([]byte, error) {
	a := l.action
	m := map[string]any{"id": a.ID, "run_id": a.Run, l.field: a.Target.ID, "tool": a.Tool, "required_role": a.Role, "status": a.Status,
		"envelope_hash": a.Hash, "queued": a.Queued, "expires": a.Expires, "approval": nil, "outcome": nil}
	if p := a.Approval; p != nil {
		m["approval"] = approvalView{verdictOf(p), p.By, p.Role, p.Auth, p.At, p.Comment, p.Hash, p.Self}
	}
	if a.Outcome != nil {
		m["outcome"], m["outcome_at"] = outcomeText(a), a.Outcome.At
	}
	return json.Marshal(m)
}

type approvalView struct {
	Verdict string    `json:"verdict"` // "approved" or "rejected"
	By      string    `json:"by"`
	Role    string    `json:"role"`
	Auth    string    `json:"auth"`
	At      time.Time `json:"at"`
	Comment string    `json:"comment"`
	Hash    string    `json:"hash"`
	Self    bool      `json:"self_approval,omitempty"`
}

func verdictOf(p *runstore.Approval) string {
	if p.Approved {
		return "approved"
	}
	return "rejected"
}

// outcomeText is the receiver's reference, or why there is none; "" before.
func outcomeText(a *runstore.Action) string {
	switch {
	case a.Outcome == nil:
		return ""
	case a.Outcome.Reference != "":
		return a.Outcome.Reference
	}
	return a.Outcome.Detail
}

// stream writes the run as one JSON object, a plan line and an action at a
// time, so that a long list is not held in memory twice.
func (v *runView) stream(out io.Writer) error {
	w := bufio.NewWriter(out)
	head, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, _ = w.Write(head[:len(head)-len("\n}")])
	if err := streamList(w, "plan", v.Plan); err != nil {
		return err
	}
	if err := streamList(w, "actions", v.Actions); err != nil {
		return err
	}
	_, _ = w.WriteString("\n}\n")
	return w.Flush()
}

func streamList[T json.Marshaler](w *bufio.Writer, name string, items []T) error {
	_, _ = w.WriteString(",\n  " + strconv.Quote(name) + ": [")
	for i, item := range items {
		raw, err := item.MarshalJSON()
		if err != nil {
			return err
		}
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.WriteString("\n    ")
		_, _ = w.Write(raw)
	}
	_ = w.WriteByte(']')
	return nil
}
