package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"orderdesk/runstore"
)

// maxTraced bounds what a trace entry keeps of arguments and of a result.
const maxTraced = 4096

// answer turns a tool's output, or its refusal, into a result. Any other error
// stays one.
func answer(out any, err error) (Result, error) {
	if err != nil {
		if r, ok := AsRefusal(err); ok {
			return Result{JSON: encode(map[string]string{"error": r.Text}), Refused: true}, nil
		}
		return Result{}, err
	}
	raw, err := marshal(out)
	return Result{JSON: raw}, err
}

// Stopped is the answer to a call that was not made because the run has
// stopped.
func Stopped(why *runstore.StopReason) Result {
	text := "Not done: " + why.Message + ". A person can raise a limit or resume the run."
	return Result{JSON: encode(map[string]string{"error": text}), Refused: true, Stop: why}
}

// marshal is json.Marshal without escaping of HTML characters, which would
// only cost a model characters.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encode marshals what cannot fail.
func encode(v map[string]string) json.RawMessage {
	raw, err := marshal(v)
	if err != nil {
		return json.RawMessage(`{"error":"unreadable"}`)
	}
	return raw
}

// WithMember adds a member to a JSON object.
func WithMember(object json.RawMessage, key string, v any) (json.RawMessage, error) {
	raw, err := marshal(v)
	if err != nil {
		return nil, err
	}
	out := append(json.RawMessage{}, bytes.TrimSuffix(object, []byte("}"))...)
	if !bytes.Equal(object, []byte("{}")) {
		out = append(out, ',')
	}
	out = append(append(append(out, '"'), key...), '"', ':')
	return append(append(out, raw...), '}'), nil
}

// bounded is raw, or a JSON string with its beginning when it is too long for
// a trace entry.
func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxTraced {
		return raw
	}
	short, err := json.Marshal(Limit(string(raw), maxTraced/2))
	if err != nil {
		return json.RawMessage(`"..."`)
	}
	return short
}

// asSent is what came instead of good arguments, for trace and guard: as it is
// if it is JSON, otherwise as a JSON string with its beginning.
func asSent(args []byte) json.RawMessage {
	switch {
	case len(bytes.TrimSpace(args)) == 0:
		return json.RawMessage("{}")
	case utf8.Valid(args) && json.Valid(args):
		return args
	}
	short, err := json.Marshal(Limit(string(args), maxTraced/2))
	if err != nil {
		return json.RawMessage(`"..."`)
	}
	return short
}

// callHash names a call for the repetition guard.
func callHash(name string, args json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(args)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
