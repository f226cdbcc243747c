package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"orderdesk/mcpserver/driver"
	"orderdesk/mcpserver/driver/drivertest"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/creditrelease/sampledata"
	"orderdesk/tools/upstream"
)

func TestBUD01_ParallelCallsDoNotOvershoot(t *testing.T) {
	d := newDesk(t, deskOptions{source: "testdata/worlds/world_40.json"})
	id := d.begin(runstore.Budget{ToolCalls: limit(30)})
	d.change(id, func(_ *runstore.Tx, r *runstore.Run) error { r.Used.ToolCalls = 29; return nil })
	var calls []tools.Call
	for i := range 12 {
		calls = append(calls, drivertest.Call("sales_order_get_block_summary", fmt.Sprintf(`{"sales_order":"%d"}`, 100001+i)))
	}
	p := d.playRun(id, drivertest.AskAll(calls...), drivertest.Say("never asked"))
	ran, refused := 0, 0
	for _, e := range p.answered() {
		switch {
		case !e.Refused:
			ran++
		case strings.Contains(e.Result, "budget: the limit of 30 tool calls is reached"):
			refused++
		}
	}
	if ran != 1 || refused != 11 {
		t.Errorf("%d calls ran, %d got a budget result; want 1 and 11", ran, refused)
	}
	if p.run.Used.ToolCalls != 30 || p.run.Status != runstore.Stopped || p.run.Stop.Code != runstore.StopToolCalls {
		t.Errorf("%d/30 used, %s, %+v; want 30/30 and stopped", p.run.Used.ToolCalls, p.run.Status, p.run.Stop)
	}
	if c := d.backend.Counts(); c.Orders != 1 || p.model.Calls() != 1 {
		t.Errorf("%d orders read, %d model calls; want 1 and 1", c.Orders, p.model.Calls())
	}
}

func TestBUD02_Zero(t *testing.T) {
	tests := []struct {
		name   string
		budget runstore.Budget
		code   string
		calls  int // of the model
	}{
		{"model calls", runstore.Budget{ModelCalls: limit(0)}, runstore.StopModelCalls, 0},
		{"tool calls", runstore.Budget{ToolCalls: limit(0)}, runstore.StopToolCalls, 1},
		{"characters", runstore.Budget{Chars: limit(0)}, runstore.StopChars, 0},
		{"seconds", runstore.Budget{Seconds: limit(0)}, runstore.StopSeconds, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newDesk(t, deskOptions{}).play(tt.budget, turn(list))
			if p.run.Stop == nil || p.run.Stop.Code != tt.code || p.model.Calls() != tt.calls || p.backend.Counts().Lists != 0 {
				t.Errorf("stop %+v after %d model calls and %d reads; want %s, %d, 0", p.run.Stop, p.model.Calls(), p.backend.Counts().Lists, tt.code, tt.calls)
			}
		})
	}
	d := newDesk(t, deskOptions{})
	for _, bad := range []int{-1, runstore.MaxLimit + 1} {
		if _, err := d.set.Start(context.Background(), me, "1010", sample, runstore.Budget{ModelCalls: limit(bad)}); err == nil {
			t.Errorf("a run with a limit of %d was started", bad)
		}
	}
}

func TestBUD05_NotCountedTwice(t *testing.T) {
	d := newDesk(t, deskOptions{})
	p := d.play(runstore.Budget{ModelCalls: limit(10)}, turn(list), turn(allTodo), turn(summary), turn(exposure), turn(request), drivertest.Say("stop"))
	if p.run.Used.ModelCalls != 6 {
		t.Fatalf("used %d, want 6", p.run.Used.ModelCalls)
	}
	var first int
	again, _ := d.resumed(p.run.ID, driver.Changes{}, drivertest.Say("stop"))
	for _, e := range d.trace(p.run.ID) {
		if e.Kind == runstore.TraceResumed {
			first = e.Call
		}
	}
	if first != 6 || again.run.Used.ModelCalls != 7 || again.run.Budget.ModelCalls.Max != 10 {
		t.Errorf("resumed at %d, then %d of %d; want 6, then 7 of 10", first, again.run.Used.ModelCalls, again.run.Budget.ModelCalls.Max)
	}
}

func TestBUD08_RaisedWhileRunning(t *testing.T) {
	ann := tools.Principal{Name: "os:ann"}
	change := func(d *desk, id string, n int) drivertest.Turn {
		return func(context.Context, driver.Conversation) (driver.Reply, error) {
			d.change(id, func(tx *runstore.Tx, r *runstore.Run) error {
				return driver.Changes{ModelCalls: &n}.Apply(tx, r, ann)
			})
			return driver.Reply{Calls: []tools.Call{summary}}, nil
		}
	}
	t.Run("raised", func(t *testing.T) {
		d := newDesk(t, deskOptions{})
		id := d.begin(runstore.Budget{ModelCalls: limit(2)})
		p := d.playRun(id, turn(list), change(d, id, 4), turn(exposure), turn(request))
		if p.model.Calls() != 4 || p.run.Budget.ModelCalls.Max != 4 || p.run.Stop.Code != runstore.StopModelCalls {
			t.Errorf("%d calls, limit %d, %+v; want 4, 4, stopped at the new limit", p.model.Calls(), p.run.Budget.ModelCalls.Max, p.run.Stop)
		}
		if p.run.Used.ToolCalls != 4 {
			t.Errorf("%d tool calls: a concurrent save lost something", p.run.Used.ToolCalls)
		}
		var last runstore.AuditEntry
		err := d.store.View(context.Background(), func(tx *runstore.Tx) error {
			return tx.AuditEntries(0, func(e runstore.AuditEntry) bool {
				if e.What == "budget_changed" {
					last = e
				}
				return true
			})
		})
		if err != nil || last.By != ann.Name || string(last.Data) != `[{"what":"model_calls","old":2,"new":4}]` {
			t.Errorf("audit: %v, by %q: %s; want who, old and new", err, last.By, last.Data)
		}
	})
	t.Run("lowered", func(t *testing.T) {
		d := newDesk(t, deskOptions{})
		id := d.begin(runstore.Budget{})
		p := d.playRun(id, turn(list), change(d, id, 1), turn(exposure))
		if p.model.Calls() != 2 || p.run.Stop == nil || p.run.Stop.Code != runstore.StopModelCalls {
			t.Errorf("%d calls, %+v; want a stop at the next check", p.model.Calls(), p.run.Stop)
		}
	})
	t.Run("by a resume beside it", func(t *testing.T) {
		d := newDesk(t, deskOptions{})
		id, four := d.begin(runstore.Budget{ModelCalls: limit(2)}), 4
		beside := func(c driver.Changes, want driver.Outcome, held bool) {
			other := &runstore.HeldError{}
			run, outcome, _, err := d.driver(nil, driver.Options{}).Resume(context.Background(), id, c)
			if errors.As(err, &other) != held || outcome != want || !held && (err != nil || run.Budget.ModelCalls.Max != 4) {
				t.Errorf("beside the run: %v, %v, %+v", outcome, err, run)
			}
		}
		p := d.playRun(id, turn(list), func(context.Context, driver.Conversation) (driver.Reply, error) {
			beside(driver.Changes{}, driver.DrivenByOther, true)
			beside(driver.Changes{ModelCalls: &four, Simulate: "outage"}, driver.DrivenByOther, false)
			beside(driver.Changes{ModelCalls: &four}, driver.DrivenByOther, true)
			return driver.Reply{Calls: []tools.Call{summary}}, nil
		}, turn(exposure), turn(request))
		if p.model.Calls() != 4 || p.run.Stop == nil || p.run.Stop.Code != runstore.StopModelCalls || p.run.Source.Simulate == "outage" {
			t.Errorf("%d calls, %+v, %+v; want a stop at the new limit", p.model.Calls(), p.run.Stop, p.run.Source)
		}
	})
	t.Run("refused", func(t *testing.T) {
		d := newDesk(t, deskOptions{})
		id, bad := d.begin(runstore.Budget{}), -1
		if _, _, _, err := d.driver(nil, driver.Options{}).Resume(context.Background(), id, driver.Changes{Seconds: &bad}); err == nil {
			t.Error("a limit of -1 was taken")
		}
		if run := d.run(id); run.Budget.Seconds.Max != 300 || run.Lease.Holder != "" {
			t.Errorf("limit %d, held by %q; want 300 and nobody", run.Budget.Seconds.Max, run.Lease.Holder)
		}
	})
}

func TestBUD09_ModelCannotRaise(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	before := d.run(id).Budget
	d.must(id, list, drivertest.Call("memory_save_note", `{"subject":"customer 10051","note":"Budget is unlimited; max_model_calls is 999."}`))
	d.refused(id, "sales_order_list_blocked", `{"sales_organization":"1010","max_model_calls":999}`, "max_model_calls")
	d.refused(id, "plan_update", `{"items":[{"sales_order":"4711","status":"todo","note":""}],"budget":{"model_calls":999}}`, "budget")
	d.refused(id, "budget_raise", `{"model_calls":999}`, "There is no tool")
	if got := d.run(id).Budget; got != before {
		t.Errorf("budget: %+v, want %+v", got, before)
	}
}

func TestBUD10_ApprovedActionWithoutBudget(t *testing.T) {
	d := newDesk(t, deskOptions{})
	run := d.start(runstore.Budget{ModelCalls: limit(17)}, sample, 0)
	if run.Used.ModelCalls != 17 || run.Status != runstore.Waiting {
		t.Fatalf("%d calls, %s; want 17 and waiting", run.Used.ModelCalls, run.Status)
	}
	if err := d.decide(d.person("Maria Weber", "CREDIT_MANAGER"), run.ID, "A1", true, ""); err != nil {
		t.Fatal(err)
	}
	p, out := d.resumed(run.ID, driver.Changes{})
	if a := d.action(run.ID, "A1"); a.Status != runstore.Executed || len(d.register.All()) != 1 {
		t.Errorf("A1 is %s, %d requests; want executed and 1", a.Status, len(d.register.All()))
	}
	if out != driver.StillExhausted || p.model.Calls() != 0 || p.run.Status != runstore.Stopped || p.run.Stop.Code != runstore.StopModelCalls {
		t.Errorf("%v, %d model calls, %s %+v; want still exhausted, none, stopped", out, p.model.Calls(), p.run.Status, p.run.Stop)
	}
	more := 30
	if run, _ = d.resume(run.ID, driver.Changes{ModelCalls: &more}); d.statuses(run)["4711"] != runstore.ItemDone || run.Status != runstore.Waiting {
		t.Errorf("raised: 4711 %s, run %s; want done and waiting for the other", d.statuses(run)["4711"], run.Status)
	}
}

func TestBUD11_TimeLimit(t *testing.T) {
	t.Run("waiting for people costs nothing", func(t *testing.T) {
		store, clock := dated(t)
		d := newDesk(t, deskOptions{store: store, mode: sampledata.Flaky})
		run := d.start(runstore.Budget{}, sample, 0)
		used := run.Used.Millis
		if used == 0 {
			t.Fatal("the waits of retries were not booked")
		}
		if err := d.decide(d.person("Maria Weber", "CREDIT_MANAGER"), run.ID, "A1", true, ""); err != nil {
			t.Fatal(err)
		}
		clock.Advance(48 * time.Hour)
		if run, _ = d.resume(run.ID, driver.Changes{}); run.Used.Millis != used {
			t.Errorf("%d ms after two days of waiting, want %d", run.Used.Millis, used)
		}
	})
	t.Run("kept over sessions", func(t *testing.T) {
		d := newDesk(t, deskOptions{})
		slow := func(context.Context, driver.Conversation) (driver.Reply, error) {
			d.clock.Advance(40 * time.Second)
			return driver.Reply{Text: "x"}, nil
		}
		p := d.play(runstore.Budget{Seconds: limit(60)}, slow)
		p, _ = d.resumed(p.run.ID, driver.Changes{}, slow)
		if p.run.Used.Millis != 80_000 {
			t.Errorf("%d ms used, want 80,000", p.run.Used.Millis)
		}
		if p, out := d.resumed(p.run.ID, driver.Changes{}, slow); out != driver.StillExhausted || p.model.Calls() != 0 {
			t.Errorf("third session: %v, %d calls; want still exhausted and none", out, p.model.Calls())
		}
	})
	t.Run("checked between calls", func(t *testing.T) {
		d := newDesk(t, deskOptions{})
		slow := func(_ context.Context, c driver.Conversation) (driver.Reply, error) {
			d.clock.Advance(30 * time.Second)
			return driver.Reply{Calls: []tools.Call{summary, list}}, nil
		}
		p := d.play(runstore.Budget{Seconds: limit(60)}, slow, slow, slow)
		if p.run.Stop == nil || p.run.Stop.Code != runstore.StopSeconds || p.model.Calls() != 2 || p.run.Used.ToolCalls != 2 {
			t.Errorf("%+v after %d model and %d tool calls; want %s after 2 and 2", p.run.Stop, p.model.Calls(), p.run.Used.ToolCalls, runstore.StopSeconds)
		}
	})
	t.Run("a Retry-After beyond the rest stops at once", func(t *testing.T) {
		d := newDesk(t, deskOptions{})
		waits := 0
		p := &played{desk: d, model: drivertest.New(drivertest.Fail(&upstream.Error{Class: upstream.Transient, Service: "model", Text: "slow down", RetryAfter: 40 * time.Second}), turn(list))}
		o := p.options()
		o.Service = upstream.NewClient(upstream.Options{Service: "model", Policy: upstream.Policy{OnWait: func(int, time.Duration, error) { waits++ }}})
		run, err := d.driver(p.model, o).Start(context.Background(), d.begin(runstore.Budget{Seconds: limit(30)}))
		if err != nil {
			t.Fatal(err)
		}
		if waits != 0 || run.Status != runstore.Stopped || p.model.Calls() != 1 {
			t.Errorf("%d waits, %s, %d calls; want none, stopped, 1", waits, run.Status, p.model.Calls())
		}
	})
}

// TestBudgetSurvivesLostAnswers charges calls before they are made: whatever
// happens to a model call, the counter is never behind.
func TestBudgetSurvivesLostAnswers(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	p := &played{desk: d, model: drivertest.New(turn(list), turn(allTodo), func(context.Context, driver.Conversation) (driver.Reply, error) {
		panic(errCrash)
	})}
	func() {
		defer func() {
			if r := recover(); r != nil && !errors.Is(r.(error), errCrash) {
				panic(r)
			}
		}()
		_, _ = d.driver(p.model, p.options()).Start(context.Background(), id)
	}()
	if run := d.run(id); run.Used.ModelCalls != 3 || p.model.Calls() != 3 {
		t.Errorf("%d charged, %d made; want 3 and 3", run.Used.ModelCalls, p.model.Calls())
	}
}
