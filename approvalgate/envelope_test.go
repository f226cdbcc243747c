package approvalgate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"orderdesk/runstore"
)

func sample() Envelope {
	p := proposal("4711")
	at := time.Date(2026, 10, 6, 0, 43, 49, 0, time.UTC)
	return Envelope{
		Schema: EnvelopeSchema, Run: "20261006-004349-d40a1b2c", Action: "A1", Tool: p.Tool, Target: p.Target,
		Arguments: json.RawMessage(`{"sales_order":"4711","days":3}`), Role: p.Role, Evidence: p.Evidence,
		Amount: p.Amount, Rule: p.Rule, Queued: at, Expires: at.Add(DefaultLifetime),
	}
}

// The bytes and hash below were checked by hand: printf '%s' BYTES | sha256sum.
func TestEnvelopeBytes(t *testing.T) {
	got, hash, err := seal(sample())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"action":"A1","amount":"2500.00 EUR","arguments":{"days":3,"sales_order":"4711"},` +
		`"evidence":{"exposure":"52500.00","limit":"50000.00","read_at":"2026-10-06T08:59:00Z"},` +
		`"expires":"2026-10-09T00:43:49Z","queued":"2026-10-06T00:43:49Z","required_role":"CREDIT_MANAGER",` +
		`"rule":"role-rule/1","run":"20261006-004349-d40a1b2c","schema":"orderdesk-envelope/1",` +
		`"target":{"group":"C1","id":"4711","kind":"sales_order"},"tool":"release_request_create"}`
	if string(got) != want {
		t.Errorf("bytes\n got %s\nwant %s", got, want)
	}
	if want := "h1:0f0abd640ee30c8dbb2cbd04de3040d86d70def1ba44dd888f3900d206e4f4ee"; hash != want {
		t.Errorf("hash: got %s, want %s", hash, want)
	}
	e, err := Open(got, hash)
	if err != nil || e.Target != sample().Target || e.Key() != "20261006-004349-d40a1b2c/A1" {
		t.Errorf("Open: %+v, %v", e, err)
	}
}

// Every other spelling of an envelope is no envelope, even with a hash of its own.
func TestOpenOneFormOnly(t *testing.T) {
	sealed, hash, err := seal(sample())
	if err != nil {
		t.Fatal(err)
	}
	for name, swap := range map[string][2]string{
		"white space":     {`{"action"`, `{ "action"`},
		"sequence":        {`"amount":"2500.00 EUR",`, ``},
		"unknown key":     {`"amount"`, `"alias":"x","amount"`},
		"doubled key":     {`"amount"`, `"action":"A1","amount"`},
		"key case":        {`"amount"`, `"Amount"`},
		"escape":          {`"A1"`, `"\u00411"`},
		"number":          {`"days":3`, `"days":3.0`},
		"big number":      {`"days":3`, `"days":9007199254740993`},
		"zone":            {`2026-10-06T00:43:49Z`, `2026-10-06T02:43:49+02:00`},
		"zone of zero":    {`2026-10-06T00:43:49Z`, `2026-10-06T00:43:49+00:00`},
		"null evidence":   {`{"exposure":"52500.00","limit":"50000.00","read_at":"2026-10-06T08:59:00Z"}`, `null`},
		"empty group":     {`"group":"C1"`, `"group":""`},
		"missing group":   {`"amount":"2500.00 EUR"`, `"amount":null`},
		"other schema":    {`envelope/1`, `envelope/2`},
		"action name":     {`"A1"`, `"A01"`},
		"bad UTF-8":       {`"4711"}`, "\"4711\xff\"}"},
		"lone surrogate":  {`"sales_order":"4711"`, `"sales_order":"\ud800"`},
		"array arguments": {`{"days":3,"sales_order":"4711"}`, `[]`},
		"trailing":        {`"release_request_create"}`, `"release_request_create"}{}`},
		"bidi evidence":   {`"50000.00"`, "\"50000.00\u202e\""},
	} {
		t.Run(name, func(t *testing.T) {
			other := strings.Replace(string(sealed), swap[0], swap[1], 1)
			if other == string(sealed) {
				t.Fatal("nothing changed")
			}
			var no *SealError
			if _, err := Open([]byte(other), Hash([]byte(other))); !errors.As(err, &no) {
				t.Errorf("with its own hash: got %v, want a SealError", err)
			}
			if _, err := Open([]byte(other), hash); !errors.As(err, &no) {
				t.Errorf("with the old hash: got %v, want a SealError", err)
			}
		})
	}
}

func TestSealRefuses(t *testing.T) {
	for name, change := range map[string]func(*Envelope){
		"no run":         func(e *Envelope) { e.Run = "A1" },
		"role":           func(e *Envelope) { e.Role = "manager" },
		"target":         func(e *Envelope) { e.Target.ID = "47/11" },
		"amount":         func(e *Envelope) { e.Amount = "2,500" },
		"rule":           func(e *Envelope) { e.Rule = "a\nb" },
		"no time":        func(e *Envelope) { e.Expires = e.Queued },
		"zone":           func(e *Envelope) { e.Queued = e.Queued.In(time.FixedZone("", 7200)) },
		"null arguments": func(e *Envelope) { e.Arguments = nil },
		"doubled key":    func(e *Envelope) { e.Arguments = json.RawMessage(`{"a":"1","a":"2"}`) },
		"bad UTF-8":      func(e *Envelope) { e.Arguments = json.RawMessage("{\"a\":\"\xff\"}") },
		"fraction":       func(e *Envelope) { e.Arguments = json.RawMessage(`{"a":0.1}`) },
		"minus zero":     func(e *Envelope) { e.Arguments = json.RawMessage(`{"a":-0}`) },
		"deep": func(e *Envelope) {
			e.Arguments = json.RawMessage(strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33))
		},
		"large":           func(e *Envelope) { e.Arguments = json.RawMessage(`{"a":"` + strings.Repeat("x", 8<<10) + `"}`) },
		"evidence name":   func(e *Envelope) { e.Evidence = map[string]string{"Exposure": "1"} },
		"two values":      func(e *Envelope) { e.Arguments = json.RawMessage(`{}{}`) },
		"nothing at all":  func(e *Envelope) { *e = Envelope{} },
		"control in time": func(e *Envelope) { e.Expires = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			e := sample()
			change(&e)
			var no *SealError
			if _, _, err := seal(e); !errors.As(err, &no) {
				t.Errorf("got %v, want a SealError", err)
			}
		})
	}
}

func TestAPR17_AccentsInTwoForms(t *testing.T) {
	hashes := map[string]bool{}
	for _, word := range []string{"caf\u00e9", "cafe\u0301"} {
		e := sample()
		e.Arguments = json.RawMessage(`{"justification":"` + word + `"}`)
		sealed, hash, err := seal(e)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(sealed), word) {
			t.Errorf("%q was rewritten: %s", word, sealed)
		}
		hashes[hash] = true
	}
	if len(hashes) != 2 {
		t.Error("both forms have one hash")
	}
}

// What the store keeps is byte for byte what was sealed, also for characters
// that JSON encoders like to escape, and bidi marks in the agent's text.
func TestINJ08_BytesUnchanged(t *testing.T) {
	d := newDesk(t)
	p := proposal("4711")
	text := "<b>&\u2028 order \u202e0474\u202c"
	raw, err := json.Marshal(map[string]string{"justification": text})
	d.must(err)
	p.Arguments = raw
	q := d.queue(d.run(), p)
	a := d.action(q.Action.Run, "A1")
	if string(a.Envelope) != string(q.Action.Envelope) || Hash(a.Envelope) != a.Hash {
		t.Errorf("stored bytes are not the sealed ones:\n%q\n%q", a.Envelope, q.Action.Envelope)
	}
	e, err := Open(a.Envelope, a.Hash)
	d.must(err)
	var args map[string]string
	d.must(json.Unmarshal(e.Arguments, &args))
	if args["justification"] != text {
		t.Errorf("got %q, want %q", args["justification"], text)
	}
}

func TestHashOfEveryField(t *testing.T) {
	_, first, err := seal(sample())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Envelope){
		"run":       func(e *Envelope) { e.Run = "20261006-004349-d40a1b2d" },
		"action":    func(e *Envelope) { e.Action = "A2" },
		"tool":      func(e *Envelope) { e.Tool = "other" },
		"target":    func(e *Envelope) { e.Target.ID = "4740" },
		"group":     func(e *Envelope) { e.Target = runstore.Target{Kind: e.Target.Kind, ID: e.Target.ID} },
		"arguments": func(e *Envelope) { e.Arguments = json.RawMessage(`{"sales_order":"4711","days":4}`) },
		"role":      func(e *Envelope) { e.Role = head },
		"evidence":  func(e *Envelope) { e.Evidence = map[string]string{"exposure": "1"} },
		"amount":    func(e *Envelope) { e.Amount = "" },
		"rule":      func(e *Envelope) { e.Rule = "role-rule/2" },
		"queued":    func(e *Envelope) { e.Queued = e.Queued.Add(1) },
		"expires":   func(e *Envelope) { e.Expires = e.Expires.Add(1) },
	} {
		e := sample()
		change(&e)
		if _, hash, err := seal(e); err != nil || hash == first {
			t.Errorf("%s: hash %s, error %v", name, hash, err)
		}
	}
}

// FuzzOpen: whatever opens under its own hash seals to the same bytes.
func FuzzOpen(f *testing.F) {
	sealed, _, err := seal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte(strings.Replace(string(sealed), `"A1"`, `"A2"`, 1)))
	f.Add([]byte(strings.Replace(string(sealed), `:`, `: `, 1)))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		hash := Hash(raw)
		e, err := Open(raw, hash)
		if err != nil {
			return
		}
		again, h, err := seal(e)
		if err != nil || string(again) != string(raw) || h != hash {
			t.Errorf("opened %q, sealed %q, %v", raw, again, err)
		}
		for _, other := range [][]byte{append([]byte(" "), raw...), append(raw[:len(raw):len(raw)], '\n')} {
			if _, err := Open(other, Hash(other)); err == nil {
				t.Errorf("two forms of one envelope: %q", other)
			}
		}
	})
}
