package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"orderdesk/mcpserver"
	"orderdesk/runstore"
	"orderdesk/tools"
)

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve one MCP host on standard input and output",
		Long: `Serve one MCP host (an AI assistant's program) on standard input and output. The
host starts this command itself; it works as the user who started the host.
Several hosts, and commands beside them, work on one store.

Exit codes: 0 the host has ended the input, 2, 5, 130.`,
		Example: "  orderdesk mcp\n  orderdesk mcp --org 1010 --data export/",
		Args:    upTo(0),
		RunE:    a.with(a.mcp),
	}
	bind(cmd, cmd.Flags(), "org", "data", "simulate", "max_tool_calls")
	return cmd
}

func (a *app) mcp(ctx context.Context, s *Settings, _ []string) error {
	who, err := a.me()
	if err != nil {
		return err
	}
	src, err := sourceOf(s)
	if err != nil {
		return err
	}
	return a.withStore(ctx, s, "mcp", func(store *runstore.Store) error {
		hosts, end, err := a.hosts(store, s, src, "mcp")
		if err != nil {
			return err
		}
		defer end()
		return hosts.ServeStdio(ctx, a.proc.Stdin, a.proc.Stdout, who)
	})
}

// hosts makes the door for MCP hosts; end closes what works behind it.
func (a *app) hosts(store *runstore.Store, s *Settings, src runstore.Source, command string) (_ *mcpserver.Hosts, end func(), err error) {
	var desks []*desk
	end = func() {
		for _, d := range desks {
			_ = d.close()
		}
	}
	var domain *tools.Domain
	parts := func(src runstore.Source) (mcpserver.Parts, error) {
		d, err := wire(store, s, src)
		if err != nil {
			return mcpserver.Parts{}, err
		}
		desks, domain = append(desks, d), d.set.Domain()
		return mcpserver.Parts{Set: d.set, Gate: d.gate}, nil
	}
	first, err := parts(src)
	if err != nil {
		return nil, end, err
	}
	o := mcpserver.Options{Store: store, Domain: domain, Source: src, Scope: s.Org, Budget: budgetFrom(s.Limits), Version: buildVersion().Version,
		Worker: fmt.Sprintf("orderdesk %s (process %d)", command, os.Getpid()), Logger: slog.New(slog.NewTextHandler(a.out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	o.Parts = func(other runstore.Source) (mcpserver.Parts, error) {
		if other == src {
			return first, nil
		}
		return parts(other)
	}
	hosts, err := mcpserver.New(o)
	return hosts, end, err
}
