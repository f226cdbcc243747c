package approvalgate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gowebpki/jcs"

	"orderdesk/runstore"
)

// EnvelopeSchema is the version of the envelope's form.
const EnvelopeSchema = "orderdesk-envelope/1"

const (
	maxEnvelope = 8 << 10
	maxDepth    = 32
)

// Envelope is what a person approves and what is carried out; the package
// comment describes its canonical bytes.
type Envelope struct {
	Schema    string            `json:"schema"`
	Run       string            `json:"run"`
	Action    string            `json:"action"`
	Tool      string            `json:"tool"`
	Target    runstore.Target   `json:"target"`
	Arguments json.RawMessage   `json:"arguments"`
	Role      string            `json:"required_role"`
	Evidence  map[string]string `json:"evidence"`
	Amount    string            `json:"amount"`
	Rule      string            `json:"rule"`
	Queued    time.Time         `json:"queued"`
	Expires   time.Time         `json:"expires"`
}

// Key is the idempotency key under which the envelope is carried out.
func (e *Envelope) Key() string { return e.Run + "/" + e.Action }

// SealError says that bytes and hash are not one sealed envelope.
type SealError struct{ What string }

// Error says what is wrong, without the bytes.
func (e *SealError) Error() string { return "envelope: " + e.What }

// Hash is the hash of an envelope's canonical bytes: "h1:" and 64 hex digits.
func Hash(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return "h1:" + hex.EncodeToString(sum[:])
}

// Open decodes the sealed bytes of an envelope. It accepts only the canonical
// form, only the fields of the form, and only bytes that have the given hash;
// everything else is a [*SealError].
func Open(sealed []byte, hash string) (Envelope, error) {
	if Hash(sealed) != hash {
		return Envelope{}, &SealError{"its bytes do not have its hash"}
	}
	if len(sealed) > maxEnvelope {
		return Envelope{}, &SealError{fmt.Sprintf("it has more than %d bytes", maxEnvelope)}
	}
	var e Envelope
	d := json.NewDecoder(bytes.NewReader(sealed))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return Envelope{}, &SealError{"it is not in the form " + EnvelopeSchema}
	}
	again, _, err := seal(e)
	if err != nil {
		return Envelope{}, err
	}
	if !bytes.Equal(again, sealed) {
		return Envelope{}, &SealError{"its bytes are not canonical"}
	}
	return e, nil
}

// seal returns the canonical bytes of e and their hash.
func seal(e Envelope) ([]byte, string, error) {
	if err := e.check(); err != nil {
		return nil, "", err
	}
	if err := checkArguments(e.Arguments); err != nil {
		return nil, "", err
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, "", &SealError{"it cannot be written as JSON"}
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return nil, "", &SealError{"it has no canonical form"}
	}
	if len(canonical) > maxEnvelope {
		return nil, "", &SealError{fmt.Sprintf("it has more than %d bytes", maxEnvelope)}
	}
	return canonical, Hash(canonical), nil
}

func (e *Envelope) check() error {
	bad := func(field string) error { return &SealError{"its field " + field + " is not valid"} }
	switch {
	case e.Schema != EnvelopeSchema:
		return bad("schema")
	case !runstore.ValidRunID(e.Run):
		return bad("run")
	case !actionForm.MatchString(e.Action):
		return bad("action")
	case !toolForm.MatchString(e.Tool):
		return bad("tool")
	case !partForm.MatchString(e.Target.Kind) || !partForm.MatchString(e.Target.ID):
		return bad("target")
	case e.Target.Group != "" && !partForm.MatchString(e.Target.Group):
		return bad("target.group")
	case !roleForm.MatchString(e.Role):
		return bad("required_role")
	case !amountForm.MatchString(e.Amount):
		return bad("amount")
	case lineProblem(e.Rule, 80) != "":
		return bad("rule")
	case !utc(e.Queued):
		return bad("queued")
	case !utc(e.Expires) || !e.Expires.After(e.Queued):
		return bad("expires")
	}
	return e.checkEvidence()
}

func utc(t time.Time) bool {
	_, offset := t.Zone()
	return offset == 0 && !t.IsZero()
}

func (e *Envelope) checkEvidence() error {
	if e.Evidence == nil || len(e.Evidence) > 32 {
		return &SealError{"its field evidence is not valid"}
	}
	for name, text := range e.Evidence {
		if !evidenceForm.MatchString(name) || lineProblem(text, 200) != "" {
			return &SealError{"its field evidence is not valid"}
		}
	}
	return nil
}

// checkArguments refuses what RFC 8785 would change in meaning or cannot
// write: numbers a double does not hold exactly, doubled keys, bad UTF-8.
func checkArguments(raw json.RawMessage) error {
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
		return &SealError{"its arguments are not an object"}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for depth := 0; ; {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &SealError{"its arguments are not JSON"}
		}
		if depth, err = checkToken(t, depth); err != nil {
			return err
		}
	}
	if _, err := jcs.Transform(raw); err != nil {
		return &SealError{"its arguments have a doubled key or a text that is not Unicode"}
	}
	return nil
}

// checkToken returns the nesting depth after t.
func checkToken(t json.Token, depth int) (int, error) {
	switch t := t.(type) {
	case json.Delim:
		if t == '}' || t == ']' {
			return depth - 1, nil
		}
		if depth++; depth > maxDepth {
			return depth, &SealError{fmt.Sprintf("its arguments are nested deeper than %d levels", maxDepth)}
		}
	case json.Number:
		if !numberForm.MatchString(t.String()) {
			return depth, &SealError{"its arguments have a number that is no integer of at most 15 digits; send it as text"}
		}
	}
	return depth, nil
}

// open is the envelope that a's sealed bytes hold. hash is what a person saw;
// every field beside the seal must say the same as the seal.
func open(a *runstore.Action, hash string) (Envelope, error) {
	if a.Hash != hash {
		return Envelope{}, &SealError{"it is not the one that was decided on"}
	}
	e, err := Open(a.Envelope, hash)
	if err != nil {
		return Envelope{}, err
	}
	if e.Run != a.Run || e.Action != a.ID || e.Tool != a.Tool || e.Target != a.Target ||
		e.Role != a.Role || !e.Queued.Equal(a.Queued) || !e.Expires.Equal(a.Expires) {
		return Envelope{}, &SealError{"the record around it was changed"}
	}
	return e, nil
}
