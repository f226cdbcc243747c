package driver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/creditrelease"
)

func TestSTA09_TwoQueueCallsForOneOrder(t *testing.T) {
	d := newDesk(t, deskOptions{})
	first, second := d.begin(runstore.Budget{}), d.begin(runstore.Budget{})
	for _, id := range []string{first, second} {
		d.must(id, list, allTodo, summary, exposure)
	}
	ids := [...]string{first, first, second, second}
	var answers [len(ids)]tools.Result
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			res, err := d.set.Call(context.Background(), tools.Request{Who: me, Run: id, Name: request.Name, Args: request.Args})
			if err != nil {
				t.Error(err)
			}
			answers[i] = res
		})
	}
	wg.Wait()
	made := 0
	for i, res := range answers {
		var q struct {
			ActionID string `json:"action_id"`
			RunID    string `json:"run_id"`
			Message  string
		}
		if err := json.Unmarshal(res.JSON, &q); err != nil || res.Refused || q.ActionID != "A1" {
			t.Errorf("call %d: %s, want A1", i, res.JSON)
		}
		if strings.HasPrefix(q.Message, "Nothing is created yet") {
			made++
		}
	}
	if n := d.run(first).ActionSeq + d.run(second).ActionSeq; n != 1 || made != 1 {
		t.Errorf("%d actions, %d answers say a new one; want 1 and 1", n, made)
	}
	d.consistent(first)
	d.consistent(second)
}

func TestSTA20_EmptyWorklist(t *testing.T) {
	path := altered(t, func(w *genWorld) {
		for i := range w.Orders {
			w.Orders[i].Blocked = false
		}
	})
	d := newDesk(t, deskOptions{source: path})
	run := d.start(runstore.Budget{}, sample, 0)
	if run.Status != runstore.Done || run.Used.ModelCalls > 2 || !strings.Contains(run.Answer, "0 blocked orders") {
		t.Errorf("%s after %d model calls: %q; want done after at most 2, \"0 blocked orders\"", run.Status, run.Used.ModelCalls, run.Answer)
	}
	if run, out := d.resume(run.ID, driver.Changes{}); out != driver.AlreadyDone || run.Used.ModelCalls > 2 {
		t.Errorf("resume: %v after %d calls, want already done", out, run.Used.ModelCalls)
	}
}

func TestSTA21_WorklistAbovePlanLimit(t *testing.T) {
	for _, n := range []int{5, 9, 20, 21, 25, 40} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			path := generate(t, n)
			d := newDesk(t, deskOptions{source: path})
			run := d.start(runstore.Budget{}, sample, 0)
			d.checkOracle(run, readOracle(t, path))
			if b := run.Budget; b.ModelCalls.Max != 5+5*n || b.ToolCalls.Max != 6+6*n || b.Chars.Max != 37500*n || b.Seconds.Max != 75*n {
				t.Errorf("budget %+v does not follow the %d orders", b, n)
			}
			d.decideAll(run)
			if run, _ = d.resume(run.ID, driver.Changes{}); run.Status != runstore.Done {
				t.Errorf("after all decisions: %s (%+v), want done", run.Status, run.Stop)
			}
			d.consistent(run.ID)
		})
	}
	d := newDesk(t, deskOptions{source: generate(t, 25)})
	run := d.start(runstore.Budget{ModelCalls: limit(25)}, sample, 0)
	if run.Stop == nil || !strings.Contains(run.Stop.Message, "limit of 25 model calls") || run.Plan.Total != 25 {
		t.Errorf("stop %+v with %d in the plan; want the limit explained and all 25 planned", run.Stop, run.Plan.Total)
	}
}

func TestSTA23_FactsAfterDays(t *testing.T) {
	store, clock := dated(t)
	d := newDesk(t, deskOptions{store: store})
	id := d.begin(runstore.Budget{})
	d.must(id, list, allTodo, summary, exposure)
	res := d.call(id, exposure.Name, string(exposure.Args))
	if !res.Recorded || !strings.Contains(string(res.JSON), `"already_read":"at 2026-10-06T08:00:00Z`) {
		t.Errorf("cache hit: %s, want it to say when it was read", res.JSON)
	}
	credits := d.backend.Counts().Credits
	clock.Advance(72 * time.Hour)
	d.refused(id, request.Name, string(request.Args), "Read sales_order_get_block_summary")
	if strings.Contains(d.briefing(id), `"tool":"customer_get_credit_exposure"`) || !strings.Contains(d.briefing(id), "The list is stale") {
		t.Errorf("old facts are shown as if they held:\n%s", d.briefing(id))
	}
	open, err := creditrelease.ParseAmount("90000")
	if err == nil {
		err = d.world.SetOpenItems("10023", open)
	}
	if err != nil {
		t.Fatal(err)
	}
	run, _ := d.resume(id, driver.Changes{})
	if got := d.backend.Counts().Credits - credits; got != 2 {
		t.Errorf("the credit service was asked %d times, want once for each credit-blocked order", got)
	}
	if a := d.action(id, "A1"); a.Role != "HEAD_OF_FINANCE" || !strings.Contains(string(a.Envelope), `"open_items":"90000`) {
		t.Errorf("A1: %s on %s; want HEAD_OF_FINANCE on today's numbers", a.Role, a.Envelope)
	}
	if run.Status != runstore.Waiting {
		t.Errorf("run: %s (%+v), want waiting", run.Status, run.Stop)
	}
}

func TestCLI05_StuckRunning(t *testing.T) {
	d := newDesk(t, deskOptions{})
	run := d.start(runstore.Budget{}, sample, 3) // its worker is gone without a word
	if run.Status != runstore.Running || run.Lease.Holder == "" {
		t.Fatalf("%s, held by %q; want a run that looks alive", run.Status, run.Lease.Holder)
	}
	gone := func(string) bool { return false }
	now := run.Updated
	if run.Interrupted(now, d.store.Alive) || !run.Interrupted(now, gone) || !run.Interrupted(now.Add(runstore.LeaseTime), d.store.Alive) {
		t.Error("interrupted must show when the process is gone or the lease has run out, and not before")
	}
	d.died(run.ID)
	if run, _ = d.resume(run.ID, driver.Changes{}); run.Status != runstore.Waiting || run.Interrupted(now, gone) {
		t.Errorf("resumed: %s, want waiting", run.Status)
	}
}
