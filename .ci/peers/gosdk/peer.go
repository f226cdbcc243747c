package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peer is the SDK's client at work on one run.
type peer struct {
	transport, era string
	target         []string // the server's address, or a command
	token          string
	run            string // known after run_start
	session        *mcp.ClientSession
}

// revisions are the eras by the dates that a client asks for.
var revisions = map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}

// connect opens a new connection, and fails if it is not of the era.
func (p *peer) connect(ctx context.Context) error {
	wire, err := p.wire()
	if err != nil {
		return err
	}
	want := revisions[p.era]
	client := mcp.NewClient(&mcp.Implementation{Name: "peers-gosdk", Version: "1"}, nil)
	if p.session, err = client.Connect(ctx, wire, &mcp.ClientSessionOptions{ProtocolVersion: want}); err != nil {
		return err
	}
	if got := p.session.InitializeResult().ProtocolVersion; got != want {
		return fmt.Errorf("negotiated %q, want %q", got, want)
	}
	return nil
}

func (p *peer) wire() (mcp.Transport, error) {
	web := &http.Client{Transport: bearer(p.token)}
	switch p.transport {
	case "stdio":
		command := exec.Command(p.target[0], p.target[1:]...)
		command.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: command}, nil
	case "http":
		return &mcp.StreamableClientTransport{Endpoint: p.target[0], HTTPClient: web}, nil
	case "sse":
		return &mcp.SSEClientTransport{Endpoint: p.target[0], HTTPClient: web}, nil
	}
	return nil, fmt.Errorf("no transport %q", p.transport)
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool and expects an answer about the run, not a refusal, that
// says the same in both forms; with status also where the run stands then.
func (p *peer) call(ctx context.Context, name string, args map[string]any, status string) error {
	args = maps.Clone(args)
	if args == nil {
		args = map[string]any{}
	}
	if p.run != "" {
		args["run_id"] = p.run
	}
	res, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	said, err := both(res)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	run, _ := said["run_id"].(string)
	if p.run == "" {
		p.run = run
	}
	if run == "" || run != p.run || status != "" && said["status"] != status {
		return fmt.Errorf("%s: run %q %v, want %q %s", name, run, said["status"], p.run, status)
	}
	return nil
}

// both returns an answer's structured form if its text says the same.
func both(res *mcp.CallToolResult) (map[string]any, error) {
	if len(res.Content) == 0 {
		return nil, errors.New("answered nothing")
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("answered with a %T, want text", res.Content[0])
	}
	if res.IsError {
		return nil, fmt.Errorf("refused: %s", text.Text)
	}
	var inText map[string]any
	if err := json.Unmarshal([]byte(text.Text), &inText); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(res.StructuredContent, any(inText)) {
		return nil, fmt.Errorf("answered %v and as text %s", res.StructuredContent, text.Text)
	}
	return inText, nil
}

// read looks at everything that is not a tool call.
func (p *peer) read(ctx context.Context, s *script) error {
	tools, err := p.session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tools.Tools {
		names = append(names, t.Name)
	}
	prompts, err := p.session.ListPrompts(ctx, nil)
	if err != nil {
		return err
	}
	for _, prompt := range prompts.Prompts {
		names = append(names, prompt.Name)
	}
	if want := slices.Concat(s.Tools, s.Prompts); !slices.Equal(names, want) {
		return fmt.Errorf("tools and prompts are %q, want %q", names, want)
	}
	got, err := p.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "continue_run", Arguments: map[string]string{"run_id": p.run}})
	if err != nil {
		return err
	}
	if text, ok := got.Messages[0].Content.(*mcp.TextContent); !ok || !strings.Contains(text.Text, p.run) {
		return fmt.Errorf("continue_run does not name the run: %v", got.Messages[0].Content)
	}
	return p.readResources(ctx)
}

func (p *peer) readResources(ctx context.Context) error {
	listed, err := p.session.ListResources(ctx, nil)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(listed.Resources, func(r *mcp.Resource) bool { return r.URI == "memory://notes" }) {
		return errors.New("memory://notes is not listed")
	}
	templates, err := p.session.ListResourceTemplates(ctx, nil)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(templates.ResourceTemplates, func(t *mcp.ResourceTemplate) bool { return strings.HasPrefix(t.URITemplate, "run://") }) {
		return errors.New("no template of run:// is listed")
	}
	for _, uri := range []string{"run://" + p.run, "memory://notes"} {
		res, err := p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return fmt.Errorf("%s: %w", uri, err)
		}
		if len(res.Contents) == 0 || res.Contents[0].URI != uri || !json.Valid([]byte(res.Contents[0].Text)) {
			return fmt.Errorf("%s: no JSON", uri)
		}
	}
	return nil
}
