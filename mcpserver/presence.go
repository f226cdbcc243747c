package mcpserver

import (
	"context"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"orderdesk/tools"
)

// maxSessions is how many sessions one caller may have open. A host needs one;
// those that their host has left count until they lapse.
const maxSessions = 500

// presence counts the open sessions of each caller. The newest revision of the
// protocol has none.
type presence struct {
	mu   sync.Mutex
	open map[string]string // session id, whose it is
	of   map[string]int
}

func newPresence(hooks *server.Hooks) *presence {
	p := &presence{open: map[string]string{}, of: map[string]int{}}
	hooks.AddOnRegisterSession(p.enter)
	hooks.AddOnUnregisterSession(p.leave)
	return p
}

func (p *presence) enter(ctx context.Context, s server.ClientSession) {
	who, _ := principalOf(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.open[s.SessionID()]; !known {
		p.open[s.SessionID()] = who.Name
		p.of[who.Name]++
	}
}

func (p *presence) leave(_ context.Context, s server.ClientSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who, known := p.open[s.SessionID()]
	if !known {
		return
	}
	delete(p.open, s.SessionID())
	if p.of[who]--; p.of[who] == 0 {
		delete(p.of, who)
	}
}

func (p *presence) sessions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// full reports whether a request that opens a session is one too many.
func (p *presence) full(r *http.Request, e *envelope, who tools.Principal) bool {
	if opens := e.Method == methodInit || r.Method == http.MethodGet && r.URL.Path == ssePath; !opens {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[who.Name] >= maxSessions
}
