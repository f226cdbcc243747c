package mcpserver

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"orderdesk/tools"
)

const (
	methodCancelled = "notifications/cancelled"
	methodListen    = "subscriptions/listen"
	methodInit      = "initialize"
)

// envelope is what the doors look at of a message before the library sees it.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		Cursor    json.RawMessage `json:"cursor"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// request reports whether the message wants an answer.
func (e *envelope) request() bool { return e.Method != "" && len(e.ID) > 0 }

// problem is a message that goes no further, as the answer says it. Its id is
// null where the message's cannot be trusted.
type problem struct {
	code int
	text string
	id   json.RawMessage
}

// The codes of JSON-RPC that the doors answer with.
const (
	codeParse   = -32700
	codeRequest = -32600
	codeParams  = -32602
)

const (
	tooLong = "The message is too long: at most 1048576 bytes are allowed."
	sameID  = "A request with this id is under way. Use another id."
)

// line is the problem as one JSON-RPC message.
func (p *problem) line() []byte {
	id := p.id
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	raw, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   rpcError        `json:"error"`
	}{"2.0", id, rpcError{p.code, p.text}})
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"unreadable"}}`)
	}
	return raw
}

// read checks a message on its raw bytes and gives it an id that survives the
// library. It returns the message to pass on, or what is wrong with it: one
// problem, or one for each message of a batch.
func (b *idBook) read(raw []byte) (out []byte, e *envelope, wrong []*problem) {
	if err := tools.CheckMessage(raw); err != nil {
		code := codeParse
		if utf8.Valid(raw) && json.Valid(raw) { // it means two things, or goes too deep
			code = codeRequest
		}
		return nil, nil, []*problem{{code: code, text: err.Error()}}
	}
	switch raw[0] {
	case '{':
	case '[':
		return nil, nil, refuseBatch(raw)
	default:
		return nil, nil, []*problem{{code: codeRequest, text: "The message must be one JSON object."}}
	}
	e = &envelope{}
	_ = json.Unmarshal(raw, e) // members of another type are the library's to refuse
	if p := e.check(); p != nil {
		return nil, e, []*problem{p}
	}
	return b.carry(raw, e), e, nil
}

// check refuses ids that are none, and cursors: no list here has a second page.
func (e *envelope) check() *problem {
	if e.Method != "" && e.ID != nil && !validID(e.ID) { // null is an id that was sent
		return &problem{code: codeRequest, text: "The id of a request must be a string of 1 to 256 characters or a whole number."}
	}
	if c := string(e.Params.Cursor); strings.HasSuffix(e.Method, "/list") && c != "" && c != "null" && c != `""` {
		return &problem{code: codeParams, text: "The cursor is unknown here: this list has one page. Send the request without a cursor.", id: e.ID}
	}
	return nil
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,30})$`)

func validID(id json.RawMessage) bool {
	if len(id) > 0 && id[0] == '"' {
		var s string
		return json.Unmarshal(id, &s) == nil && s != "" && len(s) <= 256
	}
	return wholeNumber.Match(id)
}

// refuseBatch says to the sender of each message in an array that it is not
// taken.
func refuseBatch(raw []byte) []*problem {
	const text = "Batches are not taken: send each message by itself."
	var list []struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	var wrong []*problem
	if json.Unmarshal(raw, &list) == nil && len(list) <= 100 {
		for _, m := range list {
			if len(m.Method) > 0 && validID(m.ID) {
				wrong = append(wrong, &problem{code: codeRequest, text: text, id: m.ID})
			}
		}
	}
	if len(wrong) == 0 {
		wrong = []*problem{{code: codeRequest, text: text}}
	}
	return wrong
}

// idBook carries ids through the library that it would change: it rounds whole
// numbers above 2^53, and takes the string "2" for the number 2 when a request
// is cancelled. Such an id travels as a string of ours, sealed with a key, and
// is put back in what goes out.
type idBook struct{ key [32]byte }

func newIDBook() (*idBook, error) {
	b := &idBook{}
	_, err := rand.Read(b.key[:])
	return b, err
}

const disguised = `"od:` // how an id that travels as a string of ours begins

var disguisedID = regexp.MustCompile(`"od:[A-Za-z0-9_-]+:[A-Za-z0-9_-]{22}"`)

// carry replaces the id of a message, and the one that a cancellation names.
func (b *idBook) carry(raw []byte, e *envelope) []byte {
	id, of := b.disguise(e.ID), b.disguise(e.Params.RequestID)
	if id == nil && of == nil {
		return raw
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	if id != nil {
		m["id"] = id
	}
	if of != nil && e.Method == methodCancelled {
		var params map[string]json.RawMessage
		if json.Unmarshal(m["params"], &params) != nil {
			return raw
		}
		params["requestId"] = of
		m["params"], _ = json.Marshal(params) // of raw JSON values: cannot fail
	}
	out, err := json.Marshal(m)
	if err != nil {
		return raw
	}
	return out
}

// disguise is the string that id travels as; nil if it may go as it is.
func (b *idBook) disguise(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || !strange(id) {
		return nil
	}
	return json.RawMessage(disguised + b.sealed(string(id)) + `"`)
}

// sealed is a text that [idBook.opened] takes back, and no other.
func (b *idBook) sealed(text string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(text)) + ":" + b.mac([]byte(text))
}

// opened is the text that was sealed; "" if it was not sealed here.
func (b *idBook) opened(sealed string) string {
	coded, mac, _ := strings.Cut(sealed, ":")
	text, err := base64.RawURLEncoding.DecodeString(coded)
	if err != nil || !hmac.Equal([]byte(mac), []byte(b.mac(text))) {
		return ""
	}
	return string(text)
}

// strange finds ids that the library changes or takes for another's.
func strange(id json.RawMessage) bool {
	var s string
	if json.Unmarshal(id, &s) == nil {
		_, err := strconv.ParseFloat(s, 64)
		return err == nil
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return wholeNumber.Match(id) && (err != nil || n > 1<<53 || n < -1<<53 || string(id) == "-0")
}

func (b *idBook) mac(id []byte) string {
	m := hmac.New(sha256.New, b.key[:])
	m.Write(id)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}

// restore puts the ids back into what goes out.
func (b *idBook) restore(out []byte) []byte {
	if !bytes.Contains(out, []byte(disguised)) {
		return out
	}
	return disguisedID.ReplaceAllFunc(out, func(found []byte) []byte {
		if id := b.opened(string(found[len(disguised) : len(found)-1])); id != "" {
			return []byte(id)
		}
		return found
	})
}

// answerProblems answers a request over HTTP that goes no further.
func answerProblems(w http.ResponseWriter, status int, wrong ...*problem) {
	var lines [][]byte
	for _, p := range wrong {
		lines = append(lines, p.line())
	}
	out := bytes.Join(lines, []byte(","))
	if len(lines) > 1 {
		out = append(append([]byte("["), out...), ']')
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(out)
}
