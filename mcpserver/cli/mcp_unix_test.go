//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// host is an MCP host that has started "orderdesk mcp".
type host struct {
	p      *place
	client *client.Client
	cmd    *exec.Cmd
}

// host starts one. Its process is the test's to end.
func (p *place) host(args ...string) *host {
	p.t.Helper()
	h := &host{p: p}
	start := func(context.Context, string, []string, []string) (*exec.Cmd, error) {
		h.cmd = p.command(context.Background(), append([]string{"mcp"}, args...)...)
		return h.cmd, nil
	}
	h.client = client.NewClient(transport.NewStdioWithOptions("orderdesk", nil, nil, transport.WithCommandFunc(start)))
	p.t.Cleanup(func() { _ = h.cmd.Process.Kill(); _ = h.client.Close() })
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if err := h.client.Start(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	if _, err := h.client.Initialize(p.t.Context(), init); err != nil {
		p.t.Fatal(err)
	}
	return h
}

// call makes a call that must not fail and returns the run it names.
func (h *host) call(name string, args any) (run string, refusal string) {
	h.p.t.Helper()
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = name, args
	res, err := h.client.CallTool(h.p.t.Context(), r)
	if err != nil {
		h.p.t.Fatalf("%s: %v", name, err)
	}
	var v struct {
		Run   string `json:"run_id"`
		Error string
	}
	text, _ := res.Content[0].(mcp.TextContent)
	if err := json.Unmarshal([]byte(text.Text), &v); err != nil || res.IsError != (v.Error != "") {
		h.p.t.Fatalf("%s: %v: %s", name, err, text.Text)
	}
	return v.Run, v.Error
}

// TestMCP_HostsAndCommands: a host is killed in the middle, another goes on
// with its run; a third works beside it, and so do commands in a terminal.
func TestMCP_HostsAndCommands(t *testing.T) {
	p := newPlace(t)
	first := p.host()
	run, _ := first.call("sales_order_list_blocked", map[string]any{"sales_organization": "1010"})
	first.call("plan_update", map[string]any{"items": []any{map[string]any{"sales_order": "4711", "status": "todo", "note": ""}}})
	second := p.host()
	if _, refusal := second.call("sales_order_get_block_summary", map[string]any{"sales_order": "4711"}); !strings.Contains(refusal, fmt.Sprintf("is being worked on by orderdesk mcp (process %d)", first.cmd.Process.Pid)) {
		t.Errorf("the second host is told %q", refusal)
	}
	if got := p.do("resume", run); got.code != ExitRefused {
		t.Errorf("a resume beside the host: %s", got)
	}
	if v := p.status(run); v.Interrupted || v.Counts["todo"] != 4 {
		t.Errorf("beside the host: %+v", v)
	}
	if err := first.cmd.Process.Kill(); err != nil { // it owns the database
		t.Fatal(err)
	}
	if got, refusal := second.call("sales_order_get_block_summary", map[string]any{"sales_order": "4711"}); got != run || refusal != "" {
		t.Errorf("after the first host was killed: run %s, %q; want %s", got, refusal, run)
	}
	p.ok("doctor")
	if err := second.client.Close(); err != nil {
		t.Errorf("the second host's end: %v", err)
	}
	p.ok("resume", run)
	if v := p.status(run); v.Status != "waiting_for_approval" || v.Counts["todo"] != 0 {
		t.Errorf("after the resume: %+v", v)
	}
}

// TestMCP_OnlyMessagesOnStdout: what a host reads is messages, also when the
// store is damaged or the data cannot be used.
func TestMCP_OnlyMessagesOnStdout(t *testing.T) {
	p := newPlace(t)
	got := p.wants(ExitUsage, "mcp", "--data", "no-such-file.json")
	if got.stdout != "" || got.stderr == "" {
		t.Errorf("unusable data: %s", got)
	}
	if got := p.ok("mcp"); got.stdout != "" { // its input is empty
		t.Errorf("no input: %s", got)
	}
	p.ok("run")
	change(t, p.dir+"/db/*.sst", flipped)
	if got := p.wants(ExitStore, "mcp"); got.stdout != "" || !strings.Contains(got.stderr, "store damaged") {
		t.Errorf("damaged store: %s", got)
	}
}

// TestServe: a server makes the first agent and says how to call it; a client
// works over it beside commands; SIGTERM ends it.
func TestServe(t *testing.T) {
	p := newPlace(t)
	r := p.start("serve", "--listen", "127.0.0.1:0")
	url := strings.Fields(r.line("Listening on "))[2]
	r.line("There was no agent; made default.")
	snippet := r.line("mcpServers")
	var config struct {
		Servers map[string]struct {
			URL     string
			Headers map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(snippet), &config); err != nil || config.Servers["orderdesk"].URL != url {
		t.Fatalf("%v: %s", err, snippet)
	}
	var added struct{ Name, Token string }
	p.ok("agent", "add", "night-job", "--json").decode(t, &added)
	p.ok("agent", "list").says(t, "default", "night-job")
	p.wants(ExitUsage, "agent", "add", "night-job").says(t, "there is an agent night-job already", "hint: orderdesk agent remove night-job")
	for _, headers := range []map[string]string{config.Servers["orderdesk"].Headers, {"Authorization": "Bearer " + added.Token}} {
		h := p.dial(url, headers)
		run, refusal := h.call("sales_order_list_blocked", map[string]any{"sales_organization": "1010"})
		if v := p.status(run); refusal != "" || v.Counts["total"] != 4 {
			t.Errorf("%q, %+v", refusal, v)
		}
	}
	p.ok("agent", "remove", "night-job")
	if _, err := p.tryDial(url, map[string]string{"Authorization": "Bearer " + added.Token}); err == nil {
		t.Error("a removed agent calls")
	}
	r.signal(syscall.SIGTERM)
	if got := r.end(); got.code != ExitInterrupted || strings.Contains(got.stdout+got.stderr, added.Token) {
		t.Errorf("the end: %s", got)
	}
	p.ok("doctor")
}

func (p *place) dial(url string, headers map[string]string) *host {
	p.t.Helper()
	h, err := p.tryDial(url, headers)
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *place) tryDial(url string, headers map[string]string) (*host, error) {
	p.t.Helper()
	c, err := client.NewStreamableHttpClient(url, transport.WithHTTPHeaders(headers))
	if err != nil {
		return nil, err
	}
	p.t.Cleanup(func() { _ = c.Close() })
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if err := c.Start(p.t.Context()); err != nil {
		return nil, err
	}
	_, err = c.Initialize(p.t.Context(), init)
	return &host{p: p, client: c}, err
}
