package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"runtime/debug"
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

// Options configures [Hosts]. All but Logger, Budget and Patience is required.
type Options struct {
	Domain *tools.Domain // what hosts are told of the tools
	// Parts makes the parts for a source; it is asked once per source, when
	// the store is open.
	Parts    func(runstore.Source) (Parts, error)
	Source   runstore.Source // of the runs that hosts start
	Scope    string          // of the runs that hosts start
	Budget   runstore.Budget // of the runs that hosts start
	Worker   string          // who works, for people: "orderdesk mcp (process 7)"
	Version  string
	Logger   *slog.Logger  // nil: nothing is logged
	Patience time.Duration // of a call for a store that is being opened; 0: two seconds
	// SessionTTL is how long a session of the older protocol is kept without
	// use; 0: half an hour.
	SessionTTL time.Duration
	// Conformance adds what the official conformance suite needs, and takes
	// calls over HTTP without a token. It is for checks on this machine only.
	Conformance bool
}

// Hosts answers the calls of MCP hosts. It is safe for concurrent use.
type Hosts struct {
	o      Options
	hosted *tools.Hosted
	byName map[string]*runTool
	ids    *idBook
	feed   *feed
	held   held

	presence *presence // of the sessions of the server that was made last

	opened chan struct{} // closed when store is set
	store  *runstore.Store

	mu    sync.Mutex
	parts map[runstore.Source]Parts
}

// New makes the door and checks the tools' schemas. It answers what needs no
// store at once, and calls when [Hosts.Opened] has been told of the store.
func New(o Options) (*Hosts, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SessionTTL == 0 {
		o.SessionTTL = sessionTTL
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Second
	}
	h := &Hosts{o: o, byName: map[string]*runTool{}, parts: map[runstore.Source]Parts{}, opened: make(chan struct{})}
	h.feed = newFeed(h)
	var err error
	if h.ids, err = newIDBook(); err != nil {
		return nil, err
	}
	if h.hosted, err = tools.NewHosted(o.Domain); err != nil {
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

// Opened hands over the store. It is called once.
func (h *Hosts) Opened(store *runstore.Store) {
	h.store = store
	close(h.opened)
}

// await waits for the store, not for long: a host that gets no answer starts
// the server again, and after a crash opening can take its time.
func (h *Hosts) await(ctx context.Context) error {
	select {
	case <-h.opened:
		return nil
	default:
	}
	patience := time.NewTimer(h.o.Patience)
	defer patience.Stop()
	select {
	case <-h.opened:
		return nil
	case <-patience.C:
	case <-ctx.Done():
	}
	return tools.Refusef("The store is still being opened; after a crash that can take a while. Nothing was done. Make the call again in a few seconds.")
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
	if err := h.await(ctx); err != nil {
		return h.failed(name, "", err)
	}
	res, run, err := h.safely(ctx, who, name, args)
	if _, refusal := tools.AsRefusal(err); refusal && run == "" { // else the run's trace has it
		h.auditCall(ctx, who, name)
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
	h.feed.kick()
	return Answer{JSON: raw, Refused: res.Refused}
}

// safely is [Hosts.call] with a panic as an error: a step is one transaction, so
// nothing is left half done.
func (h *Hosts) safely(ctx context.Context, who tools.Principal, name string, args []byte) (res tools.Result, run string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return h.call(ctx, who, name, args)
}

func (h *Hosts) call(ctx context.Context, who tools.Principal, name string, args []byte) (tools.Result, string, error) {
	if t := h.byName[name]; t != nil {
		return h.callRunTool(ctx, t, who, args)
	}
	req := tools.Request{Who: who, Name: name, After: h.letGo}
	id := h.hosted.Split(&req, args)
	if res, done, err := h.again(ctx, req, id); done {
		return res, id, err
	}
	run, err := h.open(ctx, who, id, req.Refusal)
	if err != nil {
		return tools.Result{}, "", err
	}
	parts, err := h.partsOf(run.Source)
	if err != nil {
		return tools.Result{}, run.ID, err
	}
	req.Run, req.Holder = run.ID, h.store.Instance()
	if run.Status != runstore.Running {
		req.Holder = "" // nobody holds it: the set says where the run stands
	} else {
		h.held.put(run)
	}
	res, err := parts.Set.Call(ctx, req)
	return res, run.ID, err
}

// again makes a call for a run that this process has worked on before, without
// looking at it first: the set refuses it when the lease is another's. done
// reports whether the call was made.
func (h *Hosts) again(ctx context.Context, req tools.Request, id string) (res tools.Result, done bool, err error) {
	src, ok := h.held.of(id, req.Who)
	if !ok {
		return res, false, nil
	}
	parts, err := h.partsOf(src)
	if err != nil {
		return res, true, err
	}
	req.Run, req.Holder = id, h.store.Instance()
	res, err = parts.Set.Call(ctx, req)
	if errors.Is(err, runstore.ErrLeaseLost) {
		h.held.drop(id)
		return res, false, nil
	}
	return res, true, err
}

// letGo gives up the lease of a run that a call has stopped: a person may go
// on with it at once.
func (h *Hosts) letGo(_ *runstore.Tx, run *runstore.Run, _ tools.Result) error {
	if run.Status != runstore.Running {
		run.Release(h.store.Instance())
	}
	return nil
}

// failed is the answer to a call that could not be made.
func (h *Hosts) failed(name, run string, err error) Answer { return refused(h.excuse(name, run, err)) }

// excuse says why something could not be done. What is ours to mend is logged,
// under the reference that the text names.
func (h *Hosts) excuse(name, run string, err error) string {
	if r, ok := tools.AsRefusal(err); ok {
		return r.Text
	}
	var held *runstore.HeldError
	var full *runstore.DiskFullError
	switch {
	case errors.As(err, &held):
		return fmt.Sprintf("Run %s is being worked on by %s. Wait until that has ended, or start another run with run_start.", held.Run, held.Worker)
	case errors.Is(err, runstore.ErrLeaseLost):
		return "Another worker has taken the run over. Call run_status to see where it stands."
	case errors.As(err, &full):
		return "The disk is full; nothing was recorded. Everything saved before is safe. A person has to make room; then repeat the call."
	}
	ref := time.Now().UTC().Format("150405.000000")
	h.o.Logger.Error("call failed", "reference", ref, "tool", tools.Limit(name, 60), "run", run, "error", masked(err.Error()))
	return "The call failed on our side (reference " + ref + "); nothing of it is lost that was answered before. Try again; if it fails again, a person should look at the log."
}

var secret = regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+|(?:password|passphrase|secret|token|api[-_]?key)["']?\s*[:=]\s*["']?)[^\s"',;]+|\bod_[\w-]{20,}`)

// masked is the text of an error without what may be a secret.
func masked(text string) string { return secret.ReplaceAllString(text, "${1}***") }

func refused(text string) Answer {
	raw, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		raw = []byte(`{"error":"unreadable"}`)
	}
	return Answer{JSON: raw, Refused: true}
}
