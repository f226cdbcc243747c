package approvalgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"orderdesk/runstore"
)

func TestQueueSeals(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	q := d.queue(run, proposal("4711"))
	a := d.action(run, "A1")
	if q.Existing || q.Linked || a.Status != runstore.Pending || a.Role != manager || !a.Expires.Equal(a.Queued.Add(72*time.Hour)) {
		t.Errorf("got %+v", q)
	}
	e, err := open(&a, a.Hash)
	d.must(err)
	if e.Run != run || e.Action != "A1" || e.Evidence["exposure"] != "52500.00" || e.Rule != "role-rule/1" {
		t.Errorf("envelope %+v", e)
	}
	if d.traced(run, runstore.TraceQueued) != 1 || fmt.Sprint(d.audit(run)) != "[queued os:anna]" {
		t.Errorf("trace %d, audit %v", d.traced(run, runstore.TraceQueued), d.audit(run))
	}
}

func TestSTA09_TwoQueueCallsForOneTarget(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	got := make([]Queued, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = d.tryQueue(run, proposal("4711")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	added := 0
	for _, q := range got {
		if q.Action.ID != "A1" {
			t.Errorf("got %s, want A1", q.Action.ID)
		}
		if !q.Existing {
			added++
		}
	}
	if h := d.header(run); added != 1 || h.ActionSeq != 1 || h.Pending != 1 {
		t.Errorf("%d added, %d actions, %d pending; want 1 of each", added, h.ActionSeq, h.Pending)
	}
}

// The agent cannot swap what waits: the same target with other arguments is
// the action that is there.
func TestAPR03_ReplayWithOtherArguments(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	first := d.queue(run, proposal("4711"))
	p := proposal("4711")
	p.Arguments = json.RawMessage(`{"sales_order":"4711","justification":"The board has agreed."}`)
	q := d.queue(run, p)
	if !q.Existing || q.Action.Hash != first.Action.Hash {
		t.Errorf("got %+v", q)
	}
}

func TestAPR04_ApprovalIsOfOneTarget(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	d.approved(run, "4711")
	if q := d.queue(run, proposal("4740")); q.Action.ID != "A2" || q.Action.Status != runstore.Pending {
		t.Errorf("got %s %s, want A2 pending", q.Action.ID, q.Action.Status)
	}
	d.carry(run)
	if len(d.recv.made) != 1 || d.recv.made[run+"/A1"] == "" {
		t.Errorf("made %v", d.recv.made)
	}
}

// Three runs, one target: one request, and the runs that linked hear of it.
func TestTwoRunsOneRequest(t *testing.T) {
	d := newDesk(t)
	first, second, third := d.run(), d.runOf("os:bo"), d.run()
	a := d.queue(first, proposal("4711")).Action
	q := d.queue(second, proposal("4711"))
	if !q.Existing || !q.Linked || q.Action.Run != first || q.Action.ID != "A1" {
		t.Fatalf("second run: got %+v", q)
	}
	if again := d.queue(second, proposal("4711")); !again.Linked || d.traced(second, runstore.TraceQueued) != 1 {
		t.Errorf("asking again is an event: %+v", again)
	}
	if _, err := d.decide("Maria Weber", a, true); err != nil {
		t.Fatal(err)
	}
	if n := d.header(second).Plan.Decided; n != 0 {
		t.Errorf("decided before it was carried out: %d", n)
	}
	d.carry(second)
	d.carry(first)
	if q := d.queue(third, proposal("4711")); !q.Linked || q.Action.Status != runstore.Executed || q.Action.Outcome.Reference != "REQ-0001" {
		t.Errorf("third run: got %+v", q)
	}
	if d.recv.creates != 1 || d.header(first).Plan.Decided != 1 || d.header(second).Plan.Decided != 1 {
		t.Errorf("created %d, decided %d and %d; want 1 each", d.recv.creates, d.header(first).Plan.Decided, d.header(second).Plan.Decided)
	}
	if fmt.Sprint(d.audit(second)) != "[linked os:bo]" {
		t.Errorf("audit %v", d.audit(second))
	}
}

func TestProposeAgain(t *testing.T) {
	for name, end := range map[string]func(*desk, runstore.Action){
		"rejected": func(d *desk, a runstore.Action) {
			_, err := d.decide("Maria Weber", a, false)
			d.must(err)
		},
		"withdrawn": func(d *desk, a runstore.Action) {
			d.must(d.store.Step(d.ctx, a.Run, func(tx *runstore.Tx, r *runstore.Run) error { return d.gate.Withdraw(tx, r, a.ID) }))
		},
		"expired": func(d *desk, a runstore.Action) {
			d.clock.Add(73 * time.Hour)
			n, err := d.gate.Expire(d.ctx, a.Run)
			d.must(err)
			if n != 1 {
				d.t.Errorf("%d expired, want 1", n)
			}
		},
		"refused": func(d *desk, a runstore.Action) {
			_, err := d.decide("Maria Weber", a, true)
			d.must(err)
			d.world["4711"] = Recheck{Role: manager, Blocked: false}
			d.carry(a.Run)
		},
		"failed": func(d *desk, a runstore.Action) {
			_, err := d.decide("Maria Weber", a, true)
			d.must(err)
			d.recv.script[a.Key()] = []string{"refuse"}
			d.carry(a.Run)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			run := d.run()
			a := d.queue(run, proposal("4711")).Action
			end(d, a)
			if got := d.action(run, "A1").Status; string(got) != name {
				t.Fatalf("A1 is %s, want %s", got, name)
			}
			if h := d.header(run); h.Plan.Decided != 1 || h.Pending != 0 || h.Approved != 0 {
				t.Errorf("header: decided %d, pending %d, approved %d", h.Plan.Decided, h.Pending, h.Approved)
			}
			other := d.runOf("os:bo")
			if q := d.queue(other, proposal("4711")); q.Existing || q.Action.Run != other {
				t.Errorf("got %+v, want a new action", q)
			}
			if got := group(d); len(got) != 1 || got[0].Run != other {
				t.Errorf("group %+v", got)
			}
		})
	}
}

func group(d *desk) (got []GroupEntry) {
	d.t.Helper()
	d.must(d.store.View(d.ctx, func(tx *runstore.Tx) (err error) {
		got, err = d.gate.Group(tx, "C1")
		return err
	}))
	return got
}

// A live action whose time is over gives way, whichever run it belongs to, and
// the run that asks keeps what its own step has done so far.
func TestQueueExpiresFirst(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprintf("own=%v", own), func(t *testing.T) {
			d := newDesk(t)
			owner := d.run()
			a := d.approved(owner, "4711")
			asking := owner
			if !own {
				asking = d.runOf("os:bo")
				d.queue(asking, proposal("4711"))
			}
			d.clock.Add(72 * time.Hour)
			var q Queued
			d.must(d.store.Step(d.ctx, asking, func(tx *runstore.Tx, r *runstore.Run) (err error) {
				r.Used.ToolCalls = 7
				q, err = d.gate.Queue(tx, r, proposal("4711"))
				return err
			}))
			if q.Existing || q.Action.Run != asking || q.Action.Status != runstore.Pending {
				t.Errorf("got %+v", q)
			}
			if got := d.action(owner, a.ID); got.Status != runstore.Expired || got.Approval == nil {
				t.Errorf("A1: %+v", got)
			}
			h := d.header(asking)
			if h.Used.ToolCalls != 7 || h.Plan.Decided > 1 || h.Pending != 1 {
				t.Errorf("header: %+v", h)
			}
			d.carry(owner)
			if d.recv.creates != 0 {
				t.Error("an expired approval was carried out")
			}
		})
	}
}

func TestExpireOnlyWhatIsDue(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	for i := range 250 {
		p := proposal(fmt.Sprint(1000 + i))
		p.Target.Group = ""
		if i%2 == 0 {
			p.Lifetime = time.Hour
		}
		d.queue(run, p)
	}
	d.clock.Add(time.Hour - time.Second)
	if n, err := d.gate.Expire(d.ctx, run); n != 0 || err != nil {
		t.Errorf("too early: %d, %v", n, err)
	}
	d.clock.Add(2 * time.Second)
	if n, err := d.gate.Expire(d.ctx, run); n != 125 || err != nil {
		t.Errorf("got %d, %v; want 125", n, err)
	}
	if h := d.header(run); h.Pending != 125 {
		t.Errorf("%d pending, want 125", h.Pending)
	}
}

func TestSTA18_ExpiryAndClockSetBack(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	a := d.queue(run, proposal("4711")).Action
	d.clock.Add(73 * time.Hour)
	d.login("Maria Weber") // the store has seen that time
	d.clock.Add(-2 * time.Hour)
	_, err := d.decide("Maria Weber", a, true)
	var no *ExpiredError
	if !errors.As(err, &no) {
		t.Errorf("got %v, want an ExpiredError", err)
	}
}

// A proposal that cannot be queued leaves nothing, so the caller may keep the
// rest of its step.
func TestQueueRefusalLeavesNothing(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	p := proposal("4711")
	p.Arguments = json.RawMessage(`{"amount":0.5}`)
	var no *SealError
	d.must(d.store.Step(d.ctx, run, func(tx *runstore.Tx, r *runstore.Run) error {
		if _, err := d.gate.Queue(tx, r, p); !errors.As(err, &no) {
			t.Errorf("got %v, want a SealError", err)
		}
		return nil
	}))
	if h := d.header(run); h.ActionSeq != 0 || h.TraceSeq != 0 || len(d.audit(run)) != 0 {
		t.Errorf("left behind: %+v", h)
	}
	if q := d.queue(run, proposal("4711")); q.Existing {
		t.Error("target is taken")
	}
}

func TestGroupLedger(t *testing.T) {
	d := newDesk(t)
	run, other := d.run(), d.runOf("os:bo")
	a1, a2 := d.queue(run, proposal("1")).Action, d.queue(other, proposal("2")).Action
	d.queue(run, proposal("3"))
	_, err := d.decide("Maria Weber", a1, true)
	d.must(err)
	_, err = d.decide("Maria Weber", a2, false)
	d.must(err)
	d.carry(run)
	show := func() string {
		s := ""
		for _, e := range group(d) {
			s += fmt.Sprintf("%s %s %s %v; ", e.Target.ID, e.Status, e.Amount, !e.ExecutedAt.IsZero())
		}
		return s
	}
	if got, want := show(), "1 executed 2500.00 EUR true; 3 pending 2500.00 EUR false; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e := group(d)[0]; !e.At.Equal(a1.Queued) || e.Run != run || e.Action != "A1" || e.Target != a1.Target {
		t.Errorf("entry %+v", e)
	}
	d.clock.Add(24 * time.Hour)
	if got, want := show(), "3 pending 2500.00 EUR false; "; got != want {
		t.Errorf("a day later: got %s, want %s", got, want)
	}
	d.clock.Add(48 * time.Hour)
	if got := show(); got != "" {
		t.Errorf("past every expiry: got %s", got)
	}
}

func TestGroupIsBounded(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	queue := func(id int) error {
		p := proposal(fmt.Sprintf("%010d", id))
		p.Amount = "123456789012.00 EUR"
		_, err := d.tryQueue(run, p)
		return err
	}
	for i := range MaxGroup {
		d.must(queue(i))
	}
	var no *GroupFullError
	if err := queue(MaxGroup); !errors.As(err, &no) || no.Hint() == "" {
		t.Fatalf("got %v, want a GroupFullError", err)
	}
	_, err := d.decide("Maria Weber", d.action(run, "A7"), false)
	d.must(err)
	d.must(queue(MaxGroup))
}

func TestUnblocked(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	d.approved(run, "4711")
	unblocked := func() {
		d.must(d.store.Update(d.ctx, func(tx *runstore.Tx) error { return d.gate.Unblocked(tx, proposal("4711").Target) }))
	}
	unblocked()
	if q := d.queue(run, proposal("4711")); !q.Existing {
		t.Error("an approved action gave way")
	}
	d.carry(run)
	unblocked()
	if q := d.queue(run, proposal("4711")); q.Existing || q.Action.ID != "A2" {
		t.Errorf("got %+v, want A2", q)
	}
}

func TestWithdrawOnlyPending(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	d.approved(run, "4711")
	for id, want := range map[string]any{"A1": new(*DecidedError), "A2": new(*NotFoundError), "x": new(*NotFoundError)} {
		err := d.store.Step(d.ctx, run, func(tx *runstore.Tx, r *runstore.Run) error { return d.gate.Withdraw(tx, r, id) })
		if !errors.As(err, want) {
			t.Errorf("%s: got %v", id, err)
		}
	}
}
