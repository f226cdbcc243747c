package approvalgate

import (
	"errors"
	"fmt"
	"testing"

	"orderdesk/runstore"
)

var errCrash = errors.New("the process died here")

// targets of the scenario and what becomes of them.
func fates() map[string]runstore.ActionStatus {
	return map[string]runstore.ActionStatus{
		"1": runstore.Executed, // plain
		"2": runstore.Executed, // the receiver's first answer is lost
		"3": runstore.Executed, // sleeps past the timeout, then creates
		"4": runstore.Failed,   // a definite no
		"5": runstore.Refused,  // the world moved
		"6": runstore.Rejected,
		"7": runstore.Withdrawn,
	}
}

// scenario does whatever is not done yet, as a person and a resume would, and
// returns the first error. linked is a second run that waits on target 1.
func (d *desk) scenario() error {
	run, linked, err := d.runs()
	if err != nil {
		return err
	}
	for i := range len(fates()) {
		p := proposal(fmt.Sprint(i + 1))
		if d.known(run, fmt.Sprintf("A%d", i+1)) {
			continue
		}
		if _, err := d.tryQueue(run, p); err != nil {
			return err
		}
	}
	if _, err := d.tryQueue(linked, proposal("1")); err != nil {
		return err
	}
	if err := d.decisions(run); err != nil {
		return err
	}
	d.recv.script[run+"/A2"] = []string{"lost"}
	d.recv.script[run+"/A3"] = []string{"late"}
	d.recv.script[run+"/A4"] = []string{"refuse"}
	d.world["5"] = Recheck{Role: head, Blocked: true}
	if _, err := d.gate.CarryOut(d.ctx, run, "", nil); err != nil {
		return err
	}
	return d.store.Step(d.ctx, run, func(tx *runstore.Tx, r *runstore.Run) error {
		err := d.gate.Withdraw(tx, r, "A7")
		if no := (*DecidedError)(nil); errors.As(err, &no) {
			return nil
		}
		return err
	})
}

func (d *desk) runs() (run, linked string, err error) {
	var ids []string
	err = d.store.Update(d.ctx, func(tx *runstore.Tx) error {
		ids = nil
		err := tx.Runs(func(r *runstore.Run) bool { ids = append(ids, r.ID); return true })
		for err == nil && len(ids) < 2 {
			var r *runstore.Run
			if r, err = tx.NewRun(runstore.Run{Owner: "os:anna"}); err == nil {
				ids = append([]string{r.ID}, ids...)
			}
		}
		return err
	})
	if err != nil {
		return "", "", err
	}
	return ids[1], ids[0], nil
}

func (d *desk) known(run, id string) bool {
	return d.store.View(d.ctx, func(tx *runstore.Tx) error {
		_, err := tx.Action(Ref{Run: run, Action: id})
		return err
	}) == nil
}

func (d *desk) decisions(run string) error {
	for id, fate := range fates() {
		if fate == runstore.Withdrawn {
			continue
		}
		ref := Ref{Run: run, Action: "A" + id}
		var hash string
		err := d.store.View(d.ctx, func(tx *runstore.Tx) error {
			a, err := tx.Action(ref)
			if err == nil {
				hash = a.Hash
			}
			return err
		})
		if err != nil {
			return err
		}
		maria := Person{Name: "Maria Weber", Auth: AuthPassphrase}
		_, err = d.gate.Decide(d.ctx, maria, ref, Decision{Approve: fate != runstore.Rejected, Hash: hash})
		if no := (*DecidedError)(nil); err != nil && !errors.As(err, &no) {
			return err
		}
	}
	return nil
}

// expect checks the end of the scenario, whatever happened on the way.
func (d *desk) expect(what string) {
	d.t.Helper()
	run, linked, err := d.runs()
	d.must(err)
	made := 0
	for id, want := range fates() {
		a := d.action(run, "A"+id)
		if a.Status != want {
			d.t.Errorf("%s: target %s is %s (%+v), want %s", what, id, a.Status, a.Outcome, want)
		}
		if want == runstore.Executed {
			made++
			if a.Outcome == nil || a.Outcome.Reference != d.recv.made[a.Key()] {
				d.t.Errorf("%s: target %s: outcome %+v, receiver has %q", what, id, a.Outcome, d.recv.made[a.Key()])
			}
		}
	}
	if len(d.recv.made) != made {
		d.t.Errorf("%s: receiver has %v, want %d", what, d.recv.made, made)
	}
	for _, f := range d.recv.faults {
		d.t.Errorf("%s: receiver: %s", what, f)
	}
	h, l := d.header(run), d.header(linked)
	if h.Pending != 0 || h.Approved != 0 || h.ActionSeq != len(fates()) || h.Plan.Decided != len(fates()) || l.Plan.Decided != 1 {
		d.t.Errorf("%s: %d pending, %d approved, %d actions, %d and %d decided", what, h.Pending, h.Approved, h.ActionSeq, h.Plan.Decided, l.Plan.Decided)
	}
	if n := len(group(d)); n != made {
		d.t.Errorf("%s: group has %d, want %d", what, n, made)
	}
	if n := d.traced(run, runstore.TraceApproval); n != 7 { // 6 decisions and a withdrawal
		d.t.Errorf("%s: %d decisions traced, want 7", what, n)
	}
	_, err = d.store.Check(d.ctx, func(p runstore.Problem) { d.t.Errorf("%s: doctor: %+v", what, p) })
	d.must(err)
}

// crash runs the scenario in a directory; the process dies where o says, and
// another one finishes.
func crash(t *testing.T, what string, o runstore.Options, arm func(*desk)) (commits int) {
	t.Helper()
	d := &desk{t: t, ctx: t.Context(), clock: newClock(), recv: newReceiver(), world: map[string]Recheck{}, fail: map[string]error{}}
	dir := t.TempDir()
	d.open(runstore.Options{Dir: dir, NoSync: true})
	d.people()
	d.must(d.store.Close())

	o.Dir, o.NoSync = dir, true
	d.open(o)
	arm(d)
	err := d.scenario()
	commits = int(d.store.Commits())
	if err != nil && o.OnCommit == nil && o.AfterCommit == nil && d.recv.before == nil {
		t.Fatalf("%s: %v", what, err)
	}
	_ = d.store.Close()
	d.recv.before = nil

	d.open(runstore.Options{Dir: dir, NoSync: true})
	for range 2 { // the second finds what the first left unknown
		d.must(d.scenario())
	}
	d.expect(what)
	d.must(d.store.Close())
	return commits
}

func TestCrashAtEveryCommit(t *testing.T) {
	commits := crash(t, "no crash", runstore.Options{}, func(*desk) {})
	if commits < 15 {
		t.Fatalf("%d commits; the scenario does too little", commits)
	}
	for n := 1; n <= commits; n++ {
		hook := func(k int) error {
			if k == n {
				return errCrash
			}
			return nil
		}
		crash(t, fmt.Sprintf("commit %d lost", n), runstore.Options{OnCommit: hook}, func(*desk) {})
		crash(t, fmt.Sprintf("killed after commit %d", n), runstore.Options{AfterCommit: hook}, func(*desk) {})
	}
}

// APR-11: the receiver is reached and the process dies before it can save the
// answer, at every call.
func TestAPR11_CrashAtEveryCall(t *testing.T) {
	for n := 1; n <= 5; n++ {
		calls := 0 // of Create
		crash(t, fmt.Sprintf("died in call %d", n), runstore.Options{}, func(d *desk) {
			d.recv.before = func(string) {
				if calls++; calls == n {
					_ = d.store.Close()
				}
			}
		})
		if calls < n {
			t.Errorf("only %d calls, want %d", calls, n)
		}
	}
}
