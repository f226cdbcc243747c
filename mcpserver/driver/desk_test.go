package driver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/creditrelease"
	"orderdesk/tools/creditrelease/sampledata"
	"orderdesk/tools/upstream"
)

// desk is everything a run needs, on real parts: a store, the sample world,
// its register, the gate. Only time is ours.
type desk struct {
	t        testing.TB
	store    *runstore.Store
	world    *sampledata.World
	backend  *sampledata.Backend
	register *sampledata.Register
	people   *approvalgate.People
	gate     *approvalgate.Gate
	set      *tools.Set
	clock    *fakeClock
	persons  map[string]approvalgate.Person
}

// fakeClock is active time: it moves by the waits of retries, two hundred times
// as fast as they really are.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type deskOptions struct {
	store    *runstore.Store
	source   string // of sampledata.Load
	register string // directory; "": a new one
	mode     sampledata.Mode
	maxAge   time.Duration
}

func newDesk(t testing.TB, o deskOptions) *desk {
	t.Helper()
	d := &desk{t: t, store: o.store, clock: &fakeClock{now: time.Unix(1, 0)}, persons: map[string]approvalgate.Person{}}
	var err error
	if d.store == nil {
		if d.store, err = runstore.Open(context.Background(), runstore.Options{InMemory: true}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.store.Close() })
	}
	if d.world, err = sampledata.Load(o.source); err != nil {
		t.Fatal(err)
	}
	if o.register == "" {
		o.register = t.TempDir()
	}
	if d.register, err = sampledata.OpenRegister(o.register); err != nil {
		t.Fatal(err)
	}
	d.mode(o.mode, o.maxAge)
	return d
}

// mode opens the world's services anew in a mode, as a new process would.
func (d *desk) mode(m sampledata.Mode, maxAge time.Duration) {
	d.t.Helper()
	d.backend = sampledata.NewBackend(d.world, m)
	service := upstream.NewClient(upstream.Options{Service: "credit service", Policy: upstream.Policy{
		Base: time.Millisecond, Jitter: func() float64 { return 0 },
		OnWait: func(_ int, w time.Duration, _ error) { d.clock.Advance(200 * w) },
	}})
	domain, err := creditrelease.Domain(creditrelease.Options{Backend: d.backend, Service: service})
	if err != nil {
		d.t.Fatal(err)
	}
	d.people = approvalgate.NewPeople(d.store).WithCost(approvalgate.Cost{Time: 1, MemoryKiB: 64, Threads: 1})
	d.gate = approvalgate.New(approvalgate.Options{Store: d.store, Receiver: receiver{d.register}, Recheck: domain.Recheck, People: d.people})
	d.set = tools.NewSet(tools.Options{Store: d.store, Gate: d.gate, Domain: domain, MaxAge: maxAge, Clock: d.clock.Now})
}

// receiver is the register as the gate calls it.
type receiver struct{ r *sampledata.Register }

func (r receiver) Lookup(ctx context.Context, key string) (approvalgate.Receipt, bool, error) {
	got, ok, err := r.r.Lookup(ctx, key)
	return approvalgate.Receipt{Reference: got.Reference}, ok, err
}

func (r receiver) Create(ctx context.Context, p *approvalgate.Permit) (approvalgate.Receipt, error) {
	req, err := creditrelease.RequestOf(p)
	if err != nil {
		return approvalgate.Receipt{}, err
	}
	got, err := r.r.Create(ctx, p.Key(), sampledata.Request(req))
	return approvalgate.Receipt{Reference: got.Reference}, err
}

var me = tools.Principal{Name: "os:clerk"}

func (d *desk) driver(m driver.Model, o driver.Options) *driver.Driver {
	if m == nil {
		m = driver.Rules(d.set.Domain())
	}
	o.Store, o.Set, o.Gate, o.Model, o.Who, o.Worker, o.Clock = d.store, d.set, d.gate, m, me, "test", d.clock.Now
	return driver.New(o)
}

var errCrash = errors.New("crashed")

// start begins a run and drives it, as `run` does. crash > 0 ends it as a dead
// process would after that model call.
func (d *desk) start(b runstore.Budget, src runstore.Source, crash int) *runstore.Run {
	d.t.Helper()
	run, err := d.set.Start(context.Background(), me, "1010", src, b)
	if err != nil {
		d.t.Fatal(err)
	}
	id := run.ID
	dr := d.driver(nil, driver.Options{CrashAfter: crash, Crash: func() { panic(errCrash) }})
	func() {
		defer func() {
			if r := recover(); r != nil && r != errCrash {
				panic(r)
			}
		}()
		_, err = dr.Start(context.Background(), id)
	}()
	if err != nil {
		d.t.Fatal(err)
	}
	return d.run(id)
}

func (d *desk) resume(id string, c driver.Changes) (*runstore.Run, driver.Outcome) {
	d.t.Helper()
	run, out, _, err := d.driver(nil, driver.Options{}).Resume(context.Background(), id, c)
	if err != nil {
		d.t.Fatal(err)
	}
	return run, out
}

func (d *desk) run(id string) *runstore.Run {
	d.t.Helper()
	var run *runstore.Run
	err := d.store.Look(context.Background(), id, func(_ *runstore.Tx, r *runstore.Run) error { run = r; return nil })
	if err != nil {
		d.t.Fatal(err)
	}
	return run
}

// died gives back the lease of a run whose worker is gone: in these tests the
// worker is this very process.
func (d *desk) died(id string) {
	d.t.Helper()
	err := d.store.Step(context.Background(), id, func(_ *runstore.Tx, r *runstore.Run) error { r.Release(d.store.Instance()); return nil })
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) person(name string, roles ...string) approvalgate.Person {
	d.t.Helper()
	if p, ok := d.persons[name]; ok {
		return p
	}
	ctx := context.Background()
	if err := d.people.Add(ctx, name, roles, "", "a long passphrase", "test"); err != nil {
		d.t.Fatal(err)
	}
	p, err := d.people.Authenticate(ctx, name, "a long passphrase")
	if err != nil {
		d.t.Fatal(err)
	}
	d.persons[name] = p
	return p
}

func (d *desk) decide(who approvalgate.Person, run, action string, approve bool, comment string) error {
	d.t.Helper()
	a := d.action(run, action)
	_, err := d.gate.Decide(context.Background(), who, approvalgate.Ref{Run: run, Action: action},
		approvalgate.Decision{Approve: approve, Comment: comment, Hash: a.Hash})
	return err
}

func (d *desk) action(run, action string) *runstore.Action {
	d.t.Helper()
	var a *runstore.Action
	err := d.store.View(context.Background(), func(tx *runstore.Tx) (err error) {
		a, err = tx.Action(runstore.ActionRef{Run: run, Action: action})
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (d *desk) plan(run *runstore.Run) []runstore.Item {
	d.t.Helper()
	var items []runstore.Item
	err := d.store.View(context.Background(), func(tx *runstore.Tx) error {
		return tx.Items(run, 0, func(it runstore.Item) bool { items = append(items, it); return true })
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return items
}

func (d *desk) trace(run string) []runstore.TraceEntry {
	d.t.Helper()
	var es []runstore.TraceEntry
	err := d.store.View(context.Background(), func(tx *runstore.Tx) error {
		return tx.TraceEntries(run, 0, func(e runstore.TraceEntry) bool { es = append(es, e); return true })
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return es
}
