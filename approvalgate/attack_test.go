package approvalgate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"orderdesk/runstore"
)

// reseal replaces a's envelope by an edited one and fits the hash to it.
func reseal(a *runstore.Action, old, new string) {
	a.Envelope = json.RawMessage(strings.Replace(string(a.Envelope), old, new, 1))
	a.Hash = Hash(a.Envelope)
}

// Edits of the stored record between approval and execution: none is carried
// out, each is named, and the target can be proposed again.
func TestAPR03_ChangedAfterApproval(t *testing.T) {
	for _, c := range []struct {
		name  string
		edit  func(*runstore.Action)
		wants string // part of the reason
	}{
		{"arguments edited", func(a *runstore.Action) {
			a.Envelope = json.RawMessage(strings.Replace(string(a.Envelope), "52,500", "50,000", 1))
		}, "bytes do not have its hash"},
		{"arguments and hash edited", func(a *runstore.Action) { reseal(a, "52,500", "50,000") }, "not the one that was decided on"},
		{"target beside the seal edited", func(a *runstore.Action) { a.Target.ID = "4740" }, "record around it was changed"},
		{"target edited everywhere, hash fitted", func(a *runstore.Action) { reseal(a, `"id":"4711"`, `"id":"4740"`) }, "not the one that was decided on"},
		{"role beside the seal edited", func(a *runstore.Action) { a.Role = head }, "record around it was changed"},
		{"tool beside the seal edited", func(a *runstore.Action) { a.Tool = "payment_create" }, "record around it was changed"},
		{"group beside the seal edited", func(a *runstore.Action) { a.Target.Group = "C2" }, "record around it was changed"},
		{"APR-17 form of a character edited", func(a *runstore.Action) { reseal(a, "more", "mor\u0065\u0301") }, "not the one that was decided on"},
		{"hash edited", func(a *runstore.Action) { a.Hash = "h1:0" }, "not the one that was decided on"},
		{"approval's hash edited", func(a *runstore.Action) { a.Approval.Hash = "h1:0" }, "not the one that was decided on"},
		{"approval taken away", func(a *runstore.Action) { a.Approval = nil }, "no approval is recorded"},
		{"rejection turned", func(a *runstore.Action) { a.Approval.Approved = false }, "no approval is recorded"},
		{"role of the approval NONE", func(a *runstore.Action) { a.Approval.Role = "NONE" }, "approved as NONE; it needs CREDIT_MANAGER"},
		{"approver forged", func(a *runstore.Action) { a.Approval.By = "nobody" }, "nobody is no approver any more"},
		{"approver of another role", func(a *runstore.Action) { a.Approval.By = "Jon Berg" }, "Jon Berg does not hold CREDIT_MANAGER"},
		{"approver is the owner", func(a *runstore.Action) { a.Approval.By = "Anna Lind" }, "Anna Lind owns the run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			run := d.run()
			d.approved(run, "4711")
			d.edit(run, 1, c.edit)
			rep := d.carry(run)
			got := d.action(run, "A1")
			if rep.Refused != 1 || d.recv.creates != 0 || got.Status != runstore.Refused {
				t.Fatalf("report %+v, %d created, %s", rep, d.recv.creates, got.Status)
			}
			if !strings.Contains(got.Outcome.Detail, c.wants) {
				t.Errorf("reason %q, want %q", got.Outcome.Detail, c.wants)
			}
			if n, g := d.header(run).Plan.Decided, group(d); n != 1 || len(g) != 0 {
				t.Errorf("the plan hears of %d decided, want 1; group %+v", n, g)
			}
			if q := d.queue(run, proposal("4711")); q.Existing || q.Action.ID != "A2" {
				t.Errorf("cannot be proposed again: %+v", q)
			}
		})
	}
}

// An approval forged in the data directory, with nobody asked.
func TestApprovalForged(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	a := d.queue(run, proposal("4711")).Action
	d.must(d.store.Step(d.ctx, run, func(tx *runstore.Tx, r *runstore.Run) error {
		a.Status = runstore.Approved
		a.Approval = &runstore.Approval{Approved: true, By: "nobody", Role: "NONE", Auth: "test", Hash: a.Hash}
		return tx.PutAction(r, &a)
	}))
	if rep := d.carry(run); rep.Refused != 1 || d.recv.creates != 0 {
		t.Errorf("report %+v", rep)
	}
}

// Edits between queueing and decision: the person decides on what they saw.
func TestChangedBeforeDecision(t *testing.T) {
	for name, edit := range map[string]func(*runstore.Action){
		"arguments": func(a *runstore.Action) { reseal(a, "52,500", "50,000") },
		"arguments, no hash": func(a *runstore.Action) {
			a.Envelope = json.RawMessage(strings.Replace(string(a.Envelope), "52,500", "5", 1))
		},
		"role":             func(a *runstore.Action) { a.Role = head },
		"role in the seal": func(a *runstore.Action) { a.Role = head; reseal(a, manager, head) },
		"target":           func(a *runstore.Action) { a.Target.ID = "4740" },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			run := d.run()
			seen := d.queue(run, proposal("4711")).Action
			d.edit(run, 1, edit)
			for _, who := range []string{"Maria Weber", "Jon Berg"} {
				_, err := d.decide(who, seen, true)
				var no *ChangedError
				if !errors.As(err, &no) {
					t.Errorf("%s: got %v, want a ChangedError", who, err)
				}
			}
		})
	}
}

func TestAPR08_ApprovalOfAnotherRun(t *testing.T) {
	d := newDesk(t)
	x, y := d.run(), d.run()
	approved := d.approved(x, "4711")
	d.carry(x)
	d.queue(y, proposal("4740"))
	k := runstore.NewKey("action", y, runstore.Seq(1))
	for name, forge := range map[string]func(*runstore.Action){
		"record as it is":   func(*runstore.Action) {},
		"record renamed":    func(a *runstore.Action) { a.Run = y },
		"approval only":     func(a *runstore.Action) { b := d.action(y, "A1"); b.Approval, b.Status = a.Approval, a.Status; *a = b },
		"approval and seal": func(a *runstore.Action) { a.Run, a.Target.ID = y, "4740" },
	} {
		t.Run(name, func(t *testing.T) {
			d.must(d.store.Step(d.ctx, y, func(tx *runstore.Tx, r *runstore.Run) error {
				a := approved
				forge(&a)
				r.Pending, r.Approved, r.FirstApproved = 0, 1, 1
				return tx.Put(k, a)
			}))
			before := d.recv.creates
			if rep := d.carry(y); rep.Refused != 1 || d.recv.creates != before {
				t.Errorf("report %+v, created %d", rep, d.recv.creates-before)
			}
			if _, err := d.decide("Maria Weber", runstore.Action{Run: y, ID: "A1", Hash: approved.Hash}, true); err == nil {
				t.Error("decided")
			}
		})
	}
}

// TestExpiryAlteredInTheRecord: an index entry that does not fit its action is
// followed once, whatever the record says.
func TestExpiryAlteredInTheRecord(t *testing.T) {
	d := newDesk(t)
	run := d.run()
	d.queue(run, proposal("1"))
	d.edit(run, 1, func(a *runstore.Action) { a.Expires = a.Expires.Add(time.Hour) })
	d.clock.Add(100 * time.Hour)
	before := len(d.audit(run))
	if n, err := d.gate.Expire(d.ctx, run); err != nil || n != 1 {
		t.Errorf("%d expired, %v; want 1", n, err)
	}
	if n, err := d.gate.Expire(d.ctx, run); err != nil || n != 0 || len(d.audit(run)) != before+1 {
		t.Errorf("again: %d, %v, %d audit entries more", n, err, len(d.audit(run))-before)
	}
}
