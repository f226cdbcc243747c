package approvalgate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"orderdesk/runstore"
)

func TestCarryOut(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	a := d.approved(run, "4711")
	d.queue(run, proposal("4740"))
	var seen []string
	rep, err := d.gate.CarryOut(d.ctx, run, "", func(a runstore.Action) { seen = append(seen, a.ID+" "+string(a.Status)) })
	d.must(err)
	got := d.action(run, "A1")
	if rep.Executed != 1 || fmt.Sprint(seen) != "[A1 executed]" || got.Outcome.Reference != "REQ-0001" || d.recv.made[a.Key()] != "REQ-0001" {
		t.Errorf("report %+v, progress %v, outcome %+v", rep, seen, got.Outcome)
	}
	if want := "[queued os:anna approved Maria Weber queued os:anna executed gate]"; fmt.Sprint(d.audit(run)) != want {
		t.Errorf("audit %v", d.audit(run))
	}
	if d.action(run, "A2").Status != runstore.Pending || d.traced(run, runstore.TraceExecution) != 1 {
		t.Error("A2 was touched, or the trace is wrong")
	}
	if again := d.carry(run); fmt.Sprint(again) != fmt.Sprint(CarryReport{}) || d.recv.creates != 1 {
		t.Errorf("again: %+v, %d created", again, d.recv.creates)
	}
}

// Whatever the receiver does, one key, one body, at most one request; and what
// cannot be told is told as such.
func TestCruelReceiver(t *testing.T) {
	for _, c := range []struct {
		name   string
		script []string
		deaf   int
		want   runstore.ActionStatus
		made   int
		after  runstore.ActionStatus // after a second CarryOut
	}{
		{"ok", nil, 0, runstore.Executed, 1, runstore.Executed},
		{"refuses", []string{"refuse"}, 0, runstore.Failed, 0, runstore.Failed},
		{"cannot be reached", []string{"away"}, 0, runstore.Approved, 0, runstore.Executed},
		{"answer lost", []string{"lost"}, 0, runstore.Executed, 1, runstore.Executed},
		{"answer lost, look-up too", []string{"lost"}, 1, runstore.Unknown, 1, runstore.Executed},
		{"nothing done", []string{"timeout"}, 0, runstore.Executed, 1, runstore.Executed},
		{"nothing done twice", []string{"timeout", "timeout"}, 0, runstore.Unknown, 0, runstore.Executed},
		{"APR-12 creates after the timeout", []string{"late"}, 0, runstore.Executed, 1, runstore.Executed},
		{"APR-12 sleeps past the timeout", []string{"slow"}, 0, runstore.Executed, 1, runstore.Executed},
		{"APR-12 look-up fails, then it is there", []string{"slow"}, 1, runstore.Unknown, 1, runstore.Executed},
		{"timeout, then a no that may mean the first is under way", []string{"timeout", "refuse"}, 0, runstore.Unknown, 0, runstore.Executed},
		{"lost, then look-up says no, then no", []string{"late", "refuse"}, 0, runstore.Executed, 1, runstore.Executed},
		{"timeout, then away", []string{"timeout", "away"}, 0, runstore.Unknown, 0, runstore.Executed},
		{"no reference", []string{"nameless"}, 0, runstore.Executed, 1, runstore.Executed},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.opts.CallTimeout = time.Millisecond
			d.gate = New(d.opts)
			run := d.run()
			a := d.approved(run, "4711")
			d.recv.script[a.Key()], d.recv.deaf[a.Key()] = c.script, c.deaf
			rep := d.carry(run)
			got := d.action(run, "A1")
			if got.Status != c.want || len(d.recv.made) != c.made {
				t.Errorf("got %s (%+v), %d made; want %s, %d", got.Status, got.Outcome, len(d.recv.made), c.want, c.made)
			}
			if got.Outcome != nil && strings.Contains(got.Outcome.Detail, "secret-host") {
				t.Errorf("an outside error is stored: %s", got.Outcome.Detail)
			}
			if problems := len(rep.Unknown) + len(rep.Postponed); (problems == 1) != (c.want == runstore.Unknown || c.want == runstore.Approved) {
				t.Errorf("report %+v", rep)
			}
			if h := d.header(run); (h.Plan.Decided == 1) == c.want.Open() {
				t.Errorf("decided %d with %s", h.Plan.Decided, c.want)
			}
			d.recv.script[a.Key()] = nil
			d.carry(run)
			if got := d.action(run, "A1"); got.Status != c.after {
				t.Errorf("second CarryOut: %s, want %s", got.Status, c.after)
			}
		})
	}
}

func TestAPR05_ExpiredBetweenDecisionAndExecution(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	p := proposal("4711")
	p.Lifetime = time.Hour
	a := d.queue(run, p).Action
	d.clock.Add(time.Hour - time.Second)
	_, err := d.decide("Maria Weber", a, true)
	d.must(err)
	d.clock.Add(2 * time.Hour)
	if rep := d.carry(run); rep.Expired != 1 || d.recv.creates != 0 || d.action(run, "A1").Status != runstore.Expired {
		t.Errorf("report %+v, %d created", rep, d.recv.creates)
	}
}

func TestAPR07_RoleRevoked(t *testing.T) {
	for name, revoke := range map[string]func(*People, *desk) error{
		"Maria Weber is no approver any more": func(p *People, d *desk) error { return p.Remove(d.ctx, "Maria Weber", "os:root") },
		"Maria Weber does not hold CREDIT_MANAGER any more": func(p *People, d *desk) error {
			return p.SetRoles(d.ctx, "Maria Weber", []string{head}, "os:root")
		},
	} {
		d := newDesk(t)
		run := d.run()
		d.approved(run, "4711")
		d.must(revoke(NewPeople(d.store), d))
		rep := d.carry(run)
		got := d.action(run, "A1")
		if rep.Refused != 1 || d.recv.creates != 0 || got.Outcome.Detail != name || got.Approval.By != "Maria Weber" {
			t.Errorf("%s: report %+v, outcome %+v", name, rep, got.Outcome)
		}
	}
}

func TestAPR21_FactsMoved(t *testing.T) {
	for _, c := range []struct {
		name   string
		now    Recheck
		fail   error
		status runstore.ActionStatus
		detail string
	}{
		{"other role", Recheck{Role: head, Evidence: map[string]string{"exposure": "55500.00", "limit": "50000.00"}, Blocked: true}, nil,
			runstore.Refused, "needs HEAD_OF_FINANCE now; approved was CREDIT_MANAGER (exposure was 52500.00, is 55500.00)"},
		{"not blocked", Recheck{Role: manager, Reason: "within the limit"}, nil, runstore.Refused, "no longer blocked: within the limit"},
		{"not blocked, no reason", Recheck{}, nil, runstore.Refused, "no longer blocked"},
		{"figures moved, same role", Recheck{Role: manager, Evidence: map[string]string{"exposure": "52400.00"}, Blocked: true}, nil, runstore.Executed, ""},
		{"business error", Recheck{}, fmt.Errorf("read: %w", &RefuseError{"Currencies differ."}), runstore.Refused, "Currencies differ."},
		{"transient error", Recheck{}, errors.New("503"), runstore.Approved, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			run := d.run()
			d.approved(run, "4711")
			d.world["4711"] = c.now
			if c.fail != nil {
				d.fail["4711"] = c.fail
			}
			rep := d.carry(run)
			got := d.action(run, "A1")
			detail := ""
			if got.Outcome != nil {
				detail = got.Outcome.Detail
			}
			if got.Status != c.status || detail != c.detail {
				t.Errorf("got %s %q, want %s %q", got.Status, detail, c.status, c.detail)
			}
			if (len(rep.Postponed) == 1) != (c.status == runstore.Approved) || (d.recv.creates == 1) != (c.status == runstore.Executed) {
				t.Errorf("report %+v, %d created", rep, d.recv.creates)
			}
		})
	}
}

func TestBUD10_NoBudgetLeft(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	d.approved(run, "4711")
	d.must(d.store.Step(d.ctx, run, func(_ *runstore.Tx, r *runstore.Run) error {
		r.Budget = runstore.Budget{}
		r.Status, r.Stop = runstore.Stopped, &runstore.StopReason{Code: runstore.StopModelCalls}
		return nil
	}))
	if rep := d.carry(run); rep.Executed != 1 {
		t.Errorf("report %+v", rep)
	}
}

// What a crash left executing is looked up; what the receiver does not have is
// sent again while the approval stands.
func TestAPR11_CrashWhileExecuting(t *testing.T) {
	for _, c := range []struct {
		name  string
		made  bool
		later time.Duration
		spoil func(*desk)
		want  runstore.ActionStatus
	}{
		{"created", true, 0, nil, runstore.Executed},
		{"created, and the approval is over", true, 100 * time.Hour, nil, runstore.Executed},
		{"created, and the facts moved", true, 0, func(d *desk) { d.world["4711"] = Recheck{} }, runstore.Executed},
		{"not created", false, 0, nil, runstore.Executed},
		{"not created, facts moved just now", false, time.Minute, func(d *desk) { d.world["4711"] = Recheck{} }, runstore.Unknown},
		{"not created, facts moved since", false, time.Hour, func(d *desk) { d.world["4711"] = Recheck{} }, runstore.Refused},
		{"not created, the approval is over", false, 100 * time.Hour, nil, runstore.Expired},
		{"not created, bytes edited", false, time.Hour, func(d *desk) {
			d.edit(d.latest(), 1, func(a *runstore.Action) { a.Target.ID = "4740" })
		}, runstore.Refused},
		{"facts cannot be read", false, 0, func(d *desk) { d.fail["4711"] = errors.New("503") }, runstore.Executing},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			run := d.run()
			a := d.approved(run, "4711")
			d.edit(run, 1, func(a *runstore.Action) {
				a.Status, a.Outcome = runstore.Executing, &runstore.Outcome{At: d.clock.Now()}
			})
			if c.made {
				d.recv.make(a.Key())
			}
			d.clock.Add(c.later)
			if c.spoil != nil {
				c.spoil(d)
			}
			d.carry(run)
			if got := d.action(run, "A1"); got.Status != c.want {
				t.Errorf("got %s (%+v), want %s", got.Status, got.Outcome, c.want)
			}
			if c.made && d.recv.creates != 0 {
				t.Error("sent again")
			}
		})
	}
}

func (d *desk) latest() (id string) {
	d.t.Helper()
	d.must(d.store.View(d.ctx, func(tx *runstore.Tx) error {
		r, err := tx.LatestRun()
		if err == nil {
			id = r.ID
		}
		return err
	}))
	return id
}

func TestAPR14_KeyIsTheActionsName(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	for _, id := range []string{"1", "2", "3"} {
		d.approved(run, id)
	}
	d.fail["1"] = errors.New("503")
	d.recv.script[run+"/A2"] = []string{"timeout", "timeout"}
	d.carry(run)
	d.fail = map[string]error{}
	d.carry(run)
	for i, target := range []string{"1", "2", "3"} {
		if key := fmt.Sprintf("%s/A%d", run, i+1); d.recv.targets[target] != key || d.recv.made[key] == "" {
			t.Errorf("target %s went under %s, want %s", target, d.recv.targets[target], key)
		}
	}
}

// Batches: two commits for up to 64 actions, whatever is between them.
func TestCarryOutBatches(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	var all []RefDecision
	for i := range 200 {
		p := proposal(fmt.Sprint(1000 + i))
		p.Target.Group = ""
		a := d.queue(run, p).Action
		if i%4 != 3 {
			all = append(all, RefDecision{Ref{Run: run, Action: a.ID}, Decision{Approve: true, Hash: a.Hash}})
		}
		if i == 70 {
			d.fail[p.Target.ID] = errors.New("503")
		}
	}
	_, err := d.gate.DecideMany(d.ctx, d.login("Maria Weber"), all)
	d.must(err)
	before := d.store.Commits()
	rep := d.carry(run)
	if rep.Executed != 149 || len(rep.Postponed) != 1 || rep.Postponed[0].Action != "A71" {
		t.Errorf("report %+v", rep)
	}
	if n := d.store.Commits() - before; n != 6 {
		t.Errorf("%d commits, want 6", n)
	}
	d.fail = map[string]error{}
	if rep := d.carry(run); rep.Executed != 1 || len(d.recv.made) != 150 || d.header(run).Approved != 0 {
		t.Errorf("second: %+v", rep)
	}
}

// A canceled context ends the run between two calls; what was called is saved,
// what was not sent is approved as before.
func TestCarryOutCanceled(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	for _, id := range []string{"1", "2", "3"} {
		d.approved(run, id)
	}
	ctx, cancel := context.WithCancel(d.ctx)
	d.recv.before = func(key string) {
		if strings.HasSuffix(key, "/A2") {
			cancel()
		}
	}
	rep, err := d.gate.CarryOut(ctx, run, "", nil)
	if !errors.Is(err, context.Canceled) || rep.Executed != 2 || len(rep.Postponed) != 1 {
		t.Errorf("got %+v, %v", rep, err)
	}
	if got := d.action(run, "A3"); got.Status != runstore.Approved || got.Outcome != nil {
		t.Errorf("A3: %+v", got)
	}
	d.recv.before = nil
	if rep := d.carry(run); rep.Executed != 1 || len(d.recv.made) != 3 {
		t.Errorf("then %+v", rep)
	}
}

func TestCarryOutNeedsLease(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	d.approved(run, "4711")
	me := d.store.Instance()
	if _, err := d.gate.CarryOut(d.ctx, run, me, nil); !errors.Is(err, runstore.ErrLeaseLost) {
		t.Errorf("without the lease: %v", err)
	}
	lease := func(holder string) {
		d.must(d.store.Step(d.ctx, run, func(tx *runstore.Tx, r *runstore.Run) error {
			r.Lease = runstore.Lease{Holder: holder, Expires: tx.Now().Add(time.Second)}
			return nil
		}))
	}
	lease(me)
	d.recv.before = func(string) { lease("other") } // taken over between the commits
	rep, err := d.gate.CarryOut(d.ctx, run, me, nil)
	if !errors.Is(err, runstore.ErrLeaseLost) || rep.Executed != 1 {
		t.Errorf("taken over: %+v, %v", rep, err)
	}
	if got := d.action(run, "A1"); got.Status != runstore.Executed {
		t.Errorf("the outcome was lost: %s", got.Status)
	}
}

// Two processes carry one run out at once, without a lease: still one request
// per action under one key.
func TestCarryOutTwiceAtOnce(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	for i := range 100 {
		p := proposal(fmt.Sprint(100 + i))
		p.Target.Group = ""
		_, err := d.decide("Maria Weber", d.queue(run, p).Action, true)
		d.must(err)
	}
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := New(d.opts).CarryOut(d.ctx, run, "", nil)
			done <- err
		}()
	}
	for range 2 {
		d.must(<-done)
	}
	d.carry(run)
	if h := d.header(run); len(d.recv.made) != 100 || h.Approved != 0 {
		t.Errorf("%d made, %d still approved", len(d.recv.made), h.Approved)
	}
	for i := range 100 {
		id := fmt.Sprintf("A%d", i+1)
		if a := d.action(run, id); a.Status != runstore.Executed || a.Outcome.Reference != d.recv.made[run+"/"+id] {
			t.Fatalf("%s: %s %+v", id, a.Status, a.Outcome)
		}
	}
}

// Another process settles everything between this one's look and its commit.
func TestCarryOutOvertaken(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	d.approved(run, "1")
	d.approved(run, "2")
	other, asked := New(d.opts), 0
	d.opts.Recheck = func(ctx context.Context, e Envelope) (Recheck, error) {
		if asked++; asked == 1 {
			rep, err := other.CarryOut(ctx, run, "", nil)
			if err != nil || rep.Executed != 2 {
				t.Errorf("the other: %+v, %v", rep, err)
			}
		}
		return d.recheck(ctx, e)
	}
	d.gate = New(d.opts)
	if rep := d.carry(run); rep.Executed != 0 || d.recv.creates != 2 || d.header(run).Approved != 0 {
		t.Errorf("report %+v, %d created", rep, d.recv.creates)
	}
}

func TestPermitOnlyFromGate(t *testing.T) {
	if (&Permit{}).Valid() || (*Permit)(nil).Valid() {
		t.Error("a permit that no gate made is valid")
	}
}
