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
	return a.withHosts(ctx, s, "mcp", func(_ *runstore.Store, hosts *mcpserver.Hosts, who tools.Principal) error {
		return hosts.ServeStdio(ctx, a.proc.Stdin, a.proc.Stdout, who)
	})
}

// withHosts opens the store and makes the door for MCP hosts for one command.
func (a *app) withHosts(ctx context.Context, s *Settings, command string, use func(*runstore.Store, *mcpserver.Hosts, tools.Principal) error) error {
	who, err := a.me()
	if err != nil {
		return err
	}
	src, err := sourceOf(s)
	if err != nil {
		return err
	}
	return a.withStore(ctx, s, command, func(store *runstore.Store) error {
		var desks []*desk
		defer func() {
			for _, d := range desks {
				_ = d.close()
			}
		}()
		hosts, err := mcpserver.New(mcpserver.Options{
			Store: store, Source: src, Scope: s.Org, Budget: budgetFrom(s.Limits), Version: buildVersion().Version,
			Worker: fmt.Sprintf("orderdesk %s (process %d)", command, os.Getpid()),
			Logger: slog.New(slog.NewTextHandler(a.out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
			Parts: func(src runstore.Source) (mcpserver.Parts, error) {
				d, err := wire(store, s, src)
				if err != nil {
					return mcpserver.Parts{}, err
				}
				desks = append(desks, d)
				return mcpserver.Parts{Set: d.set, Gate: d.gate}, nil
			},
		})
		if err != nil {
			return err
		}
		return use(store, hosts, who)
	})
}
