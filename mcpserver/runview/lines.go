package runview

import (
	"encoding/json"
	"time"

	"orderdesk/runstore"
)

// PlanLine is one line of a run's plan; Field is the domain's name for an
// item's id.
type PlanLine struct {
	Field string
	Item  runstore.Item
}

// MarshalJSON writes the members of the contract.
func (l PlanLine) MarshalJSON() ([]byte, error) {
	m := map[string]any{l.Field: l.Item.ID, "status": l.Item.Status, "note": l.Item.Note}
	if l.Item.Gone {
		m["no_longer_listed"] = true
	}
	return json.Marshal(m)
}

// ActionLine is one action that a run waits on.
type ActionLine struct {
	Field  string
	Action *runstore.Action
}

// MarshalJSON writes the members of the contract.
func (l ActionLine) MarshalJSON() ([]byte, error) {
	a := l.Action
	m := map[string]any{"id": a.ID, "run_id": a.Run, l.Field: a.Target.ID, "tool": a.Tool, "required_role": a.Role, "status": a.Status,
		"envelope_hash": a.Hash, "queued": a.Queued, "expires": a.Expires, "approval": nil, "outcome": nil}
	if p := a.Approval; p != nil {
		m["approval"] = approvalView{verdictOf(p), p.By, p.Role, p.Auth, p.At, p.Comment, p.Hash, p.Self}
	}
	if a.Outcome != nil {
		m["outcome"], m["outcome_at"] = OutcomeText(a), a.Outcome.At
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

// OutcomeText is the receiver's reference, or why there is none; "" before.
func OutcomeText(a *runstore.Action) string {
	switch {
	case a.Outcome == nil:
		return ""
	case a.Outcome.Reference != "":
		return a.Outcome.Reference
	}
	return a.Outcome.Detail
}
