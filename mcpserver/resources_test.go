package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"orderdesk/runstore"
	"orderdesk/tools"
)

func rpc(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

// ask makes one request over standard input and returns its answer.
func (d *desk) ask(method, params string) string {
	d.t.Helper()
	got := answersTo(d.lines(initialize, initialized, rpc("2", method, params)), "2")
	if len(got) != 1 {
		d.t.Fatalf("%s %s: %q", method, params, got)
	}
	return got[0]
}

// resource reads one and returns its text.
func (d *desk) resource(uri string) string {
	d.t.Helper()
	var m struct {
		Result struct {
			Contents []struct{ URI, Text, MIMEType string }
		}
	}
	raw := d.ask("resources/read", `{"uri":"`+uri+`"}`)
	if err := json.Unmarshal([]byte(raw), &m); err != nil || len(m.Result.Contents) != 1 || m.Result.Contents[0].URI != uri {
		d.t.Fatalf("%s: %s", uri, raw)
	}
	return m.Result.Contents[0].Text
}

// TestResources: a run's parts and one's notes can be read; another's cannot,
// and are not told from what is not there.
func TestResources(t *testing.T) {
	d := newDesk(t)
	run := d.drive(anna).ID
	foreign := d.ok(ben, list, `{"sales_organization":"1010"}`).Run
	d.ok(ben, "memory_save_note", `{"subject":"customer 10023","note":"of ben","run_id":"`+foreign+`"}`)
	var v struct {
		RunID   string `json:"run_id"`
		Status  runstore.Status
		Plan    []map[string]any
		Actions []map[string]any
		Shown   string `json:"plan_shown"`
		Budget  map[string]int
	}
	if err := json.Unmarshal([]byte(d.resource("run://"+run)), &v); err != nil || v.RunID != run || v.Status != runstore.Waiting || len(v.Plan) != 4 ||
		v.Plan[0]["sales_order"] != "4711" || len(v.Actions) != 2 || v.Actions[1]["required_role"] != "HEAD_OF_FINANCE" || v.Shown != "1 to 4 of 4" || v.Budget["max_tool_calls"] == 0 {
		t.Errorf("%v, %+v", err, v)
	}
	if text := d.resource("run://" + run + "/briefing"); !strings.Contains(text, `{"action":"A1"`) {
		t.Errorf("briefing: %s", text)
	}
	if text := d.resource("run://" + run + "/trace"); !strings.Contains(text, `"kind": "queued"`) || !strings.Contains(text, `"shown": "1 to `) {
		t.Errorf("trace: %s", text)
	}
	if text := d.resource(notesURI); !strings.Contains(text, run) || strings.Contains(text, "of ben") {
		t.Errorf("notes: %s", text)
	}
	if raw := d.ask("resources/list", `{}`); !strings.Contains(raw, "run://"+run) || strings.Contains(raw, foreign) || !strings.Contains(raw, notesURI) {
		t.Errorf("list: %s", raw)
	}
	if raw := d.ask("resources/templates/list", `{}`); strings.Count(raw, "run://{id}") != 3 {
		t.Errorf("templates: %s", raw)
	}
	unknown := "20200101-000000-00000000"
	for _, part := range []string{"", "/briefing", "/trace", "/x", "/briefing/trace", "?a=1", "/"} {
		other := d.ask("resources/read", `{"uri":"run://`+unknown+part+`"}`)
		if got := d.ask("resources/read", `{"uri":"run://`+foreign+part+`"}`); strings.ReplaceAll(got, foreign, unknown) != other || !strings.Contains(got, `"code":-32002`) {
			t.Errorf("%q: foreign %s, unknown %s", part, got, other)
		}
	}
}

// TestBoundedResources: a long run is shown in part, and the part is named.
func TestBoundedResources(t *testing.T) {
	d := newDesk(t)
	id := d.ok(anna, "run_start", "{}").Run
	err := d.store.Step(t.Context(), id, func(tx *runstore.Tx, r *runstore.Run) error {
		r.Plan.Made = true
		for i := range 500 {
			if _, _, err := tx.AddItem(r, fmt.Sprint(10000+i)); err != nil {
				return err
			}
			if err := tx.Trace(r, runstore.TraceSegment, map[string]int{"n": i}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := d.resource("run://" + id); !strings.Contains(text, `"plan_shown": "1 to 200 of 500"`) || strings.Contains(text, "10200") {
		t.Errorf("plan: %d bytes", len(text))
	}
	if text := d.resource("run://" + id + "/trace"); !strings.Contains(text, `"shown": "302 to 501 of 501"`) || !strings.Contains(text, `"n": 499`) {
		t.Errorf("trace: %s", text[len(text)-200:])
	}
}

func TestCompletions(t *testing.T) {
	d := newDesk(t)
	first, second := d.ok(anna, "run_start", "{}").Run, d.ok(anna, "run_start", "{}").Run
	d.ok(ben, "run_start", "{}")
	complete := func(ref, arg, value string) string {
		t.Helper()
		raw := d.ask("completion/complete", `{"ref":`+ref+`,"argument":{"name":"`+arg+`","value":"`+value+`"}}`)
		var m struct {
			Result struct {
				Completion struct {
					Values  []string
					Total   int
					HasMore bool
				}
			}
		}
		if err := json.Unmarshal([]byte(raw), &m); err != nil || m.Result.Completion.Values == nil {
			t.Fatal(raw)
		}
		return fmt.Sprint(m.Result.Completion.Values)
	}
	prompt, resource := `{"type":"ref/prompt","name":"continue_run"}`, `{"type":"ref/resource","uri":"run://{id}/trace"}`
	for _, tt := range []struct{ ref, arg, value, want string }{
		{prompt, "run_id", "", "[" + second + " " + first + "]"},
		{resource, "id", "2026", "[" + second + " " + first + "]"},
		{prompt, "run_id", first, "[" + first + "]"},
		{prompt, "run_id", "1999", "[]"},
		{prompt, "other", "", "[]"},
		{`{"type":"ref/prompt","name":"none"}`, "run_id", "", "[]"},
		{`{"type":"ref/resource","uri":"memory://notes"}`, "id", "", "[]"},
	} {
		if got := complete(tt.ref, tt.arg, tt.value); got != tt.want {
			t.Errorf("%s %s=%q: %s, want %s", tt.ref, tt.arg, tt.value, got, tt.want)
		}
	}
}

// listener is a subscriber on some transport.
type listener struct {
	say  func(message string)
	hear func() string // the next message
}

// listener opens a subscriber on a transport: anna's, or ben's.
func (s *site) listener(how string, of tools.Principal) listener {
	s.t.Helper()
	token := map[string]string{anna.Name: s.annas, ben.Name: s.bens}[of.Name]
	auth := "Authorization: Bearer " + token
	switch how {
	case "http":
		_, header, _ := s.post("/mcp", initialize, auth)
		id := "Mcp-Session-Id: " + header.Get("Mcp-Session-Id")
		lines := s.get("/mcp", auth, id)
		return listener{func(m string) { s.post("/mcp", m, auth, id) }, func() string { return s.event(lines) }}
	case "sse":
		post, lines := s.stream(s.t.Context(), token)
		s.post(post, initialize, auth)
		s.event(lines)
		return listener{func(m string) { s.post(post, m, auth) }, func() string { return s.event(lines) }}
	}
	k := s.talkAs(of)
	k.say(initialize)
	k.hear()
	return listener{func(m string) { k.say(m) }, k.hear}
}

// principal is who anna or ben is on a transport.
func principal(how string, of tools.Principal) tools.Principal {
	if how == "stdio" {
		return of
	}
	return tools.Principal{Name: strings.Replace(of.Name, "os:", "agent:", 1)}
}

// get opens a stream.
func (s *site) get(path string, header ...string) *bufio.Scanner {
	s.t.Helper()
	return s.openStream(http.MethodGet, path, "", header...)
}

func (s *site) openStream(method, path, body string, header ...string) *bufio.Scanner {
	s.t.Helper()
	res, err := http.DefaultClient.Do(s.newRequest(method, path, body, header...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d", method, path, res.StatusCode)
	}
	return bufio.NewScanner(res.Body)
}

// TestUpdates: who has subscribed hears of changes of one's own runs and notes,
// whoever makes them, and of nothing else.
func TestUpdates(t *testing.T) {
	for _, how := range []string{"http", "sse", "stdio"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t)
			who, other := principal(how, anna), ben
			run, foreign := s.ok(who, "run_start", "{}").Run, s.ok(other, "run_start", "{}").Run
			l := s.listener(how, anna)
			subscribe := func(method, uri string) {
				l.say(rpc("7", method, `{"uri":"`+uri+`"}`))
				if how != "http" { // there the answer is the POST's
					if got := l.hear(); !strings.Contains(got, `"id":7,"result":{}`) {
						t.Fatalf("%s %s: %s", method, uri, got)
					}
				}
			}
			subscribe("resources/subscribe", "run://"+foreign)
			subscribe("resources/subscribe", "run://"+run+"/trace")
			subscribe("resources/subscribe", notesURI)
			s.ok(other, list, `{"sales_organization":"1010"}`)
			s.ok(who, list, `{"sales_organization":"1010"}`)
			if got := l.hear(); !strings.Contains(got, `"method":"notifications/resources/updated"`) || !strings.Contains(got, "run://"+run+"/trace") {
				t.Fatalf("after a call: %s", got)
			}
			err := s.store.Step(t.Context(), run, func(tx *runstore.Tx, r *runstore.Run) error { // by another process, as it were
				return tx.Trace(r, runstore.TraceBudget, map[string]int{"tool_calls": 1})
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := l.hear(); !strings.Contains(got, "run://"+run+"/trace") {
				t.Fatalf("after a change by another: %s", got)
			}
			subscribe("resources/unsubscribe", "run://"+run+"/trace")
			s.ok(who, "memory_save_note", `{"subject":"customer 10023","note":"x"}`)
			if got := l.hear(); !strings.Contains(got, notesURI) {
				t.Fatalf("after a note: %s", got)
			}
		})
	}
}

// TestListen: the same in the newest revision, where a request's stream takes
// the updates, each with the request's id.
func TestListen(t *testing.T) {
	for _, how := range []string{"http", "stdio"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t)
			who := principal(how, anna)
			run, foreign := s.ok(who, "run_start", "{}").Run, s.ok(ben, "run_start", "{}").Run
			listen := `{"jsonrpc":"2.0","id":"9007199254740993","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["run://` + run + `","run://` + foreign +
				`"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`
			var hear func() string
			if how == "stdio" {
				k := s.talk()
				k.say(listen)
				hear = k.hear
			} else {
				lines := s.openStream(http.MethodPost, "/mcp", listen, "Authorization: Bearer "+s.annas, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
				hear = func() string { return s.event(lines) }
			}
			if got := hear(); !strings.Contains(got, "notifications/subscriptions/acknowledged") {
				t.Fatalf("first: %s", got)
			}
			for range 3 {
				s.ok(ben, list, `{"sales_organization":"1010"}`)
				s.ok(who, list, `{"sales_organization":"1010"}`)
				got := hear()
				if !strings.Contains(got, "notifications/resources/updated") || !strings.Contains(got, "run://"+run) || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"9007199254740993"`) {
					t.Fatalf("an update: %s", got)
				}
			}
		})
	}
}

// TestFeedEnds: nobody is watched for after the last subscriber has gone.
func TestFeedEnds(t *testing.T) {
	s := newSite(t)
	run := s.ok(anna, "run_start", "{}").Run
	k := s.talk()
	k.say(initialize)
	k.hear()
	k.say(rpc("7", "resources/subscribe", `{"uri":"run://`+run+`"}`))
	k.hear()
	f := s.hosts.feed
	count := func() int { f.mu.Lock(); defer f.mu.Unlock(); return len(f.subs) }
	if count() != 1 {
		t.Fatalf("%d subscribers", count())
	}
	k.in.Close()
	if err := <-k.end; err != nil {
		t.Fatal(err)
	}
	if count() != 0 {
		t.Errorf("%d subscribers after the end", count())
	}
}
