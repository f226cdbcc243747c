package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"orderdesk/runstore"
	"orderdesk/runstore/runstoretest"
)

const list = "sales_order_list_blocked"

// TestOpenRun: which run a call without run_id is for.
func TestOpenRun(t *testing.T) {
	d := newDesk(t)
	d.refused(anna, "run_status", `{}`, "You have no run yet. Call run_start.")
	first := d.ok(anna, list, `{"sales_organization":"1010"}`).Run
	if first == "" {
		t.Fatal("the answer names no run")
	}
	if got := d.ok(anna, "plan_update", `{"items":[{"sales_order":"4711","status":"todo","note":""}]}`).Run; got != first {
		t.Errorf("the second call is for %s, want %s", got, first)
	}
	second := d.ok(anna, "run_start", `{}`).Run
	d.refused(anna, list, `{"sales_organization":"1010"}`, "You have 2 open runs: "+second+", "+first+". Say which one with run_id.")
	if got := d.ok(anna, list, `{"sales_organization":"1010","run_id":"`+second+`"}`).Run; got != second {
		t.Errorf("got %s, want the run that was named", got)
	}
	if got := d.ok(ben, list, `{"sales_organization":"1010"}`).Run; got == first || got == second {
		t.Error("ben works in anna's run")
	}
	d.clock.Advance(25 * time.Hour)
	if got := d.ok(anna, list, `{"sales_organization":"1010"}`).Run; got == first || got == second {
		t.Error("a run that nobody touched for a day is meant without its id")
	}
	if got := d.ok(anna, "run_list", `{}`); got.Shown != "1 to 3 of 3" || len(got.Runs) != 3 || got.Runs[2].Run != first {
		t.Errorf("run_list: %+v", got)
	}
	if got := d.ok(anna, "run_list", `{"page":2}`); len(got.Runs) != 0 {
		t.Errorf("page 2: %+v", got)
	}
}

// TestForeignRun: another's run answers like one that is not there, whatever
// the tool.
func TestForeignRun(t *testing.T) {
	d := newDesk(t)
	mine := d.ok(anna, list, `{"sales_organization":"1010"}`).Run
	unknown := "20200101-000000-00000000"
	calls := map[string]string{"run_finish": `"answer":"x",`}
	for _, tool := range d.hosts.hosted.Tools() {
		example := strings.TrimSuffix(strings.TrimPrefix(tool.Schema.Example(), "{"), "}")
		if example != "" {
			example += ","
		}
		calls[tool.Name] = example // bad arguments, where there is no example, tell nothing either
	}
	calls["run_start"], calls["run_status"] = "", ""
	before := d.outcome(mine)
	for name, args := range calls {
		foreign := d.refused(ben, name, `{`+args+`"run_id":"`+mine+`"}`, "There is no run")
		other := d.refused(ben, name, `{`+args+`"run_id":"`+unknown+`"}`, "There is no run")
		if strings.ReplaceAll(foreign.Error, mine, unknown) != other.Error || foreign.Run != "" {
			t.Errorf("%s tells a foreign run from an unknown one: %q, %q", name, foreign.Error, other.Error)
		}
	}
	if after := d.outcome(mine); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("changed: %+v, was %+v", after, before)
	}
	for _, bad := range []string{`{"sales_order":"x"}`, `{}`, `[]`, `{"run_id":7}`, `{"sales_order":"4711","run_id":"x"}`} {
		d.refused(ben, "sales_order_get_block_summary", bad, ".")
	}
	if got := d.ok(ben, "run_list", `{}`); len(got.Runs) != 0 {
		t.Errorf("ben sees %+v", got.Runs)
	}
}

// TestHeldRun: two workers never mix. The second is told who works, and takes
// over when the first is gone.
func TestHeldRun(t *testing.T) {
	dir := t.TempDir()
	d, other := &desk{t: t, store: runstoretest.Dir(t, dir)}, &desk{t: t, store: runstoretest.Dir(t, dir)}
	d.open()
	other.open()
	run := d.ok(anna, list, `{"sales_organization":"1010"}`).Run
	for _, c := range [][2]string{{list, `{"sales_organization":"1010"}`}, {"run_start", `{"run_id":"` + run + `"}`}, {"run_finish", `{"answer":"x"}`}} {
		other.refused(anna, c[0], c[1], "Run "+run+" is being worked on by test host for os:anna")
	}
	other.ok(anna, "run_status", `{}`) // looking is free
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got := other.ok(anna, "plan_update", `{"items":[{"sales_order":"4711","status":"todo","note":""}]}`).Run; got != run {
		t.Errorf("got %s, want %s: its worker is gone", got, run)
	}
}

// TestWorkAndGoOn works the list, lets people decide and goes on, over a new
// door: what a host needs is in the store.
func TestWorkAndGoOn(t *testing.T) {
	d := newDesk(t)
	run := d.ok(anna, "run_start", `{}`).Run
	d.refused(anna, "run_finish", `{"answer":"done"}`, "The run has no plan yet.")
	direct := func(name, args string) (json.RawMessage, bool) {
		a := d.hosts.Call(t.Context(), anna, name, []byte(args))
		return a.JSON, a.Refused
	}
	d.work(direct, run)
	driven := d.outcome(d.drive(ben).ID)
	if got := d.outcome(run); got.Status != runstore.Waiting || fmt.Sprint(got.Actions) != "[A1 4711 CREDIT_MANAGER pending A2 4740 HEAD_OF_FINANCE pending]" {
		t.Errorf("got %+v", got)
	}
	if driven.Status != runstore.Waiting {
		t.Errorf("the driver's run is %s", driven.Status)
	}
	d.refused(anna, "plan_update", `{"run_id":"`+run+`","items":[{"sales_order":"4711","status":"done","note":"x"}]}`, "the run is waiting_for_approval")
	if got := d.ok(anna, "run_start", `{"run_id":"`+run+`"}`); got.Status != runstore.Waiting || !strings.HasPrefix(got.Next, "People have to decide") {
		t.Errorf("before a decision: %s, %q", got.Status, got.Next)
	}
	d.decide(d.approver("Maria Weber", "CREDIT_MANAGER"), run, "A1", true)
	d.decide(d.approver("Jon Berg", "HEAD_OF_FINANCE"), run, "A2", false)
	if got := d.ok(anna, "run_status", `{"run_id":"`+run+`"}`); !strings.Contains(got.Next, "call run_start") {
		t.Errorf("after the decisions: %q", got.Next)
	}
	d.hosts = d.door(Options{})
	if got := d.ok(anna, "run_start", `{"run_id":"`+run+`"}`); fmt.Sprint(got.CarriedOut) != "[A1 executed (REQ-0001)]" || got.Status != runstore.Running {
		t.Errorf("going on: %+v", got)
	}
	d.work(direct, run)
	if got := d.outcome(run); got.Status != runstore.Done || fmt.Sprint(got.Actions) != "[A1 4711 CREDIT_MANAGER executed A2 4740 HEAD_OF_FINANCE rejected]" {
		t.Errorf("at the end: %+v", got)
	}
	err := d.store.Look(t.Context(), run, func(_ *runstore.Tx, r *runstore.Run) error {
		if r.Lease.Holder != "" {
			t.Errorf("the lease of a finished run is held by %s", r.Lease.Worker)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStopLetsGo: a run that a budget stops is free for a person's resume, and
// no host raises the limit.
func TestStopLetsGo(t *testing.T) {
	d := newDesk(t)
	d.hosts = d.door(Options{Budget: runstore.Budget{ToolCalls: runstore.Limit{Max: 2, Set: true}}})
	run := d.ok(anna, list, `{"sales_organization":"1010"}`).Run
	d.ok(anna, "plan_update", `{"items":[{"sales_order":"4711","status":"todo","note":""}]}`)
	d.refused(anna, "sales_order_get_block_summary", `{"sales_order":"4711"}`, "A person can raise a limit")
	got := d.ok(anna, "run_start", `{"run_id":"`+run+`"}`)
	if got.Status != runstore.Stopped || got.Next != "A budget is used up. Only a person can raise it." {
		t.Errorf("got %+v", got)
	}
	d.refused(anna, "run_start", `{"run_id":"`+run+`","max_tool_calls":50}`, "max_tool_calls")
	err := d.store.Look(t.Context(), run, func(_ *runstore.Tx, r *runstore.Run) error {
		if r.Lease.Holder != "" || r.Budget.ToolCalls.Max != 2 || r.Used.ToolCalls != 2 {
			t.Errorf("lease %+v, limit %d, used %d", r.Lease, r.Budget.ToolCalls.Max, r.Used.ToolCalls)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
