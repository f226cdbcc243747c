package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"orderdesk/tools"
)

// sessionTTL is how long a session of the older protocol is kept without use.
const sessionTTL = 30 * time.Minute

// sessions makes session ids that are bound to whoever opened them: a nonce and
// its MAC together with the principal. The library would let anybody use any
// session. The key lasts as long as the process: after a restart hosts open
// new sessions, and find their runs by id.
type sessions struct {
	key [32]byte
	now func() time.Time

	mu    sync.Mutex
	ended map[string]time.Time // ids that their host has ended, and when
}

func newSessions() (*sessions, error) {
	s := &sessions{now: time.Now, ended: map[string]time.Time{}}
	_, err := rand.Read(s.key[:])
	return s, err
}

func (s *sessions) mac(nonce, who string) string {
	m := hmac.New(sha256.New, s.key[:])
	m.Write([]byte(nonce + "\x00" + who))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}

func (s *sessions) open(who tools.Principal) string {
	nonce := rand.Text()
	return nonce + "." + s.mac(nonce, who.Name)
}

// owned reports whether who opened the session and has not ended it.
func (s *sessions) owned(id string, who tools.Principal) bool {
	nonce, mac, ok := strings.Cut(id, ".")
	if !ok || !hmac.Equal([]byte(mac), []byte(s.mac(nonce, who.Name))) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := s.ended[id]
	return !ended
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, at := range s.ended {
		if s.now().Sub(at) > 2*sessionTTL { // the library has forgotten it too
			delete(s.ended, old)
		}
	}
	s.ended[id] = s.now()
}

// ResolveSessionIdManager binds the ids to the caller of r; r is nil for the
// library's own sweeps.
func (s *sessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	m := sessionsOf{sessions: s}
	if r != nil {
		m.who, _ = principalOf(r.Context())
	}
	return m
}

// forSSE makes the id of a session on /sse.
func (s *sessions) forSSE(ctx context.Context, r *http.Request) (string, error) {
	who, ok := principalOf(r.Context())
	if !ok {
		return "", errors.New("the caller is not known")
	}
	id := s.open(who)
	if out, ok := ctx.Value(outletKey{}).(*outlet); ok {
		out.serves(id)
	}
	return id, nil
}

// sessionsOf are the sessions of one principal.
type sessionsOf struct {
	*sessions
	who tools.Principal
}

func (m sessionsOf) Generate() string { return m.open(m.who) }

func (m sessionsOf) Validate(id string) (isTerminated bool, err error) {
	if !m.owned(id, m.who) {
		return true, nil
	}
	return false, nil
}

func (m sessionsOf) Terminate(id string) (isNotAllowed bool, err error) {
	m.end(id)
	return false, nil
}
