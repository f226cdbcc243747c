package cli

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"orderdesk/mcpserver"
)

// firstAgent is made when a server starts and nobody could call it.
const firstAgent = "default"

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP hosts over HTTP",
		Long: `Serve MCP hosts over HTTP: streamable HTTP on /mcp, and /sse with /message for
hosts of 2024. A host sends the token of an agent; see "orderdesk agent". It ends
with Ctrl-C or SIGTERM, after the calls under way.

There is no encryption: listen on this machine, or put a proxy that speaks TLS
in front.

Exit codes: 2, 5, 130 ended by a signal.`,
		Example: "  orderdesk serve\n  orderdesk serve --listen 127.0.0.1:9000",
		Args:    upTo(0),
		RunE:    a.with(a.serve),
	}
	bind(cmd, cmd.Flags(), "listen", "org", "data", "simulate", "max_tool_calls")
	cmd.Flags().BoolVar(&a.conformance, "conformance", false, "serve the official conformance suite, without tokens")
	_ = cmd.Flags().MarkHidden("conformance") // it has just been added
	return cmd
}

func (a *app) serve(ctx context.Context, s *Settings, _ []string) error {
	d, err := a.door(s, "serve")
	if err != nil {
		return err
	}
	if err := d.open(ctx); err != nil {
		return storeError(err, s.DataDir)
	}
	return storeError(errors.Join(a.serveOn(ctx, d), d.close()), s.DataDir)
}

func (a *app) serveOn(ctx context.Context, d *door) error {
	agents := mcpserver.NewAgents(d.store)
	site, err := d.hosts.NewHTTP(agents)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", d.s.Listen)
	if err != nil {
		return configError("cannot listen on "+d.s.Listen+": "+err.Error(), "--listen 127.0.0.1:PORT")
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); a.conformance && (!ok || !tcp.IP.IsLoopback()) {
		return errors.Join(configError("--conformance takes calls of anybody; it listens on this machine only", "--listen 127.0.0.1:PORT"), l.Close())
	}
	if err := a.announce(ctx, agents, l.Addr(), d.who.Name); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := site.Serve(ctx, l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// announce says where hosts find the server and, when there is no agent yet,
// makes one and shows how to call with it.
func (a *app) announce(ctx context.Context, agents *mcpserver.Agents, addr net.Addr, by string) error {
	url := "http://" + addr.String() + "/mcp"
	a.out.note("Listening on %s (and /sse). Ctrl-C ends.", url)
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		a.out.note("warning: others can reach this address, and nothing is encrypted")
	}
	if a.conformance {
		a.out.note("Serving the conformance suite: no token is asked for.")
		return nil
	}
	list, err := agents.List(ctx)
	if err != nil || len(list) > 0 {
		return err
	}
	token, err := agents.Add(ctx, firstAgent, by)
	if err != nil {
		return err
	}
	a.out.note("There was no agent; made %s. Its token is shown only now. For a host's configuration:", firstAgent)
	a.out.note("%s", `{"mcpServers": {"orderdesk": {"type": "http", "url": "`+url+`", "headers": {"Authorization": "Bearer `+token+`"}}}}`)
	return nil
}
