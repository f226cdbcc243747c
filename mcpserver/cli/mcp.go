package cli

import (
	"context"
	"errors"
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
	d, err := a.door(s, "mcp")
	if err != nil {
		return err
	}
	// The host is answered while the store is opened, which can take a while
	// after a crash. A store that cannot be opened ends the command.
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	opening := make(chan error, 1)
	go func() {
		err := d.open(ctx)
		if err != nil {
			end(err)
		}
		opening <- err
	}()
	err = d.hosts.ServeStdio(ctx, a.proc.Stdin, a.proc.Stdout, d.who)
	if oerr := <-opening; oerr != nil {
		return storeError(oerr, s.DataDir)
	}
	if errors.Is(err, mcpserver.ErrOutput) {
		a.out.note("The host takes no more answers; every call that was under way is recorded.")
		if !readerGone(err) {
			return errors.Join(&Error{Code: "output", Exit: ExitInternal, Message: "the answers could not be written: " + err.Error()}, d.close())
		}
		err = nil // it is the reader's own choice
	}
	return storeError(errors.Join(err, d.close()), s.DataDir)
}

// door is what a command needs to serve MCP hosts.
type door struct {
	app     *app
	command string
	s       *Settings
	who     tools.Principal
	field   *field // of the runs that hosts start
	source  runstore.Source
	hosts   *mcpserver.Hosts
	store   *runstore.Store // nil until it is open
	desks   []*desk
}

// door makes the door for MCP hosts for one command. Its store is not open yet.
func (a *app) door(s *Settings, command string) (*door, error) {
	d := &door{app: a, command: command, s: s}
	var err error
	if d.who, err = a.me(); err != nil {
		return nil, err
	}
	if d.source, err = sourceOf(s); err != nil {
		return nil, err
	}
	if d.field, err = openField(s, d.source); err != nil {
		return nil, err
	}
	d.hosts, err = mcpserver.New(mcpserver.Options{
		Domain: d.field.domain, Source: d.source, Scope: s.Org, Budget: budgetFrom(s.Limits), Version: buildVersion().Version,
		Worker: fmt.Sprintf("orderdesk %s (process %d)", command, os.Getpid()),
		Logger: slog.New(slog.NewTextHandler(a.out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Parts:  d.parts, Conformance: a.conformance,
	})
	return d, err
}

// parts makes the parts for one source. It is called when the store is open,
// one call at a time.
func (d *door) parts(src runstore.Source) (mcpserver.Parts, error) {
	f := d.field
	if src != d.source {
		var err error
		if f, err = openField(d.s, src); err != nil {
			return mcpserver.Parts{}, err
		}
	}
	made, err := f.wire(d.store, d.s)
	if err != nil {
		return mcpserver.Parts{}, err
	}
	d.desks = append(d.desks, made)
	return mcpserver.Parts{Set: made.set, Gate: made.gate}, nil
}

// open opens the store; hosts' calls are answered from then on.
func (d *door) open(ctx context.Context) (err error) {
	d.store, err = runstore.Open(ctx, runstore.Options{Dir: d.s.DataDir, Command: "orderdesk " + d.command})
	if err == nil {
		d.hosts.Opened(d.store)
	}
	return err
}

func (d *door) close() error {
	for _, desk := range d.desks {
		_ = desk.close()
	}
	return d.store.Close()
}
