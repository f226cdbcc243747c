package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"orderdesk/runstore"
)

// TestArguments sends what models send wrong through a host's door: the model
// is told what to send instead, the call is charged and traced, and nothing is
// read or changed. Messages that mean two things go no further than the door.
func TestArguments(t *testing.T) {
	const summary, plan = "sales_order_get_block_summary", "plan_update"
	tests := []struct {
		name, tool, args string // args as written; "-": the member is missing
		want             []string
	}{
		{"ARG-01 number for a string id", summary, `{"sales_order":4711}`, []string{"sales_order", "4711"}},
		{"ARG-02 quoted twice", summary, `"\"{\\\"sales_order\\\":\\\"4711\\\"}\""`, []string{"quoted twice"}},
		{"ARG-04 missing", summary, `-`, []string{"sales_order"}},
		{"ARG-04 null", summary, `null`, []string{"sales_order"}},
		{"ARG-04 empty text", summary, `""`, []string{"sales_order"}},
		{"ARG-05 text for an item", plan, `{"items":["4711"]}`, []string{"items[0]"}},
		{"ARG-05 null for an item", plan, `{"items":[null]}`, []string{"items[0]"}},
		{"ARG-05 object for the list", plan, `{"items":{"sales_order":"4711","status":"todo","note":""}}`, []string{"items"}},
		{"ARG-07 extra key", "customer_get_credit_exposure", `{"customer":"10023","sales_order":"4711","why":"x"}`, []string{"why"}},
		{"ARG-12 above 2^53", summary, `{"sales_order":9007199254740993}`, []string{"9007199254740993"}},
		{"ARG-15 superscript", summary, `{"sales_order":"47²"}`, []string{"sales_order"}},
		{"ARG-15 full width", plan, `{"items":[{"sales_order":"４７１１","status":"todo","note":""}]}`, []string{"sales_order"}},
		{"ARG-17 zero width space", summary, `{"sales_order":"4711\u200b"}`, []string{`u200b`}},
		{"ARG-18 letter O for zero", summary, `{"sales_order":"47O1"}`, []string{"letter O"}},
		{"ARG-20 fraction", "run_list", `{"page":3.5}`, []string{"page"}},
		{"ARG-20 fraction for an id", summary, `{"sales_order":4711.0}`, []string{"sales_order"}},
		{"ARG-23 inconsistent ids", "customer_get_credit_exposure", `{"customer":"10051","sales_order":"4711"}`, []string{"4711"}},
		{"ARG-24 near miss", plan, `{"items":[{"sales_order":"4711","status":"Done","note":""}]}`, []string{"todo", "waiting_for_approval"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			run := d.ok(anna, list, `{"sales_organization":"1010"}`).Run
			before := d.outcome(run)
			call := toolCall("2", tt.tool, tt.args)
			if tt.args == "-" {
				call = strings.Replace(call, `,"arguments":-`, "", 1)
			}
			got := answersTo(d.lines(initialize, initialized, call), "2")
			if len(got) != 1 || !strings.Contains(got[0], `"isError":true`) || strings.Contains(got[0], "json:") || strings.Contains(got[0], "Unmarshal") {
				t.Fatalf("%q, want a refusal", got)
			}
			for _, want := range tt.want {
				if !strings.Contains(got[0], want) {
					t.Errorf("%s: does not say %q", got[0], want)
				}
			}
			after := d.outcome(run)
			charged := after.ToolCalls - before.ToolCalls
			before.ToolCalls = after.ToolCalls
			if fmt.Sprint(after) != fmt.Sprint(before) || charged != d.refusedCalls(run) {
				t.Errorf("%d charged, changed: %+v, was %+v", charged, after, before)
			}
			inTrace, inAudit := d.refusedCalls(run), len(d.refusals("os:anna"))
			if tt.tool == "run_list" { // it belongs to no run
				inTrace, inAudit = inAudit, inTrace
			}
			if inTrace != 1 || inAudit != 0 {
				t.Errorf("%d refusals in the trace, %d in the audit log", inTrace, inAudit)
			}
		})
	}
	d := newDesk(t)
	for _, ok := range []string{"-", "null", `""`, "{}", `"{}"`, `{"page":3.0}`} { // ARG-02, ARG-04, ARG-20
		call := strings.Replace(toolCall("2", "run_list", ok), `,"arguments":-`, "", 1)
		one(t, d.lines(initialize, initialized, call), "2", `\"shown\":`)
	}
}

// refusedCalls counts the refused calls in a run's trace.
func (d *desk) refusedCalls(run string) (n int) {
	d.t.Helper()
	err := d.store.View(d.t.Context(), func(tx *runstore.Tx) error {
		n = 0
		return tx.TraceEntries(run, 0, func(e runstore.TraceEntry) bool {
			if e.Kind == runstore.TraceToolCall && strings.Contains(string(e.Data), `"refused":true`) {
				n++
			}
			return true
		})
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// TestAmbiguousMessages: ARG-08, ARG-09, ARG-10, ARG-11, ARG-19 and ARG-22 as
// whole messages, on every door.
func TestAmbiguousMessages(t *testing.T) {
	s := newSite(t)
	request := func(args string) string { return toolCall("2", "sales_order_get_block_summary", args) }
	tests := []struct{ name, message, want string }{
		{"ARG-08 a second set of arguments", strings.Replace(request(`{"sales_order":"4711"}`), `}}`, `},"Arguments":{"sales_order":"4740"}}`, 1), `"code":-32600`},
		{"ARG-09 a second method", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"run_start","arguments":{}}}`, `"code":-32600`},
		{"ARG-10 a key twice", request(`{"sales_order":"4711","sales_order":"4740"}`), `"code":-32600`},
		{"ARG-11 a folded key", request(`{"sales_order":"4711","ſales_order":"4740"}`), `"code":-32600`},
		{"ARG-19 no UTF-8", request("{\"sales_order\":\"4711\xff\"}"), `"code":-32700`},
		{"ARG-19 half a character", request(`{"sales_order":"\ud800"}`), `"code":-32600`},
		{"ARG-22 deep", request(`{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`), `"code":-32600`},
		{"ARG-22 huge", request(`{"sales_order":"` + strings.Repeat("4", 2<<20) + `"}`), `"code":-32600`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.lines(initialize, initialized, tt.message, ping)
			one(t, got, "null", tt.want)
			one(t, got, `"ping"`, `"result":{}`)
			for _, path := range []string{"/mcp", "/message"} {
				if status, _, body := s.post(path, tt.message, "Authorization: Bearer "+s.annas); status < 400 || status > 413 || !strings.Contains(body, tt.want) {
					t.Errorf("%s: %d %s", path, status, body)
				}
			}
		})
	}
	for _, who := range []string{"os:anna", "agent:anna"} {
		if got := s.refusals(who); len(got) == 0 {
			t.Errorf("no refused message of %s is in the audit log", who)
		}
	}
}

// refusals are the audit entries about what a caller was refused.
func (d *desk) refusals(who string) (seen []string) {
	d.t.Helper()
	err := d.store.View(d.t.Context(), func(tx *runstore.Tx) error {
		seen = nil
		return tx.AuditEntries(0, func(e runstore.AuditEntry) bool {
			if strings.HasSuffix(e.What, "_refused") && e.By == who {
				seen = append(seen, e.What+" "+string(e.Data))
			}
			return true
		})
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return seen
}
