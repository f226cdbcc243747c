package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	mcpPath     = "/mcp"
	ssePath     = "/sse"
	messagePath = "/message"
	keepAlive   = 25 * time.Second
	scopeWork   = "orderdesk:work" // what every agent's token is good for
	closeWithin = 5 * time.Second  // for calls under way when the server ends
)

// HTTP serves hosts over streamable HTTP on /mcp and, for hosts of 2024, over
// /sse and /message.
type HTTP struct {
	hosts      *Hosts
	agents     *Agents
	sessions   *sessions
	streamable *server.StreamableHTTPServer
	sse        *server.SSEServer
	strangers  *strangers
	busy       *busy
	mux        *http.ServeMux
}

// NewHTTP makes the doors over HTTP. Callers are agents, by their tokens.
func (h *Hosts) NewHTTP(agents *Agents) (*HTTP, error) {
	s := &HTTP{hosts: h, agents: agents, strangers: newStrangers(), busy: newBusy(), mux: http.NewServeMux()}
	var err error
	if s.sessions, err = newSessions(); err != nil {
		return nil, err
	}
	mcpServer := h.newServer()
	copyPrincipal := func(ctx context.Context, r *http.Request) context.Context {
		if who, ok := principalOf(r.Context()); ok {
			ctx = withPrincipal(ctx, who)
		}
		return ctx
	}
	s.streamable = server.NewStreamableHTTPServer(mcpServer,
		server.WithSessionIdManagerResolver(s.sessions), server.WithSessionIdleTTL(h.o.SessionTTL),
		server.WithHeartbeatInterval(keepAlive), server.WithHTTPContextFunc(copyPrincipal), server.WithStreamableHTTPLogger(h.o.Logger))
	s.sse = server.NewSSEServer(mcpServer,
		server.WithSSEEndpoint(ssePath), server.WithMessageEndpoint(messagePath), server.WithUseFullURLForMessageEndpoint(false),
		server.WithKeepAliveInterval(keepAlive), server.WithSSEContextFunc(copyPrincipal), server.WithSessionIDGenerator(s.sessions.forSSE),
		server.WithSSECORS(server.WithCORSAllowedOrigins("http://localhost:6274"))) // without it any page may read
	var streamable http.Handler = s.streamable
	if h.o.Conformance {
		streamable = needsSampling(streamable)
	}
	s.mux.Handle(mcpPath, s.front(streamable))
	s.mux.Handle(ssePath, s.front(s.sse))
	s.mux.Handle(messagePath, s.front(withoutVersion(s.sse)))
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource" + mcpPath} {
		s.mux.HandleFunc("GET "+path, s.metadata)
	}
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return s, nil
}

// withoutVersion drops the header by which the library would apply the rules of
// streamable HTTP to /message, and refuse hosts that go by the newest revision.
func withoutVersion(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Mcp-Protocol-Version")
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP answers one request.
func (s *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Serve answers requests on l until ctx ends. Then streams are closed and calls
// under way have a few seconds.
func (s *HTTP) Serve(ctx context.Context, l net.Listener) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return base }}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(base, closeWithin)
	defer cancel()
	s.sse.CloseSessions()
	s.streamable.CloseSessions(last)
	time.AfterFunc(closeWithin/2, cut) // streams that are still open
	err := srv.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	return err
}

// metadata tells hosts how to authenticate (RFC 9728).
func (s *HTTP) metadata(w http.ResponseWriter, r *http.Request) {
	server.NewProtectedResourceMetadataHandler(server.ProtectedResourceMetadataConfig{
		Resource: originOf(r) + mcpPath, ResourceName: "Orderdesk", BearerMethodsSupported: []string{"header"}, ScopesSupported: []string{scopeWork},
	}).ServeHTTP(w, r)
}

func (s *HTTP) metadataURL(r *http.Request) string {
	return originOf(r) + "/.well-known/oauth-protected-resource" + mcpPath
}

func originOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + safeHost(r.Host)
}
