package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// Parts are what works on runs of one source.
type Parts struct {
	Set  *tools.Set
	Gate *approvalgate.Gate
}

// Options configures [Hosts]. All but Logger and Budget is required.
type Options struct {
	Store *runstore.Store
	// Parts makes the parts for a source; it is asked once per source.
	Parts   func(runstore.Source) (Parts, error)
	Source  runstore.Source // of the runs that hosts start
	Scope   string          // of the runs that hosts start
	Budget  runstore.Budget // of the runs that hosts start
	Worker  string          // who works, for people: "orderdesk mcp (process 7)"
	Version string
	Logger  *slog.Logger // nil: nothing is logged
}

// Hosts answers the calls of MCP hosts. It is safe for concurrent use.
type Hosts struct {
	o      Options
	domain *tools.Domain
	hosted *tools.Hosted
	byName map[string]*runTool

	mu    sync.Mutex
	parts map[runstore.Source]Parts
}

// New makes the door and checks the tools' schemas.
func New(o Options) (*Hosts, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hosts{o: o, byName: map[string]*runTool{}, parts: map[runstore.Source]Parts{}}
	parts, err := h.partsOf(o.Source)
	if err != nil {
		return nil, err
	}
	h.domain = parts.Set.Domain()
	if h.hosted, err = tools.NewHosted(h.domain); err != nil {
		return nil, err
	}
	for _, t := range runTools() {
		if t.schema, err = tools.CompileSchema(t.name, []byte(t.raw)); err != nil {
			return nil, err
		}
		h.byName[t.name] = t
	}
	return h, nil
}

// partsOf are the parts that work on runs of a source.
func (h *Hosts) partsOf(src runstore.Source) (Parts, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.parts[src]; ok {
		return p, nil
	}
	p, err := h.o.Parts(src)
	if err != nil {
		return Parts{}, err
	}
	h.parts[src] = p
	return p, nil
}

// Answer is the answer to a host's call: one JSON object.
type Answer struct {
	JSON    json.RawMessage
	Refused bool // it says what to send instead, or what failed
}

// Call makes one call for who. It never fails: what is ours is logged under a
// reference and answered with it.
func (h *Hosts) Call(ctx context.Context, who tools.Principal, name string, args []byte) Answer {
	ctx = context.WithoutCancel(ctx) // a host that goes away leaves no half a step
	res, run, err := h.call(ctx, who, name, args)
	if _, refusal := tools.AsRefusal(err); refusal && run == "" { // else the run's trace has it
		h.auditRefused(ctx, who, name)
	}
	if err != nil {
		return h.failed(name, run, err)
	}
	raw, err := tools.WithMember(res.JSON, tools.RunField, run)
	if err != nil {
		return h.failed(name, run, err)
	}
	if run == "" {
		raw = res.JSON
	}
	return Answer{JSON: raw, Refused: res.Refused}
}

func (h *Hosts) call(ctx context.Context, who tools.Principal, name string, args []byte) (tools.Result, string, error) {
	if t := h.byName[name]; t != nil {
		return h.callRunTool(ctx, t, who, args)
	}
	id, rest, refusal := h.hosted.Split(name, args)
	run, err := h.open(ctx, who, id, refusal)
	if err != nil {
		return tools.Result{}, "", err
	}
	parts, err := h.partsOf(run.Source)
	if err != nil {
		return tools.Result{}, run.ID, err
	}
	req := tools.Request{Who: who, Run: run.ID, Name: name, Args: rest, Refusal: refusal, Holder: h.o.Store.Instance(), After: h.letGo}
	if run.Status != runstore.Running {
		req.Holder = "" // nobody holds it: the set says where the run stands
	}
	res, err := parts.Set.Call(ctx, req)
	return res, run.ID, err
}

// letGo gives up the lease of a run that a call has stopped: a person may go
// on with it at once.
func (h *Hosts) letGo(_ *runstore.Tx, run *runstore.Run, _ tools.Result) error {
	if run.Status != runstore.Running {
		run.Release(h.o.Store.Instance())
	}
	return nil
}

// auditRefused records a call that belongs to no run.
func (h *Hosts) auditRefused(ctx context.Context, who tools.Principal, name string) {
	err := h.o.Store.Update(ctx, func(tx *runstore.Tx) error {
		return tx.Audit(runstore.AuditEntry{What: "call_refused", By: who.Name}, map[string]string{"call": tools.Limit(name, 80)})
	})
	if err != nil {
		h.o.Logger.Error("audit failed", "error", err.Error())
	}
}

// failed is the answer to a call that could not be made.
func (h *Hosts) failed(name, run string, err error) Answer {
	if r, ok := tools.AsRefusal(err); ok {
		return refused(r.Text)
	}
	var held *runstore.HeldError
	var full *runstore.DiskFullError
	switch {
	case errors.As(err, &held):
		return refused(fmt.Sprintf("Run %s is being worked on by %s. Wait until that has ended, or start another run with run_start.", held.Run, held.Worker))
	case errors.Is(err, runstore.ErrLeaseLost):
		return refused("Another worker has taken the run over. Call run_status to see where it stands.")
	case errors.As(err, &full):
		return refused("The disk is full; nothing was recorded. Everything saved before is safe. A person has to make room; then repeat the call.")
	}
	ref := time.Now().UTC().Format("150405.000000")
	h.o.Logger.Error("call failed", "reference", ref, "tool", tools.Limit(name, 60), "run", run, "error", err.Error())
	return refused("The call failed on our side (reference " + ref + "); nothing of it is lost that was answered before. Try again; if it fails again, a person should look at the log.")
}

func refused(text string) Answer {
	raw, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		raw = []byte(`{"error":"unreadable"}`)
	}
	return Answer{JSON: raw, Refused: true}
}
