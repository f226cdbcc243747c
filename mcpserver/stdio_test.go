package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"orderdesk/runstore"
)

// host is a client of the library's, connected to a door over two pipes.
type host struct {
	t      testing.TB
	client *client.Client
	ended  chan error
}

func (d *desk) connect(options ...client.ClientOption) *host {
	d.t.Helper()
	fromHost, toServer := io.Pipe()
	fromServer, toHost := io.Pipe()
	h := &host{t: d.t, ended: make(chan error, 1)}
	go func() {
		h.ended <- d.hosts.ServeStdio(context.Background(), fromHost, toHost, anna)
		toHost.Close()
	}()
	h.client = client.NewClient(transport.NewIO(fromServer, toServer, io.NopCloser(strings.NewReader(""))), options...)
	if err := h.client.Start(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	var init mcp.InitializeRequest
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	if _, err := h.client.Initialize(d.t.Context(), init); err != nil {
		d.t.Fatal(err)
	}
	return h
}

func (h *host) call(name, args string) (json.RawMessage, bool) {
	h.t.Helper()
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = name, json.RawMessage(args)
	res, err := h.client.CallTool(h.t.Context(), r)
	if err != nil {
		h.t.Fatalf("%s %s: %v", name, args, err)
	}
	text, ok := res.Content[0].(mcp.TextContent)
	structured, _ := json.Marshal(res.StructuredContent)
	var a, b any
	if !ok || json.Unmarshal([]byte(text.Text), &a) != nil || json.Unmarshal(structured, &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		h.t.Errorf("%s: text %q and structured %s differ", name, text.Text, structured)
	}
	return json.RawMessage(text.Text), res.IsError
}

func (h *host) end() {
	h.t.Helper()
	if err := h.client.Close(); err != nil {
		h.t.Error(err)
	}
	if h.ended == nil { // over HTTP the server lives on
		return
	}
	if err := <-h.ended; err != nil {
		h.t.Errorf("the server ended with %v", err)
	}
}

// TestPrompts: they are listed, and the one that goes on holds the briefing.
func TestPrompts(t *testing.T) {
	d := newDesk(t)
	run := d.ok(anna, list, `{"sales_organization":"1010"}`).Run
	foreign := d.ok(ben, list, `{"sales_organization":"1010"}`).Run
	h := d.connect()
	defer h.end()
	prompts, err := h.client.ListPrompts(t.Context(), mcp.ListPromptsRequest{})
	if err != nil || len(prompts.Prompts) != 3 {
		t.Fatalf("%v, %v", prompts, err)
	}
	get := func(id string) (string, error) {
		var r mcp.GetPromptRequest
		r.Params.Name, r.Params.Arguments = "continue_run", map[string]string{"run_id": id}
		res, err := h.client.GetPrompt(t.Context(), r)
		if err != nil {
			return "", err
		}
		return res.Messages[0].Content.(mcp.TextContent).Text, nil
	}
	if text, err := get(run); err != nil || !strings.Contains(text, `{"sales_order":"4711"`) || !strings.Contains(text, "call run_finish") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := get(foreign); err == nil || !strings.Contains(err.Error(), "There is no run") {
		t.Errorf("%v: %s", err, text)
	}
}

// lines feeds lines to a door, ends the input at once and returns the answers.
func (d *desk) lines(lines ...string) []string {
	d.t.Helper()
	var out strings.Builder
	err := d.hosts.ServeStdio(context.Background(), strings.NewReader(strings.Join(lines, "\n")), &out, anna)
	if err != nil {
		d.t.Errorf("ended with %v", err)
	}
	var answers []string
	for s := bufio.NewScanner(strings.NewReader(out.String())); s.Scan(); {
		if !json.Valid(s.Bytes()) || !strings.HasPrefix(s.Text(), `{"jsonrpc":"2.0"`) {
			d.t.Errorf("on the output: %q", s.Text())
		}
		answers = append(answers, s.Text())
	}
	return answers
}

// TestStdioGate: what is no message, or means two things, never reaches a
// decoder that folds, drops or replaces.
func TestStdioGate(t *testing.T) {
	d := newDesk(t)
	tests := []struct{ name, line, want string }{
		{"no JSON", `{"jsonrpc":`, `"code":-32700`},
		{"text", `hello`, `"code":-32700`},
		{"a key twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `"code":-32600`},
		{"a key in two spellings", `{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"ping"}`, `"code":-32600`},
		{"a wrong spelling alone", `{"jsonrpc":"2.0","id":1,"Method":"ping"}`, `"code":-32600`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"code":-32600`},
		{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `"code":-32700`},
		{"deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, `"code":-32600`},
		{"long", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", maxLine) + `"}}`, `"code":-32600`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := d.lines(tt.line, "", `{"jsonrpc":"2.0","id":"after","method":"ping"}`)
			if len(got) != 2 || !strings.Contains(got[0]+got[1], tt.want) || !strings.Contains(got[0]+got[1], `"id":"after","result":{}`) {
				t.Errorf("answers %q, want %s and the ping's", got, tt.want)
			}
		})
	}
}

// TestMCP_EndOfInput: what was accepted before the input ended is answered,
// also calls that take their time.
func TestMCP_EndOfInput(t *testing.T) {
	d := newDesk(t)
	lines := []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run_start","arguments":{}}}`, i+1))
	}
	got := d.lines(lines...)
	if len(got) != 41 {
		t.Errorf("%d answers, want 41", len(got))
	}
	if runs := d.ok(anna, "run_list", `{}`); runs.Shown != "1 to 20 of 40" {
		t.Errorf("runs: %s", runs.Shown)
	}
}

// shutPipe is an output that breaks.
type shutPipe struct{}

func (shutPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutputBreaks(t *testing.T) {
	d := newDesk(t)
	in, feed := io.Pipe()
	go func() { _, _ = io.WriteString(feed, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n") }() // and the host never ends its side
	if err := d.hosts.ServeStdio(t.Context(), in, shutPipe{}, anna); !errors.Is(err, ErrOutput) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ended with %v", err)
	}
	feed.Close()
}

// TestRefusedCallsAreRecorded: calls of tools that are not there, and calls
// that name another's run, leave a trace in the audit log.
func TestRefusedCallsAreRecorded(t *testing.T) {
	d := newDesk(t)
	h := d.connect()
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = "approval_decide", json.RawMessage(`{"action":"A1","by":"Maria","role":"CREDIT_MANAGER"}`)
	if _, err := h.client.CallTool(t.Context(), r); err == nil {
		t.Error("a tool that is not there answers")
	}
	h.call("run_status", `{"run_id":"20200101-000000-00000000"}`)
	h.end()
	var seen []string
	err := d.store.View(t.Context(), func(tx *runstore.Tx) error {
		return tx.AuditEntries(0, func(e runstore.AuditEntry) bool {
			if e.What == "call_refused" {
				seen = append(seen, e.By+" "+string(e.Data))
			}
			return true
		})
	})
	if want := `[os:anna {"call":"tools/call approval_decide"} os:anna {"call":"run_status"}]`; err != nil || fmt.Sprint(seen) != want {
		t.Errorf("%v, %s; want %s", err, fmt.Sprint(seen), want)
	}
}
