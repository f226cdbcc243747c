package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// site is a door over HTTP with two agents.
type site struct {
	*desk
	url         string
	annas, bens string // tokens
}

func newSite(t *testing.T) *site {
	t.Helper()
	d := newDesk(t)
	agents := NewAgents(d.store)
	s := &site{desk: d}
	var err error
	if s.annas, err = agents.Add(t.Context(), "anna", "test"); err == nil {
		s.bens, err = agents.Add(t.Context(), "ben", "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.serve()
	return s
}

// serve lets the desk's door answer over HTTP, from now on.
func (s *site) serve() {
	s.t.Helper()
	h, err := s.hosts.NewHTTP(NewAgents(s.store))
	if err != nil {
		s.t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	s.t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	s.url = srv.URL
}

// open connects a client of the library's over one of the two transports.
func (s *site) open(how, era, token string) *host {
	s.t.Helper()
	auth := map[string]string{"Authorization": "Bearer " + token}
	var t transport.Interface
	var err error
	if how == "sse" {
		t, err = transport.NewSSE(s.url+"/sse", transport.WithHeaders(auth))
	} else {
		t, err = transport.NewStreamableHTTP(s.url+"/mcp", transport.WithHTTPHeaders(auth))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	h := &host{t: s.t, client: client.NewClient(t, client.WithProtocolVersion(era))}
	if err := h.client.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = h.client.Close() })
	var init mcp.InitializeRequest
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	init.Params.ProtocolVersion = era
	if _, err := h.client.Initialize(s.t.Context(), init); err != nil {
		s.t.Fatal(err)
	}
	return h
}

// post sends one message as it is.
func (s *site) post(path, body string, header ...string) (int, http.Header, string) {
	s.t.Helper()
	return s.request(http.MethodPost, path, body, header...)
}

func (s *site) newRequest(method, path, body string, header ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	return r
}

func (s *site) request(method, path, body string, header ...string) (int, http.Header, string) {
	s.t.Helper()
	res, err := http.DefaultClient.Do(s.newRequest(method, path, body, header...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(raw)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestFront: who is not known, comes from elsewhere, or sends what is no
// message, gets no further than the front.
func TestFront(t *testing.T) {
	s := newSite(t)
	mine := "Authorization: Bearer " + s.annas
	tests := []struct {
		name, body string
		header     []string
		status     int
	}{
		{"no token", initialize, nil, 401},
		{"a wrong token", initialize, []string{"Authorization: Bearer od_wrong"}, 401},
		{"another scheme", initialize, []string{"Authorization: Basic " + s.annas}, 401},
		{"a foreign page", initialize, []string{mine, "Origin: https://evil.example"}, 403},
		{"a foreign page that has rebound its name", initialize, []string{mine, "Origin: http://localhost:80", "Host: evil.example"}, 403},
		{"a page of this machine", initialize, []string{mine, "Origin: http://localhost:6274"}, 200},
		{"no origin", initialize, []string{mine}, 200},
		{"too long", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", maxLine) + `"}}`, []string{mine}, 413},
		{"a key twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, []string{mine}, 400},
		{"a key in two spellings", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"x"}`, []string{mine}, 400},
		{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", []string{mine}, 400},
		{"deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, []string{mine}, 400},
	}
	for _, path := range []string{"/mcp", "/message?sessionId=none"} {
		for _, tt := range tests {
			if path != "/mcp" && tt.status == 200 {
				continue // there is no such session
			}
			t.Run(path+" "+tt.name, func(t *testing.T) {
				p := path
				if tt.status != 401 && tt.status != 403 {
					p, _, _ = strings.Cut(path, "?")
				}
				status, header, body := s.post(p, tt.body, tt.header...)
				if status != tt.status {
					t.Errorf("status %d, want %d: %s", status, tt.status, body)
				}
				if strings.Contains(body, s.annas) || tt.status >= 400 && !json.Valid([]byte(body)) {
					t.Errorf("body %q", body)
				}
				if challenge := header.Get("WWW-Authenticate"); (status == 401) != strings.Contains(challenge, `resource_metadata="`+s.url+`/.well-known/oauth-protected-resource/mcp"`) {
					t.Errorf("challenge %q", challenge)
				}
			})
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		if status, _, body := s.request(http.MethodGet, path, ""); status != 200 || !strings.Contains(body, `"resource":"`+s.url+`/mcp"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestSessionsAreBound: nobody uses, listens on or ends another's session, and
// one that was ended is gone.
func TestSessionsAreBound(t *testing.T) {
	s := newSite(t)
	annas, bens := "Authorization: Bearer "+s.annas, "Authorization: Bearer "+s.bens
	status, header, body := s.post("/mcp", initialize, annas)
	id := header.Get("Mcp-Session-Id")
	if status != 200 || id == "" {
		t.Fatalf("%d, session %q: %s", status, id, body)
	}
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	session := "Mcp-Session-Id: " + id
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if status, _, body := s.request(method, "/mcp", ping, bens, session); status != 404 {
			t.Errorf("%s by ben: %d %s", method, status, body)
		}
	}
	_, opened, _ := s.post("/mcp", initialize, bens)
	own := opened.Get("Mcp-Session-Id")
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} { // ben's own beside anna's
		if status, _, body := s.request(method, "/mcp?sessionId="+own, ping, bens, session); status != 404 {
			t.Errorf("%s by ben with a session of his own: %d %s", method, status, body)
		}
		if status, _, body := s.request(method, "/mcp", ping, bens, session, "Mcp-Protocol-Version: 2026-07-28"); status != 404 {
			t.Errorf("%s by ben in the newest revision: %d %s", method, status, body)
		}
	}
	if status, _, body := s.post("/message?sessionId="+own+"&sessionId="+id, ping, bens); status != 404 {
		t.Errorf("two sessions on /message: %d %s", status, body)
	}
	if status, _, body := s.post("/message?sessionId="+id, ping, bens); status != 404 {
		t.Errorf("ben over /message: %d %s", status, body)
	}
	for _, forged := range []string{"x", id + "x", "." + strings.SplitAfter(id, ".")[1]} {
		if status, _, _ := s.request(http.MethodGet, "/mcp", "", annas, "Mcp-Session-Id: "+forged); status != 404 {
			t.Errorf("an invented session %q: %d", forged, status)
		}
	}
	if status, _, body := s.post("/mcp", ping, annas, session); status != 200 {
		t.Errorf("anna: %d %s", status, body)
	}
	if status, _, body := s.request(http.MethodDelete, "/mcp", "", annas, session); status != 200 {
		t.Errorf("anna ends it: %d %s", status, body)
	}
	if status, _, _ := s.post("/mcp", ping, annas, session); status != 404 {
		t.Errorf("a session that was ended: %d, want 404", status)
	}
}

// TestMCP_ForeignCancel: a cancellation outside a session reaches nobody.
func TestMCP_ForeignCancel(t *testing.T) {
	s := newSite(t)
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	status, _, body := s.post("/mcp", cancel, "Authorization: Bearer "+s.bens, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: notifications/cancelled")
	if status != http.StatusAccepted || body != "" {
		t.Errorf("%d %q, want 202 and nothing", status, body)
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	if !foreignCancel(r, message(t, cancel)) || foreignCancel(r, message(t, `{"method":"ping"}`)) {
		t.Error("the wrong message is kept back")
	}
	r.Header.Set("Mcp-Session-Id", "a.b")
	if foreignCancel(r, message(t, `{"method":"notifications/cancelled","params":{"requestId":1}}`)) {
		t.Error("a cancellation within a session is kept back")
	}
}

func message(t *testing.T, raw string) *envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		t.Fatal(err)
	}
	return &e
}

// TestAgents: a token is shown once and kept as a hash; a removed agent is out
// at once.
func TestAgents(t *testing.T) {
	d := newDesk(t)
	agents := NewAgents(d.store)
	token, err := agents.Add(t.Context(), "night-job", "os:anna")
	if err != nil || len(token) < 40 {
		t.Fatalf("%q, %v", token, err)
	}
	if who, err := agents.Authenticate(t.Context(), token); err != nil || who.Name != "agent:night-job" {
		t.Errorf("%v, %v", who, err)
	}
	var no *AgentError
	for _, name := range []string{"night-job", "", "Über", "a b", "../x", strings.Repeat("a", 41)} {
		if _, err := agents.Add(t.Context(), name, "os:anna"); !errors.As(err, &no) || no.Hint == "" {
			t.Errorf("Add(%q): %v", name, err)
		}
	}
	list, err := agents.List(t.Context())
	raw, _ := json.Marshal(list)
	if err != nil || len(list) != 1 || list[0].By != "os:anna" || strings.Contains(string(raw), token) || strings.Contains(string(raw), "hash") {
		t.Errorf("%s, %v", raw, err)
	}
	if err := agents.Remove(t.Context(), "night-job", "os:anna"); err != nil {
		t.Fatal(err)
	}
	if _, err := agents.Authenticate(t.Context(), token); !errors.Is(err, ErrNoAgent) {
		t.Errorf("after the removal: %v", err)
	}
	if err := agents.Remove(t.Context(), "night-job", "os:anna"); !errors.As(err, &no) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestServeEnds: open streams do not keep the server from ending.
func TestServeEnds(t *testing.T) {
	s := newSite(t)
	h, err := s.hosts.NewHTTP(NewAgents(s.store))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, l) }()
	s.url = "http://" + l.Addr().String()
	s.open("sse", "2024-11-05", s.annas)
	s.open("http", "2025-11-25", s.annas)
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("ended with %v", err)
	}
}
