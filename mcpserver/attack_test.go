package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// secrets are texts of anna's that ben must not see.
var secrets = []string{"ANNA-PLAN", "ANNA-REASON", "ANNA-MEMO"}

// victim makes a run of anna's with everything in it that can leak.
func (s *site) victim(who tools.Principal) string {
	s.t.Helper()
	run := s.ok(who, list, `{"sales_organization":"1010"}`).Run
	for _, c := range [][2]string{
		{"sales_order_get_block_summary", `{"sales_order":"4711"}`},
		{"customer_get_credit_exposure", `{"customer":"10023","sales_order":"4711"}`},
		{"credit_release_request_create", `{"sales_order":"4711","justification":"Order 4711 is 5.0 percent over the limit. ANNA-REASON"}`},
		{"plan_update", `{"items":[{"sales_order":"4725","status":"needs_attention","note":"ANNA-PLAN"}]}`},
		{"memory_save_note", `{"subject":"customer 10077","note":"ANNA-MEMO"}`},
	} {
		s.ok(who, c[0], c[1])
	}
	return run
}

// attacks are all requests that take a run, aimed at one, and some at nothing.
func attacks(d *desk, run string) (aimed, blind []string) {
	id := 10
	add := func(list *[]string, method, params string) {
		id++
		*list = append(*list, rpc(fmt.Sprint(id), method, params))
	}
	names := []string{"run_start", "run_status", "run_finish", "run_list", "approval_list", "approval_decide"}
	for _, t := range d.hosts.hosted.Tools() {
		names = append(names, t.Name)
	}
	for _, name := range names {
		args := `{"run_id":"` + run + `"}`
		for _, t := range d.hosts.hosted.Tools() {
			if example := t.Schema.Example(); t.Name == name && strings.HasPrefix(example, `{"`) {
				args = `{"run_id":"` + run + `",` + example[1:]
			}
		}
		if name == "run_finish" {
			args = `{"run_id":"` + run + `","answer":"by ben"}`
		}
		add(&aimed, "tools/call", `{"name":"`+name+`","arguments":`+args+`}`)
	}
	for _, part := range []string{"", "/briefing", "/trace", "/", "?x", "#x", "/../" + run, "/%62riefing"} {
		uri := `{"uri":"run://` + run + part + `"}`
		add(&aimed, "resources/read", uri)
		add(&aimed, "resources/subscribe", uri)
		add(&aimed, "resources/unsubscribe", uri)
	}
	add(&aimed, "prompts/get", `{"name":"continue_run","arguments":{"run_id":"`+run+`"}}`)
	add(&aimed, "completion/complete", `{"ref":{"type":"ref/prompt","name":"continue_run"},"argument":{"name":"run_id","value":"`+run+`"}}`)
	add(&aimed, "completion/complete", `{"ref":{"type":"ref/resource","uri":"run://{id}/trace"},"argument":{"name":"id","value":"`+run+`"}}`)
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/result", "sampling/createMessage", "orderdesk/read"} {
		add(&aimed, method, `{"taskId":"`+run+`","run_id":"`+run+`"}`)
	}
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list", "ping", "roots/list"} {
		add(&blind, method, `{}`)
	}
	add(&blind, "resources/read", `{"uri":"memory://notes"}`)
	add(&blind, "resources/read", `{"uri":"memory://"}`)
	add(&blind, "prompts/get", `{"name":"work_through"}`)
	add(&blind, "prompts/get", `{"name":"review_requests"}`)
	add(&blind, "logging/setLevel", `{"level":"debug"}`)
	for _, name := range []string{"run_list", "run_status"} {
		add(&blind, "tools/call", `{"name":"`+name+`","arguments":{}}`)
	}
	for _, prefix := range []string{"", "2", run[:8]} {
		add(&blind, "completion/complete", `{"ref":{"type":"ref/prompt","name":"continue_run"},"argument":{"name":"run_id","value":"`+prefix+`"}}`)
	}
	return aimed, blind
}

// asBen sends messages of ben's over a transport and returns all that comes
// back, one text per message.
func (s *site) asBen(how string, messages []string) []string {
	s.t.Helper()
	auth := "Authorization: Bearer " + s.bens
	var answers []string
	switch how {
	case "http":
		_, header, _ := s.post("/mcp", initialize, auth)
		for _, m := range messages {
			_, _, body := s.post("/mcp", m, auth, "Mcp-Session-Id: "+header.Get("Mcp-Session-Id"))
			answers = append(answers, body)
		}
	case "modern":
		for _, m := range messages {
			method := regexp.MustCompile(`"method":"([^"]*)"`).FindStringSubmatch(m)[1]
			headers := []string{auth, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
			if name := regexp.MustCompile(`"params":\{"(?:name|uri)":"([^"]*)"`).FindStringSubmatch(m); name != nil && method != "completion/complete" {
				headers = append(headers, "Mcp-Name: "+name[1])
			}
			m = strings.TrimSuffix(m, "}}") + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`
			m = strings.Replace(m, `{,"_meta"`, `{"_meta"`, 1)
			_, _, body := s.post("/mcp", m, headers...)
			answers = append(answers, body)
		}
	case "sse":
		l := s.listener("sse", ben)
		for _, m := range messages {
			l.say(m)
			answers = append(answers, l.hear())
		}
	default:
		k := s.talkAs(ben)
		k.say(initialize)
		k.hear()
		for _, m := range messages {
			k.say(m)
			answers = append(answers, k.hear())
		}
		k.in.Close()
		<-k.end
	}
	return answers
}

// TestTwoUsers attacks a run of anna's with every method on every transport:
// nothing of it is shown or touched, and a run that is another's cannot be told
// from one that is not there.
func TestTwoUsers(t *testing.T) {
	const unknown = "20200101-000000-00000000"
	for _, how := range []string{"stdio", "sse", "http", "modern"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t)
			run := s.victim(principal(how, anna))
			before, commits := s.outcome(run), s.updated(run)
			aimed, blind := attacks(s.desk, run)
			others, _ := attacks(s.desk, unknown)
			got, want := s.asBen(how, aimed), s.asBen(how, others)
			for i := range aimed {
				if strings.ReplaceAll(got[i], run, unknown) != want[i] {
					t.Errorf("%s\n%s\nfor an unknown run: %s", aimed[i], got[i], want[i])
				}
			}
			refused := 0
			for i, a := range got {
				if strings.Contains(a, `"isError":true`) || strings.Contains(a, `"error"`) || strings.Contains(a, `"values":[]`) || strings.Contains(a, `"tools":[]`) || strings.Contains(aimed[i], "subscribe") || strings.Contains(aimed[i], "run_list") {
					refused++
				} else {
					t.Errorf("%s\n%s", aimed[i], a)
				}
			}
			for i, a := range s.asBen(how, blind) {
				if strings.Contains(a, run) {
					t.Errorf("%s\n%s", blind[i], a)
				}
				got = append(got, a)
			}
			for _, secret := range secrets {
				if all := strings.Join(got, "\n"); strings.Contains(all, secret) {
					t.Errorf("%s is shown:\n%s", secret, all)
				}
			}
			if after := s.outcome(run); fmt.Sprint(after) != fmt.Sprint(before) || s.updated(run) != commits {
				t.Errorf("changed: %+v\nwas %+v", after, before)
			}
		})
	}
}

// updated is a text that another one follows when anything of the run changes.
func (d *desk) updated(run string) (state string) {
	d.t.Helper()
	err := d.store.Look(d.t.Context(), run, func(_ *runstore.Tx, r *runstore.Run) error {
		state = fmt.Sprint(r.Updated.UnixNano(), r.TraceSeq, r.Used, r.Lease)
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return state
}

// TestTwoUsers_Updates: who subscribes to another's run hears nothing of it, and
// unsubscribing from it takes nothing away.
func TestTwoUsers_Updates(t *testing.T) {
	for _, how := range []string{"http", "sse", "stdio"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t)
			if how == "stdio" { // one process serves one host: another door on the store is another's
				s.hosts = s.door(Options{})
			}
			annas, bens := s.ok(principal(how, anna), "run_start", "{}").Run, s.ok(principal(how, ben), "run_start", "{}").Run
			l := s.listener(how, ben)
			for i, m := range []string{rpc("1", "resources/subscribe", `{"uri":"run://`+annas+`"}`), rpc("2", "resources/subscribe", `{"uri":"run://`+bens+`"}`)} {
				if l.say(m); how != "http" {
					if got := l.hear(); !strings.Contains(got, fmt.Sprintf(`"id":%d,"result":{}`, i+1)) {
						t.Fatal(got)
					}
				}
			}
			for range 3 {
				s.ok(principal(how, anna), list, `{"sales_organization":"1010"}`)
				s.hosts.feed.look(t.Context())
			}
			s.ok(principal(how, ben), list, `{"sales_organization":"1010"}`)
			if got := l.hear(); !strings.Contains(got, "run://"+bens) {
				t.Errorf("ben hears %s", got)
			}
		})
	}
	s := newSite(t)
	run := s.ok(principal("sse", anna), "run_start", "{}").Run
	hers, his := s.listener("sse", anna), s.listener("sse", ben)
	hers.say(rpc("1", "resources/subscribe", `{"uri":"run://`+run+`"}`))
	hers.hear()
	his.say(rpc("1", "resources/unsubscribe", `{"uri":"run://`+run+`"}`))
	his.hear()
	s.ok(principal("sse", anna), list, `{"sales_organization":"1010"}`)
	if got := hers.hear(); !strings.Contains(got, "run://"+run) {
		t.Errorf("anna hears %s", got)
	}
}

// TestTwoUsers_Cancel: no cancellation of ben's ends a call of anna's, whatever
// door, session or revision it names.
func TestTwoUsers_Cancel(t *testing.T) {
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	modernCancel := strings.Replace(cancel, `"requestId":7`, `"requestId":7,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, 1)
	for _, how := range []string{"http", "modern", "sse"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t)
			let, reached := s.slow()
			s.serve()
			auth, bens := "Authorization: Bearer "+s.annas, "Authorization: Bearer "+s.bens
			answer, session, post := make(chan string, 1), "", ""
			switch how {
			case "http":
				_, header, _ := s.post("/mcp", initialize, auth)
				session = header.Get("Mcp-Session-Id")
				go func() {
					_, _, body := s.post("/mcp", toolCall("7", "run_start", "{}"), auth, "Mcp-Session-Id: "+session)
					answer <- body
				}()
			case "modern":
				go func() {
					_, _, body := s.post("/mcp", modernCall("7", "run_start", "{}"), append(modernHeaders("run_start"), auth)...)
					answer <- body
				}()
			case "sse":
				ctx, drop := context.WithCancel(t.Context())
				t.Cleanup(drop)
				to, lines := s.stream(ctx, s.annas)
				post = to
				s.post(post, initialize, auth)
				s.event(lines)
				s.post(post, toolCall("7", "run_start", "{}"), auth)
				go func() { answer <- s.event(lines) }()
			}
			<-reached
			_, header, _ := s.post("/mcp", initialize, bens)
			own := "Mcp-Session-Id: " + header.Get("Mcp-Session-Id")
			for _, m := range []string{cancel, modernCancel} {
				s.post("/mcp", m, bens)
				s.post("/mcp", m, bens, own)
				s.post("/mcp", m, bens, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: notifications/cancelled")
				if session != "" {
					if status, _, _ := s.post("/mcp", m, bens, "Mcp-Session-Id: "+session); status != http.StatusNotFound {
						t.Errorf("with anna's session: %d", status)
					}
				}
				if post != "" {
					if status, _, _ := s.post(post, m, bens); status != http.StatusNotFound {
						t.Errorf("to anna's stream: %d", status)
					}
				}
			}
			let()
			if got := <-answer; !strings.Contains(got, `"id":7,"result"`) || strings.Contains(got, `"isError":true`) {
				t.Errorf("anna is answered %s", got)
			}
		})
	}
}
