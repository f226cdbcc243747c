package mcpserver

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// maxCompleted is how many values one completion has; the protocol allows no
// more than a hundred.
const maxCompleted = 50

// completions completes the ids of the caller's runs.
type completions struct{ hosts *Hosts }

func (h *Hosts) completions() []server.ServerOption {
	c := completions{h}
	return []server.ServerOption{server.WithCompletions(), server.WithPromptCompletionProvider(c), server.WithResourceCompletionProvider(c)}
}

// CompletePromptArgument completes the run of the prompts that take one.
func (c completions) CompletePromptArgument(ctx context.Context, prompt string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, prompt == promptContinue && arg.Name == tools.RunField, arg.Value)
}

// CompleteResourceArgument completes the run in a resource's URI.
func (c completions) CompleteResourceArgument(ctx context.Context, uri string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, strings.HasPrefix(uri, runScheme) && arg.Name == "id", arg.Value)
}

func (c completions) complete(ctx context.Context, ofRuns bool, prefix string) (*mcp.Completion, error) {
	done := &mcp.Completion{Values: []string{}}
	who, ok := principalOf(ctx)
	if !ok || !ofRuns || c.hosts.await(ctx) != nil {
		return done, nil
	}
	err := c.hosts.store.View(ctx, func(tx *runstore.Tx) error {
		done = &mcp.Completion{Values: []string{}} // it may run again
		return tx.Runs(func(r *runstore.Run) bool {
			if r.Owner != who.Name || !strings.HasPrefix(r.ID, prefix) {
				return true
			}
			if done.Total++; len(done.Values) < maxCompleted {
				done.Values = append(done.Values, r.ID)
			}
			return true
		})
	})
	if err != nil {
		c.hosts.o.Logger.Error("completion failed", "error", masked(err.Error()))
		return &mcp.Completion{Values: []string{}}, nil
	}
	done.HasMore = done.Total > len(done.Values)
	return done, nil
}
