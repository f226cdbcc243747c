package mcpserver

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// What a caller tries and does not get is recorded, wherever it was refused: by
// the front, by the library, or by a tool. A refusal that belongs to a run is in
// that run's trace.

// audit records one event that belongs to no run. Without a store, yet, it is
// logged only.
func (h *Hosts) audit(ctx context.Context, who tools.Principal, what string, data map[string]string) {
	h.o.Logger.Warn(what, "who", who.Name, "data", data)
	select {
	case <-h.opened:
	default:
		return
	}
	err := h.store.Update(context.WithoutCancel(ctx), func(tx *runstore.Tx) error {
		return tx.Audit(runstore.AuditEntry{What: what, By: who.Name}, data)
	})
	if err != nil {
		h.o.Logger.Error("audit failed", "error", masked(err.Error()))
	}
}

// auditCall records a call of a tool that was refused.
func (h *Hosts) auditCall(ctx context.Context, who tools.Principal, name string) {
	h.audit(ctx, who, "call_refused", map[string]string{"call": tools.Limit(name, 80)})
}

// auditProblem records a message that went no further than the door.
func (h *Hosts) auditProblem(ctx context.Context, who tools.Principal, p *problem) {
	h.audit(ctx, who, "message_refused", map[string]string{"why": tools.Limit(p.text, 120)})
}

// onError records what the library refuses: methods, tools, prompts and
// resources that are not there, and requests that it cannot read.
func (h *Hosts) onError(ctx context.Context, _ any, method mcp.MCPMethod, message any, err error) {
	who, _ := principalOf(ctx)
	name := string(method)
	switch r := message.(type) {
	case *mcp.CallToolRequest:
		name += " " + r.Params.Name
	case *mcp.GetPromptRequest:
		name += " " + r.Params.Name
	case *mcp.ReadResourceRequest:
		name += " " + r.Params.URI
	}
	h.o.Logger.Debug("refused", "what", tools.Limit(name, 80), "error", masked(err.Error()))
	h.auditCall(ctx, who, name)
}
