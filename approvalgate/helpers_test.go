package approvalgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"orderdesk/runstore"
)

const (
	manager = "CREDIT_MANAGER"
	head    = "HEAD_OF_FINANCE"
)

// clock is a machine's clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 10, 6, 9, 0, 0, 500e6, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// receiver is crueller than the real thing: what a call does is scripted.
//
//	ok       creates and answers
//	away     nothing leaves this machine
//	refuse   a definite no
//	lost     creates; the answer is lost
//	timeout  does not create, and says nothing
//	late     says nothing, and creates after the next look-up
//	slow     sleeps past the caller's patience and then creates
//	nameless creates, and answers without a reference
type receiver struct {
	mu      sync.Mutex
	script  map[string][]string // by key; used up from the front, then "ok"
	deaf    map[string]int      // look-ups by key that fail
	made    map[string]string   // reference by key
	late    map[string]bool
	bodies  map[string]string // by key
	targets map[string]string // key by target
	creates int
	lookups int
	before  func(key string) // called before each Create
	faults  []string
}

func newReceiver() *receiver {
	return &receiver{
		script: map[string][]string{}, deaf: map[string]int{}, made: map[string]string{},
		late: map[string]bool{}, bodies: map[string]string{}, targets: map[string]string{},
	}
}

func (r *receiver) Lookup(_ context.Context, key string) (Receipt, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookups++
	if r.deaf[key] > 0 {
		r.deaf[key]--
		return Receipt{}, false, errors.New("receiver: 503 secret-host:8443")
	}
	if ref, ok := r.made[key]; ok {
		return Receipt{ref}, true, nil
	}
	if r.late[key] {
		r.make(key)
	}
	return Receipt{}, false, nil
}

func (r *receiver) make(key string) Receipt {
	ref, ok := r.made[key]
	if !ok {
		ref = fmt.Sprintf("REQ-%04d", len(r.made)+1)
		r.made[key] = ref
	}
	return Receipt{ref}
}

func (r *receiver) Create(ctx context.Context, p *Permit) (Receipt, error) {
	if r.before != nil {
		r.before(p.Key())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.creates++
	r.inspect(p)
	mode := "ok"
	if s := r.script[p.Key()]; len(s) > 0 {
		mode, r.script[p.Key()] = s[0], s[1:]
	}
	lost := errors.New("receiver: connection reset by secret-host:8443")
	switch mode {
	case "away":
		return Receipt{}, fmt.Errorf("dial: %w", ErrNotSent)
	case "refuse":
		return Receipt{}, &RefuseError{"Period is closed."}
	case "lost":
		r.make(p.Key())
		return Receipt{}, lost
	case "timeout":
		return Receipt{}, lost
	case "late":
		r.late[p.Key()] = true
		return Receipt{}, lost
	case "slow":
		<-ctx.Done()
		r.make(p.Key())
		return Receipt{}, ctx.Err()
	case "nameless":
		r.make(p.Key())
		return Receipt{}, nil
	}
	return r.make(p.Key()), nil
}

// inspect notes every broken promise of the gate.
func (r *receiver) inspect(p *Permit) {
	body, err := json.Marshal(p.Envelope())
	if err != nil || !p.Valid() || !p.Approval().Approved {
		r.faults = append(r.faults, "no valid permit for "+p.Key())
	}
	if old, ok := r.bodies[p.Key()]; ok && old != string(body) {
		r.faults = append(r.faults, "another body under "+p.Key())
	}
	r.bodies[p.Key()] = string(body)
	target := p.Envelope().Target.ID
	if old, ok := r.targets[target]; ok && old != p.Key() {
		r.faults = append(r.faults, "target "+target+" sent under "+old+" and "+p.Key())
	}
	r.targets[target] = p.Key()
}

// desk is a store, its gate and the people around it.
type desk struct {
	t     *testing.T
	ctx   context.Context
	clock *clock
	store *runstore.Store
	gate  *Gate
	recv  *receiver
	world map[string]Recheck // by target id; missing: as approved
	fail  map[string]error   // of the recheck, by target id
	opts  Options
}

func cheap() Cost { return Cost{Time: 1, MemoryKiB: 8, Threads: 1} }

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{
		t: t, ctx: t.Context(), clock: newClock(), recv: newReceiver(),
		world: map[string]Recheck{}, fail: map[string]error{},
	}
	d.open(runstore.Options{InMemory: true})
	d.people()
	return d
}

// open opens the store that o names and puts a gate before it.
func (d *desk) open(o runstore.Options) {
	d.t.Helper()
	o.Clock = d.clock.Now
	s, err := runstore.Open(d.ctx, o)
	d.must(err)
	d.t.Cleanup(func() { _ = s.Close() })
	d.store = s
	d.opts.Store, d.opts.Receiver, d.opts.Recheck = s, d.recv, d.recheck
	d.gate = New(d.opts)
}

func (d *desk) recheck(_ context.Context, e Envelope) (Recheck, error) {
	if err := d.fail[e.Target.ID]; err != nil {
		return Recheck{}, err
	}
	if r, ok := d.world[e.Target.ID]; ok {
		return r, nil
	}
	return Recheck{Role: e.Role, Evidence: e.Evidence, Blocked: true}, nil
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// pw is everybody's passphrase.
const pw = "correct horse"

func (d *desk) people() {
	d.t.Helper()
	p := NewPeople(d.store).WithCost(cheap())
	d.must(p.Add(d.ctx, "Maria Weber", []string{manager}, "mweber", pw, "os:root"))
	d.must(p.Add(d.ctx, "Jon Berg", []string{head}, "", pw, "os:root"))
	d.must(p.Add(d.ctx, "Anna Lind", []string{manager, head}, "anna", pw, "os:root"))
}

func (d *desk) login(name string) Person {
	d.t.Helper()
	who, err := NewPeople(d.store).WithCost(cheap()).Authenticate(d.ctx, name, pw)
	d.must(err)
	return who
}

// run starts a run of os:anna.
func (d *desk) run() string { return d.runOf("os:anna") }

func (d *desk) runOf(owner string) string {
	d.t.Helper()
	var id string
	d.must(d.store.Update(d.ctx, func(tx *runstore.Tx) error {
		r, err := tx.NewRun(runstore.Run{Owner: owner, Domain: "release", Scope: "1010"})
		if err == nil {
			id = r.ID
		}
		return err
	}))
	return id
}

func proposal(id string) Proposal {
	return Proposal{
		Tool:      "release_request_create",
		Target:    runstore.Target{Kind: "sales_order", ID: id, Group: "C1"},
		Arguments: json.RawMessage(`{"sales_order":"` + id + `","justification":"Exposure 52,500 <EUR> & more\u2028."}`),
		Role:      manager,
		Evidence:  map[string]string{"exposure": "52500.00", "limit": "50000.00", "read_at": "2026-10-06T08:59:00Z"},
		Amount:    "2500.00 EUR", Rule: "role-rule/1",
	}
}

// queue proposes p in run and puts the item on the plan as waiting.
func (d *desk) queue(run string, p Proposal) Queued {
	d.t.Helper()
	q, err := d.tryQueue(run, p)
	d.must(err)
	return q
}

func (d *desk) tryQueue(run string, p Proposal) (Queued, error) {
	var q Queued
	err := d.store.Step(d.ctx, run, func(tx *runstore.Tx, r *runstore.Run) (err error) {
		if q, err = d.gate.Queue(tx, r, p); err != nil {
			return err
		}
		it, _, err := tx.AddItem(r, p.Target.ID)
		if err != nil {
			return err
		}
		it.Status = runstore.WaitingApproval
		return tx.SetItem(r, it)
	})
	return q, err
}

func (d *desk) decide(name string, a runstore.Action, approve bool) (runstore.Action, error) {
	d.t.Helper()
	return d.gate.Decide(d.ctx, d.login(name), Ref{Run: a.Run, Action: a.ID}, Decision{Approve: approve, Hash: a.Hash})
}

// approved queues and approves an action on id.
func (d *desk) approved(run, id string) runstore.Action {
	d.t.Helper()
	a, err := d.decide("Maria Weber", d.queue(run, proposal(id)).Action, true)
	d.must(err)
	return a
}

func (d *desk) carry(run string) CarryReport {
	d.t.Helper()
	rep, err := d.gate.CarryOut(d.ctx, run, "", nil)
	d.must(err)
	for _, f := range d.recv.faults {
		d.t.Error("receiver: " + f)
	}
	return rep
}

func (d *desk) action(run, id string) runstore.Action {
	d.t.Helper()
	var got runstore.Action
	d.must(d.store.View(d.ctx, func(tx *runstore.Tx) error {
		a, err := tx.Action(Ref{Run: run, Action: id})
		if err == nil {
			got = *a
		}
		return err
	}))
	return got
}

// edit changes the stored record of an action the way somebody would who has
// the data directory.
func (d *desk) edit(run string, n int, fn func(*runstore.Action)) {
	d.t.Helper()
	k := runstore.NewKey("action", run, runstore.Seq(n))
	d.must(d.store.Update(d.ctx, func(tx *runstore.Tx) error {
		var a runstore.Action
		if err := tx.Get(k, &a); err != nil {
			return err
		}
		fn(&a)
		return tx.Put(k, a)
	}))
}

func (d *desk) header(run string) runstore.Run {
	d.t.Helper()
	var got runstore.Run
	d.must(d.store.Look(d.ctx, run, func(_ *runstore.Tx, r *runstore.Run) error { got = *r; return nil }))
	return got
}

// audit lists what the audit log says about a run, as "what by".
func (d *desk) audit(run string) []string {
	d.t.Helper()
	var got []string
	d.must(d.store.View(d.ctx, func(tx *runstore.Tx) error {
		got = nil
		return tx.AuditEntries(0, func(e runstore.AuditEntry) bool {
			if e.Run == run {
				got = append(got, e.What+" "+e.By)
			}
			return true
		})
	}))
	return got
}

func (d *desk) traced(run, kind string) (n int) {
	d.t.Helper()
	d.must(d.store.View(d.ctx, func(tx *runstore.Tx) error {
		n = 0
		return tx.TraceEntries(run, 0, func(e runstore.TraceEntry) bool {
			if e.Kind == kind {
				n++
			}
			return true
		})
	}))
	return n
}
