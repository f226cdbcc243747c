package driver_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"orderdesk/mcpserver/driver"
	"orderdesk/mcpserver/driver/drivertest"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// TestArguments sends bad arguments through the one door: refused, charged,
// traced, nothing read and nothing changed, and the run goes on.
func TestArguments(t *testing.T) {
	read := summary.Name
	tests := []struct {
		name, tool, args string
		parts            []string
	}{
		{"ARG-01 number for a string id", read, `{"sales_order":4711}`, []string{"sales_order", "4711"}},
		{"ARG-02 quoted twice", read, `"\"{\\\"sales_order\\\":\\\"4711\\\"}\""`, []string{"quoted twice"}},
		{"ARG-04 missing", read, ``, []string{"sales_order"}},
		{"ARG-04 null", read, `null`, []string{"sales_order"}},
		{"ARG-04 empty text", read, `""`, []string{"sales_order"}},
		{"ARG-05 text for an item", "plan_update", `{"items":["4711"]}`, []string{"items[0]"}},
		{"ARG-05 null for an item", "plan_update", `{"items":[null]}`, []string{"items[0]"}},
		{"ARG-05 object for the list", "plan_update", `{"items":{"sales_order":"4711","status":"todo","note":""}}`, []string{"items"}},
		{"ARG-07 extra key", exposure.Name, `{"customer":"10023","sales_order":"4711","why":"x"}`, []string{"why"}},
		{"ARG-10 duplicate key", read, `{"sales_order":"4711","sales_order":"4740"}`, []string{"sales_order"}},
		{"ARG-11 folded key", read, `{"sales_order":"4711","ſales_order":"4740"}`, []string{"ales_order"}},
		{"ARG-12 above 2^53", read, `{"sales_order":9007199254740993}`, []string{"9007199254740993"}},
		{"ARG-15 superscript", read, `{"sales_order":"47²"}`, []string{"sales_order"}},
		{"ARG-15 arabic digits in the plan", "plan_update", `{"items":[{"sales_order":"٤٧١١","status":"todo","note":""}]}`, []string{"sales_order"}},
		{"ARG-17 zero width space", read, `{"sales_order":"4711\u200b"}`, []string{`\u200b`}},
		{"ARG-17 NUL", read, `{"sales_order":"4711\u0000"}`, []string{`\u0000`}},
		{"ARG-19 invalid UTF-8", request.Name, "{\"sales_order\":\"4711\",\"justification\":\"over the limit by x\xff and more\"}", []string{"UTF-8"}},
		{"ARG-19 lone surrogate", request.Name, `{"sales_order":"4711","justification":"over the limit by \ud800 and more"}`, nil},
		{"ARG-20 fraction for an id", read, `{"sales_order":4711.0}`, []string{"sales_order"}},
		{"ARG-22 deep", read, `{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, nil},
		{"ARG-22 huge", read, `{"sales_order":"` + strings.Repeat("4", 300<<10) + `"}`, nil},
		{"ARG-24 near miss", "plan_update", `{"items":[{"sales_order":"4711","status":"Done","note":""}]}`, []string{"todo", "done", "waiting_for_approval", "needs_attention"}},
		{"ARG-24 other word", "plan_update", `{"items":[{"sales_order":"4711","status":"completed","note":""}]}`, []string{"todo", "done"}},
		{"ARG-24 blanks", "plan_update", `{"items":[{"sales_order":"4711","status":"waiting for approval","note":""}]}`, []string{"waiting_for_approval"}},
	}
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{ToolCalls: limit(100)})
	d.must(id, list, allTodo)
	plan := d.plan(d.run(id))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			used, asked := d.run(id).Used.ToolCalls, d.backend.Counts()
			d.refused(id, tt.tool, tt.args, tt.parts...)
			run := d.run(id)
			if run.Used.ToolCalls != used+1 || run.Status != runstore.Running {
				t.Errorf("%d charged, run %s; want 1 and running", run.Used.ToolCalls-used, run.Status)
			}
			if d.backend.Counts() != asked {
				t.Error("something was read")
			}
			if fmt.Sprint(d.plan(run)) != fmt.Sprint(plan) || run.ActionSeq != 0 {
				t.Errorf("plan %v, %d actions; want both unchanged", d.plan(run), run.ActionSeq)
			}
			last := d.trace(id)[run.TraceSeq-1]
			if last.Kind != runstore.TraceToolCall || !bytes.Contains(last.Data, []byte(`"refused":true`)) || len(last.Data) > 10<<10 {
				t.Errorf("trace: %s with %d bytes, want the refused call", last.Kind, len(last.Data))
			}
		})
	}
}

// TestARG02_WrappedArguments unwraps one level; what is traced and recorded is
// the object inside.
func TestARG02_WrappedArguments(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	d.must(id, drivertest.Call(summary.Name, `"{\"sales_order\":\"4711\"}"`))
	if res := d.call(id, summary.Name, string(summary.Args)); !res.Recorded {
		t.Errorf("the same question is read again: %s", res.JSON)
	}
	for _, e := range d.trace(id) {
		if e.Kind == runstore.TraceToolCall && !bytes.Contains(e.Data, []byte(`"args":{"sales_order":"4711"}`)) {
			t.Errorf("trace: %s, want the unwrapped object", e.Data)
		}
	}
}

// TestARG07_ExtraKeyIsNoSecondFact: an exposure with an extra key is refused,
// and the one without it is found by the request.
func TestARG07_ExtraKeyIsNoSecondFact(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	d.must(id, list, allTodo, summary)
	d.refused(id, exposure.Name, `{"customer":"10023","sales_order":"4711","why":"x"}`, "why")
	d.refused(id, request.Name, string(request.Args), "Read customer_get_credit_exposure for order 4711 first")
	d.must(id, exposure, request)
}

func TestARG16_LeadingZeros(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	d.must(id, list, planned("0000004711", "todo", ""), planned("4711", "todo", "again"),
		drivertest.Call(summary.Name, `{"sales_order":"0000004711"}`),
		drivertest.Call(exposure.Name, `{"customer":"0000010023","sales_order":"04711"}`))
	for _, c := range []struct{ tool, args string }{
		{summary.Name, `{"sales_order":"4711"}`}, {exposure.Name, string(exposure.Args)}, {exposure.Name, `{"customer":"10023","sales_order":"0000004711"}`},
	} {
		if res := d.call(id, c.tool, c.args); !res.Recorded {
			t.Errorf("%s %s was read again: %s", c.tool, c.args, res.JSON)
		}
	}
	d.must(id, request, drivertest.Call(request.Name, `{"sales_order":"0000004711","justification":"Exposure 52,500 EUR is 5.0% over the limit."}`),
		planned("004711", "waiting_for_approval", "A1"))
	run := d.run(id)
	if items := d.plan(run); len(items) != 4 || items[0].ID != "4711" || items[0].Status != runstore.WaitingApproval || run.ActionSeq != 1 {
		t.Errorf("plan %v, %d actions; want one line and one action for 4711", items, run.ActionSeq)
	}
	d.refused(id, "plan_update", `{"items":[{"sales_order":"4711","status":"todo","note":""},{"sales_order":"04711","status":"todo","note":""}]}`, "twice")
	if c := d.backend.Counts(); c.Credits != 1 {
		t.Errorf("the credit service was asked %d times, want once", c.Credits)
	}
}

func TestARG18_LetterOForZero(t *testing.T) {
	d := newDesk(t, deskOptions{})
	bad := drivertest.Ask(summary.Name, `{"sales_order":"47O1"}`)
	p := d.play(runstore.Budget{}, turn(list), turn(allTodo), bad, bad, bad, bad)
	last := p.model.Last().History
	if !strings.Contains(string(last[len(last)-1].Result), "47O1") {
		t.Errorf("answer: %s, want the value named", last[len(last)-1].Result)
	}
	if p.run.Stop == nil || p.run.Stop.Code != runstore.StopRepeated || p.model.Calls() != 5 {
		t.Errorf("stop %+v after %d model calls; want %s with the third identical call", p.run.Stop, p.model.Calls(), runstore.StopRepeated)
	}
	if d.backend.Counts().Orders != 0 {
		t.Error("something was read")
	}
	// three different mistakes are three errors, not one call repeated
	q := newDesk(t, deskOptions{}).play(runstore.Budget{}, turn(list), drivertest.Ask(summary.Name, `{"sales_order":"47O1"}`),
		drivertest.Ask(summary.Name, `{"sales_order":"47O2"}`), drivertest.Ask(summary.Name, `{"sales_order":"47O3"}`))
	if q.run.Stop == nil || q.run.Stop.Code != runstore.StopErrors {
		t.Errorf("stop %+v, want %s", q.run.Stop, runstore.StopErrors)
	}
	// the same good read again and again is answered from the record, then stopped
	r := newDesk(t, deskOptions{}).play(runstore.Budget{}, turn(summary), turn(summary), turn(summary), turn(summary), turn(summary))
	if r.run.Stop == nil || r.run.Stop.Code != runstore.StopRepeated || r.model.Calls() != 3 || r.backend.Counts().Orders != 1 {
		t.Errorf("stop %+v after %d calls and %d reads; want %s after 3 and 1", r.run.Stop, r.model.Calls(), r.backend.Counts().Orders, runstore.StopRepeated)
	}
}

func TestARG23_InconsistentIDs(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	d.must(id, list, allTodo, summary)
	wrong := `{"customer":"10051","sales_order":"4711"}`
	d.refused(id, exposure.Name, wrong, "4711", "10051", "does not belong", "sales_order_get_block_summary")
	before := d.backend.Counts()
	d.refused(id, exposure.Name, wrong, "does not belong")
	if after := d.backend.Counts(); after.Credits != 0 || after.Orders != before.Orders+1 {
		t.Errorf("asked again: %+v after %+v; want no retries, no credit read and no cached answer", after, before)
	}
	d.refused(id, request.Name, string(request.Args), "Read customer_get_credit_exposure")
	err := d.store.Look(context.Background(), id, func(tx *runstore.Tx, r *runstore.Run) error {
		_, fact, err := tx.Fact(r, exposure.Name, "10051", "4711")
		_, failure, err2 := tx.Failure(r, exposure.Name, "10051", "4711")
		if fact || failure || err != nil || err2 != nil {
			t.Errorf("recorded as fact %v, as failure %v (%v, %v); want neither", fact, failure, err, err2)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.must(id, exposure)
}

// TestPlanEvidence: a status needs its evidence, and one bad entry refuses
// them all.
func TestPlanEvidence(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{ToolCalls: limit(100)})
	d.refused(id, "plan_update", string(planned("4711", "todo", "").Args), "neither in the list nor read")
	d.must(id, list, allTodo)
	d.refused(id, "plan_update", string(planned("4711", "done", "").Args), "4711 was not read in this run")
	d.refused(id, "plan_update", string(planned("4711", "waiting_for_approval", "").Args), "no queued request")
	d.refused(id, "plan_update", string(planned("9999", "todo", "").Args), "9999 is neither")
	two := `{"items":[{"sales_order":"4711","status":"needs_attention","note":"good"},{"sales_order":"4723","status":"done","note":"bad"}]}`
	d.refused(id, "plan_update", two, "items[1]", "4723")
	if got := d.statuses(d.run(id)); got["4711"] != runstore.Todo {
		t.Errorf("4711: %s, want todo: all or none", got["4711"])
	}
	if _, err := d.set.Call(context.Background(), tools.Request{Who: me, Run: "20260101-000000-00000000", Name: list.Name, Args: list.Args}); err == nil {
		t.Error("a call in a run that does not exist was answered")
	}
	d.must(id, summary, planned("4711", "done", "read"))
	if run, _ := d.resume(id, driver.Changes{}); d.statuses(run)["4711"] != runstore.ItemDone {
		t.Errorf("4711: %s, want done", d.statuses(run)["4711"])
	}
}
