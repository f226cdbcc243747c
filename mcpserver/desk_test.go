package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/runstore/runstoretest"
	"orderdesk/tools"
	"orderdesk/tools/creditrelease"
	"orderdesk/tools/creditrelease/sampledata"
	"orderdesk/tools/upstream"
)

// desk is a door on real parts: a store, the sample world, its register, the
// gate.
type desk struct {
	t        testing.TB
	store    *runstore.Store
	clock    *runstoretest.Clock
	register *sampledata.Register
	people   *approvalgate.People
	parts    Parts
	hosts    *Hosts
}

var (
	anna   = tools.Principal{Name: "os:anna"}
	ben    = tools.Principal{Name: "os:ben"}
	sample = runstore.Source{Data: "sample", Model: "sample", Simulate: "none"}
)

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, clock: runstoretest.NewClock(time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC))}
	d.store = runstoretest.Memory(t, d.clock.Use())
	d.open()
	return d
}

// open opens what lies on the store.
func (d *desk) open() {
	t := d.t
	t.Helper()
	var err error
	if d.register, err = sampledata.OpenRegister(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.register.Close() })
	d.people = approvalgate.NewPeople(d.store).WithCost(approvalgate.Cost{Time: 1, MemoryKiB: 64, Threads: 1})
	d.parts = d.wire()
	d.hosts = d.door(Options{})
}

func (d *desk) wire() Parts {
	d.t.Helper()
	world, err := sampledata.Load("sample")
	if err != nil {
		d.t.Fatal(err)
	}
	domain, err := creditrelease.Domain(creditrelease.Options{Backend: sampledata.NewBackend(world, sampledata.Steady),
		Service: upstream.NewClient(upstream.Options{Service: "credit service"})})
	if err != nil {
		d.t.Fatal(err)
	}
	gate := approvalgate.New(approvalgate.Options{Store: d.store, Receiver: receiver{d.register}, Recheck: domain.Recheck, People: d.people})
	return Parts{Gate: gate, Set: tools.NewSet(tools.Options{Store: d.store, Gate: gate, Domain: domain})}
}

// door makes another door on the same parts.
func (d *desk) door(o Options) *Hosts {
	d.t.Helper()
	o.Domain = d.parts.Set.Domain()
	o.Source, o.Scope, o.Worker, o.Version = sample, "1010", "test host", "test"
	if o.Parts == nil {
		o.Parts = func(runstore.Source) (Parts, error) { return d.parts, nil }
	}
	h, err := New(o)
	if err != nil {
		d.t.Fatal(err)
	}
	h.Opened(d.store)
	return h
}

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

// said is an answer as a model reads it.
type said struct {
	Error      string
	Run        string `json:"run_id"`
	Status     runstore.Status
	Counts     map[runstore.ItemStatus]int
	Next       string
	Briefing   string
	CarriedOut []string `json:"carried_out"`
	Shown      string
	Runs       []struct {
		Run string `json:"run_id"`
	}
}

func (d *desk) call(who tools.Principal, name, args string) said {
	d.t.Helper()
	a := d.hosts.Call(d.t.Context(), who, name, []byte(args))
	var s said
	if err := json.Unmarshal(a.JSON, &s); err != nil || (s.Error != "") != a.Refused {
		d.t.Fatalf("%s %s: %s, refused %v, %v", name, args, a.JSON, a.Refused, err)
	}
	return s
}

// ok wants a call that is not refused.
func (d *desk) ok(who tools.Principal, name, args string) said {
	d.t.Helper()
	s := d.call(who, name, args)
	if s.Error != "" {
		d.t.Fatalf("%s %s: %s", name, args, s.Error)
	}
	return s
}

// refused wants a refusal with these words.
func (d *desk) refused(who tools.Principal, name, args string, words ...string) said {
	d.t.Helper()
	s := d.call(who, name, args)
	for _, w := range words {
		if s.Error == "" || !strings.Contains(s.Error, w) {
			d.t.Errorf("%s %s: %q, want %q", name, args, s.Error, w)
		}
	}
	return s
}

// caller makes one call and returns its answer.
type caller func(name, args string) (answer json.RawMessage, refused bool)

// work plays a host whose model goes by the rules: it reads the briefing, makes
// the calls and finishes the run.
func (d *desk) work(call caller, run string) {
	d.t.Helper()
	for range 20 { // contexts
		var s said
		raw, refused := call("run_status", `{"run_id":"`+run+`"}`)
		if err := json.Unmarshal(raw, &s); err != nil || refused {
			d.t.Fatalf("run_status: %s, %v", raw, err)
		}
		if answer := d.segment(call, run, s.Briefing); answer != "" {
			text, _ := json.Marshal(map[string]string{"run_id": run, "answer": answer})
			if raw, refused := call("run_finish", string(text)); refused {
				d.t.Fatalf("run_finish: %s", raw)
			}
			return
		}
	}
	d.t.Fatal("the work does not end")
}

// segment makes at most 12 calls from one briefing.
func (d *desk) segment(call caller, run, briefing string) (answer string) {
	var history []tools.Exchange
	for range 12 {
		next := d.parts.Set.Domain().Decide(briefing, history)
		if len(next.Calls) == 0 {
			return next.Answer
		}
		for _, c := range next.Calls {
			args, err := tools.WithMember(c.Args, tools.RunField, run)
			if err != nil {
				d.t.Fatal(err)
			}
			raw, refused := call(c.Name, string(args))
			history = append(history, tools.Exchange{Call: c, Result: raw, Refused: refused})
		}
	}
	return ""
}

// drive lets the built-in driver work a run of who's.
func (d *desk) drive(who tools.Principal) *runstore.Run {
	d.t.Helper()
	run, err := d.parts.Set.Start(d.t.Context(), who, "1010", sample, runstore.Budget{})
	if err == nil {
		_, err = driver.New(driver.Options{Store: d.store, Set: d.parts.Set, Gate: d.parts.Gate, Model: driver.Rules(d.parts.Set.Domain()),
			Who: who, Worker: "driver"}).Start(d.t.Context(), run.ID)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return run
}

// outcome is what a run has come to, without what differs from run to run.
type outcome struct {
	Status    runstore.Status
	Plan      []runstore.Item
	Actions   []string
	Envelopes []string // the sealed bytes, with RUN for the run's id
	Notes     []string
	ToolCalls int
	Retries   int
}

func (d *desk) outcome(run string) (o outcome) {
	d.t.Helper()
	err := d.store.Look(d.t.Context(), run, func(tx *runstore.Tx, r *runstore.Run) error {
		o = outcome{Status: r.Status, ToolCalls: r.Used.ToolCalls, Retries: r.Used.Retries} // it may run again
		if err := tx.Items(r, 0, func(it runstore.Item) bool { o.Plan = append(o.Plan, it); return true }); err != nil {
			return err
		}
		if err := tx.Actions(run, 1, func(a *runstore.Action) bool {
			o.Actions = append(o.Actions, strings.Join([]string{a.ID, a.Target.ID, a.Role, string(a.Status)}, " "))
			o.Envelopes = append(o.Envelopes, strings.ReplaceAll(string(a.Envelope), run, "RUN"))
			return true
		}); err != nil {
			return err
		}
		return tx.Notes(func(n runstore.Note) bool { o.Notes = append(o.Notes, n.Subject.ID+" "+n.Text); return true })
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *desk) approver(name string, roles ...string) approvalgate.Person {
	d.t.Helper()
	if err := d.people.Add(d.t.Context(), name, roles, "", "a long passphrase", "test"); err != nil {
		d.t.Fatal(err)
	}
	p, err := d.people.Authenticate(d.t.Context(), name, "a long passphrase")
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) decide(p approvalgate.Person, run, action string, yes bool) {
	d.t.Helper()
	ref := approvalgate.Ref{Run: run, Action: action}
	var hash string
	err := d.store.View(d.t.Context(), func(tx *runstore.Tx) error {
		a, err := tx.Action(ref)
		if err == nil {
			hash = a.Hash
		}
		return err
	})
	if err == nil {
		_, err = d.parts.Gate.Decide(d.t.Context(), p, ref, approvalgate.Decision{Approve: yes, Hash: hash})
	}
	if err != nil {
		d.t.Fatal(err)
	}
}
