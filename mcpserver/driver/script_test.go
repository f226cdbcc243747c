package driver_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orderdesk/mcpserver/driver"
	"orderdesk/mcpserver/driver/drivertest"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/upstream"
)

// played is a run that a scripted model has worked.
type played struct {
	*desk
	run    *runstore.Run
	model  *drivertest.Model
	events []driver.Event
}

// play starts a run and lets a scripted model work it.
func (d *desk) play(b runstore.Budget, turns ...drivertest.Turn) *played {
	d.t.Helper()
	return d.playRun(d.begin(b), turns...)
}

// playRun lets a scripted model work a run that was begun.
func (d *desk) playRun(id string, turns ...drivertest.Turn) *played {
	d.t.Helper()
	p := &played{desk: d, model: drivertest.New(turns...)}
	var err error
	if p.run, err = d.driver(p.model, p.options()).Start(context.Background(), id); err != nil {
		d.t.Fatal(err)
	}
	return p
}

// resumed lets a scripted model take the run up again.
func (d *desk) resumed(id string, c driver.Changes, turns ...drivertest.Turn) (*played, driver.Outcome) {
	d.t.Helper()
	p := &played{desk: d, model: drivertest.New(turns...)}
	var out driver.Outcome
	var err error
	if p.run, out, _, err = d.driver(p.model, p.options()).Resume(context.Background(), id, c); err != nil {
		d.t.Fatal(err)
	}
	return p, out
}

// options are a driver's, with a service for the model that does not wait.
func (p *played) options() driver.Options {
	return driver.Options{
		Observe: func(e driver.Event, _ *runstore.Run) { p.events = append(p.events, e) },
		Service: p.quick("model"),
	}
}

// quick is a service whose waits are short and advance the active time.
func (d *desk) quick(name string) *upstream.Client {
	return upstream.NewClient(upstream.Options{Service: name, Policy: upstream.Policy{
		Base: time.Millisecond, Jitter: func() float64 { return 0 },
		OnWait: func(_ int, w time.Duration, _ error) { d.clock.Advance(200 * w) },
	}})
}

// begin starts a run and leaves it at that.
func (d *desk) begin(b runstore.Budget) string {
	d.t.Helper()
	run, err := d.set.Start(context.Background(), me, "1010", sample, b)
	if err != nil {
		d.t.Fatal(err)
	}
	return run.ID
}

// call makes one call as a host would.
func (d *desk) call(run, tool, args string) tools.Result {
	d.t.Helper()
	res, err := d.set.Call(context.Background(), tools.Request{Who: me, Run: run, Name: tool, Args: []byte(args)})
	if err != nil {
		d.t.Fatal(err)
	}
	return res
}

// must makes calls that are not to be refused.
func (d *desk) must(run string, calls ...tools.Call) {
	d.t.Helper()
	for _, c := range calls {
		if res := d.call(run, c.Name, string(c.Args)); res.Refused {
			d.t.Fatalf("%s %s: %s", c.Name, c.Args, res.JSON)
		}
	}
}

// refused makes a call that must be refused with a text that holds every part.
// It resets the guards, which would end a run after a few of these.
func (d *desk) refused(run, tool, args string, parts ...string) {
	d.t.Helper()
	d.calm(run)
	res := d.call(run, tool, args)
	if !res.Refused {
		d.t.Errorf("%s %s: %s, want a refusal", tool, args, res.JSON)
	}
	for _, part := range parts {
		if !strings.Contains(errorOf(res.JSON), part) {
			d.t.Errorf("%s %s: %s, want %q in it", tool, args, res.JSON, part)
		}
	}
}

// calm resets the guards, which would end a run of refused calls.
func (d *desk) calm(id string) {
	d.t.Helper()
	d.change(id, func(_ *runstore.Tx, r *runstore.Run) error { r.Guard = runstore.Guard{}; return nil })
}

func errorOf(result json.RawMessage) string {
	var e struct{ Error string }
	_ = json.Unmarshal(result, &e)
	return e.Error
}

// answered are the events of answered calls.
func (p *played) answered() []driver.Event {
	var es []driver.Event
	for _, e := range p.events {
		if e.Kind == driver.CallAnswered {
			es = append(es, e)
		}
	}
	return es
}

// The calls that most scripts begin with.
var (
	list     = drivertest.Call("sales_order_list_blocked", `{"sales_organization":"1010"}`)
	allTodo  = drivertest.Call("plan_update", `{"items":[{"sales_order":"4711","status":"todo","note":""}]}`)
	summary  = drivertest.Call("sales_order_get_block_summary", `{"sales_order":"4711"}`)
	exposure = drivertest.Call("customer_get_credit_exposure", `{"customer":"10023","sales_order":"4711"}`)
	request  = drivertest.Call("credit_release_request_create", `{"sales_order":"4711","justification":"Exposure 52,500 EUR is 5.0% over the limit."}`)
)

func turn(c tools.Call) drivertest.Turn { return drivertest.AskAll(c) }

func planned(order, status, note string) tools.Call {
	raw, _ := json.Marshal(map[string]any{"items": []map[string]string{{"sales_order": order, "status": status, "note": note}}})
	return drivertest.Call("plan_update", string(raw))
}

// briefing is what the run's next segment would begin with.
func (d *desk) briefing(id string) string {
	d.t.Helper()
	var text string
	err := d.store.Look(context.Background(), id, func(tx *runstore.Tx, run *runstore.Run) (err error) {
		text, err = d.set.Briefing(tx, run)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return text
}

// change changes the run's header as saved.
func (d *desk) change(id string, fn func(*runstore.Tx, *runstore.Run) error) {
	d.t.Helper()
	if err := d.store.Step(context.Background(), id, fn); err != nil {
		d.t.Fatal(err)
	}
}

// consistent holds a run's counters and indexes against its records.
func (d *desk) consistent(id string) {
	d.t.Helper()
	err := d.store.Look(context.Background(), id, func(tx *runstore.Tx, run *runstore.Run) error {
		wrong, err := tx.Consistent(run)
		for _, w := range wrong {
			d.t.Errorf("run %s: %s", id, w)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) statuses(run *runstore.Run) map[string]runstore.ItemStatus {
	d.t.Helper()
	m := map[string]runstore.ItemStatus{}
	for _, it := range d.plan(run) {
		m[it.ID] = it.Status
	}
	return m
}

func (d *desk) note(run *runstore.Run, order string) string {
	d.t.Helper()
	for _, it := range d.plan(run) {
		if it.ID == order {
			return it.Note
		}
	}
	return ""
}

// toolCalls are the names of the traced tool calls.
func (d *desk) toolCalls(run string) []string {
	d.t.Helper()
	var names []string
	for _, e := range d.trace(run) {
		if e.Kind != runstore.TraceToolCall {
			continue
		}
		var c struct{ Tool string }
		if err := json.Unmarshal(e.Data, &c); err != nil {
			d.t.Fatal(err)
		}
		names = append(names, c.Tool)
	}
	return names
}

// altered is the sample world after fn, in a file.
func altered(t testing.TB, fn func(*genWorld)) string {
	t.Helper()
	raw, err := os.ReadFile("../../tools/creditrelease/sampledata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	var w genWorld
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	fn(&w)
	if raw, err = json.Marshal(w); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "world.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *genWorld) customer(id string) *genCustomer {
	for i := range w.Customers {
		if w.Customers[i].Customer == id {
			return &w.Customers[i]
		}
	}
	return nil
}

func (w *genWorld) order(id string) *genOrder {
	for i := range w.Orders {
		if w.Orders[i].SalesOrder == id {
			return &w.Orders[i]
		}
	}
	return nil
}

// dated is a store in memory whose clock the test sets.
func dated(t testing.TB) (*runstore.Store, *fakeClock) {
	t.Helper()
	clock := &fakeClock{now: time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC)}
	store, err := runstore.Open(context.Background(), runstore.Options{InMemory: true, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store, clock
}

// transient is a failure that may not happen next time.
func transient(text string) error {
	return &upstream.Error{Class: upstream.Transient, Service: "model", Text: text}
}

func (d *desk) deleteNote(id string) {
	d.t.Helper()
	err := d.store.Update(context.Background(), func(tx *runstore.Tx) error {
		_, err := tools.ChangeNote(tx, id, tools.NoteChange{State: runstore.NoteDeleted, By: "os:ann"})
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}
