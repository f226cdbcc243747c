package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"orderdesk/tools"
)

// modern is the first revision of the protocol without sessions.
const modern = "2026-07-28"

// front is what every request passes before the library sees it: origin,
// identity, size and shape of the message, the session's owner, and whose
// request a cancellation is for.
func (s *HTTP) front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxLine)
		if !s.originAllowed(r) {
			answerError(w, http.StatusForbidden, -32600, "Requests of this origin are not taken.")
			return
		}
		who, err := s.authenticate(r)
		if errors.Is(err, ErrNoAgent) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s", error="invalid_token"`, s.metadataURL(r)))
			answerError(w, http.StatusUnauthorized, -32600, "Send a token that is valid here: Authorization: Bearer TOKEN.")
			return
		}
		if err != nil {
			s.hosts.o.Logger.Error("authentication failed", "error", err.Error())
			answerError(w, http.StatusServiceUnavailable, -32603, "The store does not answer. Try again.")
			return
		}
		r = r.WithContext(withPrincipal(r.Context(), who))
		if !s.ownsSessions(r, who) {
			answerError(w, http.StatusNotFound, -32600, "There is no such session. Open one with initialize.")
			return
		}
		if r.Method == http.MethodPost && !s.checkBody(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
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
func (s *HTTP) checkBody(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		answerError(w, http.StatusRequestEntityTooLarge, -32600, "The message is too long: at most 1048576 bytes are allowed.")
		return false
	case err != nil:
		answerError(w, http.StatusBadRequest, -32700, "The message did not arrive whole.")
		return false
	}
	if err := tools.CheckMessage(body); err != nil {
		answerError(w, http.StatusBadRequest, -32700, err.Error())
		return false
	}
	if foreignCancel(r, body) {
		w.WriteHeader(http.StatusAccepted)
		return false
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return true
}

// foreignCancel finds cancellations outside a session. In the newest revision a
// host cancels by closing its stream; the library would take a posted one, and
// cancel whichever caller's request has that number.
func foreignCancel(r *http.Request, body []byte) bool {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Meta struct {
				Version string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil || m.Method != "notifications/cancelled" {
		return false
	}
	return len(sessionIDs(r)) == 0 || r.Header.Get("Mcp-Protocol-Version") >= modern || m.Params.Meta.Version >= modern
}

// answerError answers with an HTTP status and a JSON-RPC error.
func answerError(w http.ResponseWriter, status, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(rpcError(code, text))
}
