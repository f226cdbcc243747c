package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"orderdesk/tools"
)

// modern is the first revision of the protocol without sessions.
const modern = "2026-07-28"

// front is what every request passes before the library sees it: origin,
// identity, the session's owner, size and shape of the message, and whose
// request a cancellation is for.
func (s *HTTP) front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxLine)
		if !s.originAllowed(r) {
			if s.strangers.failed(r) == 0 {
				s.hosts.audit(r.Context(), unknown, "origin_refused", map[string]string{"origin": tools.Limit(r.Header.Get("Origin"), 80)})
			}
			answerError(w, http.StatusForbidden, codeRequest, "Requests of this origin are not taken.")
			return
		}
		who, ok := s.admit(w, r)
		if !ok {
			return
		}
		r = r.WithContext(withPrincipal(r.Context(), who))
		out := s.outlet(w, r)
		defer func() { out.end(); s.busy.left(out.session()) }()
		release, ok := s.vet(out, r, who)
		if !ok {
			return
		}
		defer func() { release(out.answered()) }()
		next.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), outletKey{}, out)))
	})
}

// vet looks at what a known caller has sent. It reports whether the request
// goes on; release is then called with the status that was answered.
func (s *HTTP) vet(w http.ResponseWriter, r *http.Request, who tools.Principal) (release func(status int), ok bool) {
	e := &envelope{}
	if r.Method == http.MethodPost {
		if e, ok = s.checkBody(w, r, who); !ok {
			return nil, false
		}
		if e.Method == methodInit {
			r.Header.Del("Mcp-Session-Id") // of a session that a restart has ended
		}
	}
	if !s.ownsSessions(r, who) {
		s.hosts.audit(r.Context(), who, "session_refused", map[string]string{"method": r.Method})
		answerError(w, http.StatusNotFound, codeRequest, "There is no such session. Open one with initialize.")
		return nil, false
	}
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" && e.Params.Meta.Version == "" && !mcp.IsValidProtocolVersion(v) {
		return nil, s.refuse(w, r, who, http.StatusBadRequest, &problem{code: mcp.UNSUPPORTED_PROTOCOL_VERSION, id: e.ID,
			text: "This version of the protocol is not spoken here. Known are: " + strings.Join(mcp.ValidProtocolVersions, ", ") + "."})
	}
	if foreignCancel(r, e) {
		w.WriteHeader(http.StatusAccepted)
		return nil, false
	}
	if s.hosts.presence.full(r, e, who) {
		s.hosts.audit(r.Context(), who, "session_refused", map[string]string{"why": "too many"})
		w.Header().Set("Retry-After", "60")
		answerError(w, http.StatusTooManyRequests, codeRequest, "You have too many sessions open. End some, or wait until they lapse.")
		return nil, false
	}
	if release, ok = s.busy.take(r, e); !ok {
		return nil, s.refuse(w, r, who, http.StatusBadRequest, &problem{code: codeRequest, text: sameID})
	}
	return release, true
}

// admit authenticates the caller, or answers that it is not known.
func (s *HTTP) admit(w http.ResponseWriter, r *http.Request) (tools.Principal, bool) {
	if s.hosts.o.Conformance {
		return conformer, true
	}
	who, err := s.authenticate(r)
	switch {
	case err == nil:
		return who, true
	case !errors.Is(err, ErrNoAgent):
		s.hosts.o.Logger.Error("authentication failed", "error", masked(err.Error()))
		answerError(w, http.StatusServiceUnavailable, -32603, "The store does not answer. Try again.")
		return who, false
	}
	if wait := s.strangers.failed(r); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		answerError(w, http.StatusTooManyRequests, codeRequest, "Too many requests without a valid token. Wait, then send a valid one.")
		return who, false
	}
	s.hosts.audit(r.Context(), unknown, "login_refused", map[string]string{"from": hostOf(r.RemoteAddr), "path": tools.Limit(r.URL.Path, 40)})
	invalid := ""
	if r.Header.Get("Authorization") != "" {
		invalid = `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s", scope="%s"%s`, s.metadataURL(r), scopeWork, invalid))
	answerError(w, http.StatusUnauthorized, codeRequest, "Send a token that is valid here: Authorization: Bearer TOKEN. A person makes one with: orderdesk agent add NAME")
	return who, false
}

// unknown is who calls before that is known.
var unknown = tools.Principal{Name: "unknown"}

type outletKey struct{}

// outlet is where the answer to r goes out.
func (s *HTTP) outlet(w http.ResponseWriter, r *http.Request) *outlet {
	who, _ := principalOf(r.Context())
	o := &outlet{ResponseWriter: w, restore: s.hosts.ids.restore, quit: make(chan struct{})}
	if r.URL.Path == mcpPath { // the library beats on /sse itself
		o.every = keepAlive
	}
	o.sent = func(b []byte) {
		if bytes.Contains(b, []byte(`"error":{"code":-3202`)) { // of the protocol itself: no hook sees it
			s.hosts.audit(r.Context(), who, "request_refused", map[string]string{"answer": tools.Limit(string(b), 200)})
		}
		if session := o.session(); session != "" {
			s.busy.answered(session, b)
		}
	}
	return o
}

// originAllowed: a browser's page says where it is from; only pages of this
// machine, when the request is to it, are let in.
func (s *HTTP) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && loopbackHost(u.Hostname()) && loopbackHost(hostOf(r.Host))
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// safeHost is a Host header that may go into a URL of ours: nothing but a name
// or an address, and a port.
func safeHost(host string) string {
	if strings.Trim(host, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:[]") != "" {
		return "localhost"
	}
	return host
}

// authenticate reads the bearer token. No other place for it is looked at.
func (s *HTTP) authenticate(r *http.Request) (tools.Principal, error) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(token) == "" {
		return tools.Principal{}, ErrNoAgent
	}
	return s.agents.Authenticate(r.Context(), strings.TrimSpace(token))
}

// sessionIDs are the sessions a request names, wherever the library may look.
func sessionIDs(r *http.Request) []string {
	return append(r.URL.Query()["sessionId"], r.Header.Values("Mcp-Session-Id")...)
}

// ownsSessions reports whether every session that r names is who's: one of
// one's own must not bring in another's.
func (s *HTTP) ownsSessions(r *http.Request, who tools.Principal) bool {
	for _, id := range sessionIDs(r) {
		if id != "" && !s.sessions.owned(id, who) {
			return false
		}
	}
	return true
}

// checkBody reads the message and looks at its raw bytes. It reports whether
// the request goes on.
func (s *HTTP) checkBody(w http.ResponseWriter, r *http.Request, who tools.Principal) (*envelope, bool) {
	body, err := io.ReadAll(r.Body)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, s.refuse(w, r, who, http.StatusRequestEntityTooLarge, &problem{code: codeRequest, text: tooLong})
	case err != nil:
		return nil, s.refuse(w, r, who, http.StatusBadRequest, &problem{code: codeParse, text: "The message did not arrive whole."})
	case !isJSON(r):
		return nil, s.refuse(w, r, who, http.StatusUnsupportedMediaType, &problem{code: codeRequest, text: "Send the message as application/json."})
	}
	out, e, wrong := s.hosts.ids.read(bytes.TrimSpace(body))
	if wrong != nil {
		return nil, s.refuse(w, r, who, http.StatusBadRequest, wrong...)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	return e, true
}

// refuse answers a request that goes no further.
func (s *HTTP) refuse(w http.ResponseWriter, r *http.Request, who tools.Principal, status int, wrong ...*problem) bool {
	s.hosts.auditProblem(r.Context(), who, wrong[0])
	answerProblems(w, status, wrong...)
	return false
}

// isJSON: other kinds of content can be sent by any page without asking first.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// foreignCancel finds cancellations outside a session. In the newest revision a
// host cancels by closing its stream; the library would take a posted one, and
// cancel whichever caller's request has that number.
func foreignCancel(r *http.Request, e *envelope) bool {
	if e.Method != methodCancelled {
		return false
	}
	return len(sessionIDs(r)) == 0 || r.Header.Get("Mcp-Protocol-Version") >= modern || e.Params.Meta.Version >= modern
}

// answerError answers with an HTTP status and a JSON-RPC error.
func answerError(w http.ResponseWriter, status, code int, text string) {
	answerProblems(w, status, &problem{code: code, text: text})
}
