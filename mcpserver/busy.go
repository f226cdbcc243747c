package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
)

// busy are the requests under way in sessions: two with one id could not be
// told apart by whoever waits for the answer.
type busy struct {
	mu      sync.Mutex
	pending map[string]map[string]bool // session, id
}

func newBusy() *busy { return &busy{pending: map[string]map[string]bool{}} }

// take notes a request of a session. It reports false if one with its id is
// under way. release is called when the library has returned; an answer to
// /message goes out elsewhere, and [busy.answered] sees it, unless the library
// has refused the request.
func (b *busy) take(r *http.Request, e *envelope) (release func(status int), ok bool) {
	release = func(int) {}
	ids := sessionIDs(r)
	if !e.request() || len(ids) == 0 || ids[0] == "" || e.Params.Meta.Version >= modern && r.URL.Path == mcpPath {
		return release, true // in the newest revision a request has a stream of its own
	}
	session, id := ids[0], string(e.ID)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending[session][id] {
		return release, false
	}
	if b.pending[session] == nil {
		b.pending[session] = map[string]bool{}
	}
	b.pending[session][id] = true
	return func(status int) {
		if r.URL.Path == mcpPath || status >= http.StatusBadRequest {
			b.done(session, id)
		}
	}, true
}

func (b *busy) done(session, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pending[session], id)
	if len(b.pending[session]) == 0 {
		delete(b.pending, session)
	}
}

// answered looks through what goes out on a session's stream.
func (b *busy) answered(session string, out []byte) {
	for line := range bytes.Lines(out) {
		data, ok := bytes.CutPrefix(line, []byte("data: {"))
		if !ok {
			continue
		}
		var e envelope
		if json.Unmarshal(append([]byte("{"), data...), &e) == nil && e.Method == "" {
			b.done(session, string(e.ID))
		}
	}
}

// left forgets a session whose stream has ended.
func (b *busy) left(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pending, session)
}
