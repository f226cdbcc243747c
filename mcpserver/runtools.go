package mcpserver

import (
	"context"
	"encoding/json"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// runTool is a tool about runs themselves. It is not charged to a run.
type runTool struct {
	name, title, description string
	hints                    tools.Hints
	raw                      string
	schema                   *tools.Schema
	do                       func(*Hosts, context.Context, tools.Principal, map[string]any) (any, error)
}

// maxListed bounds one page of run_list.
const maxListed = 20

func runTools() []*runTool {
	runOnly := `{"type": "object", "additionalProperties": false, "required": [], "properties": {"run_id": ` + tools.RunFieldSchema + `}}`
	return []*runTool{
		{name: "run_start", title: "Start a run, or go on with one",
			description: "Starts a run; a first call of another tool does so too. With run_id it goes on with a run that waits or was stopped: what people approved is carried out first. Runs are kept until a person deletes them.",
			hints:       tools.Hints{}, raw: runOnly, do: (*Hosts).runStart},
		{name: "run_status", title: "Where a run stands",
			description: "Shows plan, requests, facts, notes and the budget left, as saved. Call it to go on after a crash, a pause or a full context: it holds everything needed. Reads only.",
			hints:       tools.Hints{ReadOnly: true, Idempotent: true}, raw: runOnly, do: (*Hosts).runStatus},
		{name: "run_list", title: "List your runs",
			description: "Lists your runs, the newest first, 20 at most per page. Reads only.",
			hints:       tools.Hints{ReadOnly: true, Idempotent: true},
			raw: `{"type": "object", "additionalProperties": false, "required": [], "properties": {"page": {"type": "integer", "minimum": 1, "maximum": 1000,
				"description": "Optional. Which page, from 1.", "examples": [1]}}}`, do: (*Hosts).runList},
		{name: "run_finish", title: "Finish a run",
			description: "Ends your work on a run when every listed one is settled in the plan. The run then waits for people, or is done; which of the two is decided from the plan.",
			hints:       tools.Hints{Idempotent: true},
			raw: `{"type": "object", "additionalProperties": false, "required": ["answer"], "properties": {"answer": {"type": "string", "minLength": 1, "maxLength": 4000,
				"description": "What you found and what waits, for people.", "examples": ["Two wait for approval, two are done."]}, "run_id": ` + tools.RunFieldSchema + `}}`, do: (*Hosts).runFinish},
	}
}

// callRunTool answers a call of one of them.
func (h *Hosts) callRunTool(ctx context.Context, t *runTool, who tools.Principal, args []byte) (tools.Result, string, error) {
	_, values, err := tools.ParseArguments(args, t.schema)
	if err != nil {
		return tools.Result{}, "", err
	}
	out, err := t.do(h, ctx, who, values)
	if err != nil {
		return tools.Result{}, "", err
	}
	raw, err := json.Marshal(out)
	return tools.Result{JSON: raw}, "", err
}

func runArg(args map[string]any) string {
	id, _ := args[tools.RunField].(string)
	return id
}

// standing is where a run stands, for a model.
type standing struct {
	Run       string                      `json:"run_id"`
	Status    runstore.Status             `json:"status"`
	Stop      *runstore.StopReason        `json:"stop_reason,omitempty"`
	Counts    map[runstore.ItemStatus]int `json:"counts"`
	Listed    int                         `json:"listed"`
	Pending   int                         `json:"requests_pending"`
	CallsLeft int                         `json:"tool_calls_left"`
	Next      string                      `json:"next"`
	Briefing  string                      `json:"briefing"`
}

func (h *Hosts) standing(ctx context.Context, run *runstore.Run) (*standing, error) {
	parts, err := h.partsOf(run.Source)
	if err != nil {
		return nil, err
	}
	s := &standing{Run: run.ID, Counts: map[runstore.ItemStatus]int{}}
	err = h.store.Look(ctx, run.ID, func(tx *runstore.Tx, r *runstore.Run) error {
		s.Status, s.Stop, s.Listed, s.Pending = r.Status, r.Stop, r.Plan.Total, r.Pending
		s.CallsLeft = max(0, r.Budget.ToolCalls.Max-r.Used.ToolCalls)
		for _, status := range runstore.ItemStatuses {
			s.Counts[status] = r.Plan.Count(status)
		}
		s.Next = next(r)
		var err error
		s.Briefing, err = parts.Set.Briefing(tx, r)
		return err
	})
	return s, err
}

// next says what to do with a run.
func next(r *runstore.Run) string {
	switch {
	case r.Status == runstore.Running:
		return "Go on with the open ones; when none is left, call run_finish."
	case r.Status == runstore.Waiting && r.Plan.Decided > 0:
		return "People have decided: call run_start with this run_id to carry out what they approved."
	case r.Status == runstore.Waiting:
		return "People have to decide; nothing is to be done until then."
	case r.Status == runstore.Stopped && r.Exhausted() != nil:
		return "A budget is used up. Only a person can raise it."
	case r.Status == runstore.Stopped:
		return "Call run_start with this run_id to go on."
	}
	return "Nothing is left to do."
}
