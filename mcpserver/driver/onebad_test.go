package driver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/mcpserver/driver/drivertest"
	"orderdesk/runstore"
	"orderdesk/tools/creditrelease"
)

// TestOneBadOrderDoesNotStopTheList: whatever is wrong with one order, the run
// ends with that order in need of attention and the others worked.
func TestOneBadOrderDoesNotStopTheList(t *testing.T) {
	blocked := creditrelease.Order{SalesOrder: "1", Customer: "10023", Currency: "EUR", Blocked: true, SalesOrganization: "1010", BlockReason: "Blocked by the credit check."}
	huge := amount(t, "999999999999999999")
	tests := []struct {
		name   string
		change func(*creditrelease.Order)
		note   string // part of it
	}{
		{"another currency", func(o *creditrelease.Order) { o.Currency = "USD" }, "USD"},
		{"no currency", func(o *creditrelease.Order) { o.Currency = "" }, "no currency"},
		{"an amount beyond all sums", func(o *creditrelease.Order) { o.NetValue = huge }, "18 digits"},
		{"a customer that does not exist", func(o *creditrelease.Order) { o.Customer = "99999" }, "99999"},
		{"no reason", func(o *creditrelease.Order) { o.BlockReason = "" }, `""`},
		{"a reason full of controls", func(o *creditrelease.Order) { o.BlockReason = strings.Repeat("\x1b\u202e\U000E0041", 800) }, `\u001b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, deskOptions{})
			o := blocked
			o.NetValue = amount(t, "100")
			tt.change(&o)
			if err := d.world.AddOrder(o); err != nil {
				t.Fatal(err)
			}
			run := d.start(runstore.Budget{}, sample, 0)
			if run.Status != runstore.Waiting || run.Plan.Count(runstore.Todo) != 0 || run.Pending != 2 {
				t.Errorf("run: %s (%+v) with %d pending; want waiting with the other two", run.Status, run.Stop, run.Pending)
			}
			if s, note := d.statuses(run)["1"], d.note(run, "1"); s != runstore.NeedsAttention || !strings.Contains(note, tt.note) {
				t.Errorf("order 1: %s, %q; want needs_attention with %q", s, note, tt.note)
			}
		})
	}
}

func amount(t testing.TB, text string) creditrelease.Amount {
	t.Helper()
	a, err := creditrelease.ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestSumsBeyondAllDigits: two orders that can be judged alone and not
// together.
func TestSumsBeyondAllDigits(t *testing.T) {
	d := newDesk(t, deskOptions{})
	for i := range 2 {
		err := d.world.AddOrder(creditrelease.Order{SalesOrder: fmt.Sprint(i + 1), Customer: "10023", Currency: "EUR", Blocked: true,
			SalesOrganization: "1010", BlockReason: "Blocked by the credit check.", NetValue: amount(t, "600000000000000000")})
		if err != nil {
			t.Fatal(err)
		}
	}
	run := d.start(runstore.Budget{}, sample, 0)
	got := d.statuses(run)
	if run.Status != runstore.Waiting || got["1"] != runstore.WaitingApproval || got["2"] != runstore.NeedsAttention || d.roleOf(run, "1") != "HEAD_OF_FINANCE" {
		t.Errorf("run %s (%+v), 1 %s, 2 %s (%s)", run.Status, run.Stop, got["1"], got["2"], d.note(run, "2"))
	}
}

// TestManyOrdersOfOneCustomer has more requests for one customer than people
// can weigh at once: the rest waits for attention and goes on when some are
// decided.
func TestManyOrdersOfOneCustomer(t *testing.T) {
	const n = approvalgate.MaxGroup + 5
	d := newDesk(t, deskOptions{})
	for i := range n {
		err := d.world.AddOrder(creditrelease.Order{SalesOrder: fmt.Sprint(i + 1), Customer: "10023", Currency: "EUR", Blocked: true,
			SalesOrganization: "1010", BlockReason: "Blocked by the credit check.", NetValue: amount(t, "1")})
		if err != nil {
			t.Fatal(err)
		}
	}
	run := d.start(runstore.Budget{}, sample, 0)
	if run.Status != runstore.Waiting || run.Plan.Count(runstore.NeedsAttention) != 6 { // one of the sample's is this customer's too
		t.Fatalf("run %s (%+v), %d need attention; want waiting and 6", run.Status, run.Stop, run.Plan.Count(runstore.NeedsAttention))
	}
	if note := d.note(run, fmt.Sprint(n)); !strings.Contains(note, "open requests already") {
		t.Errorf("the last one's note: %q", note)
	}
	d.decideAll(run)
	run, _ = d.resume(run.ID, driver.Changes{})
	if run.Status != runstore.Done {
		t.Fatalf("after all decisions: %s (%+v), want done", run.Status, run.Stop)
	}
	more := 5000
	run, _ = d.resume(run.ID, driver.Changes{ModelCalls: &more, ToolCalls: &more})
	if got := d.statuses(run)[fmt.Sprint(n)]; got != runstore.NeedsAttention && got != runstore.WaitingApproval {
		t.Errorf("the last one: %s, want it looked at again", got)
	}
	d.consistent(run.ID)
}

// TestDecidedWhileDriving: a person decides between the request and the plan
// line that says so. The run goes on with what was decided.
func TestDecidedWhileDriving(t *testing.T) {
	for _, approve := range []bool{false, true} {
		d := newDesk(t, deskOptions{})
		maria := d.person("Maria Weber", "CREDIT_MANAGER")
		rules, decided := driver.Rules(d.set.Domain()), false
		m := modelFunc(func(ctx context.Context, c driver.Conversation) (driver.Reply, error) {
			r, err := rules.Next(ctx, c)
			if len(r.Calls) > 0 && strings.Contains(string(r.Calls[0].Args), "Request A1 waits") && !decided {
				decided = true
				if err := d.decide(maria, d.latest(), "A1", approve, "seen"); err != nil {
					t.Error(err)
				}
			}
			return r, err
		})
		run, err := d.driver(m, driver.Options{}).Start(context.Background(), d.begin(runstore.Budget{}))
		if err != nil {
			t.Fatal(err)
		}
		want := runstore.WaitingApproval // approved, and carried out with the next resume
		if !approve {
			want = runstore.ItemDone
		}
		if got := d.statuses(run)["4711"]; run.Status != runstore.Waiting || got != want || run.ActionSeq != 2 {
			t.Errorf("approve %v: run %s (%+v), 4711 %s (%s), %d actions; want waiting, %s, 2", approve, run.Status, run.Stop, got, d.note(run, "4711"), run.ActionSeq, want)
		}
		if err := d.decide(d.person("Jon Berg", "HEAD_OF_FINANCE"), run.ID, "A2", false, "no"); err != nil {
			t.Fatal(err)
		}
		if run, _ = d.resume(run.ID, driver.Changes{}); run.Status != runstore.Done || len(d.register.All()) != map[bool]int{true: 1}[approve] {
			t.Errorf("approve %v: resumed %s (%+v) with %d requests", approve, run.Status, run.Stop, len(d.register.All()))
		}
	}
}

// TestDecidedBeforeThePlanSaysSo: the worker dies between the request and the
// plan line, and a person rejects it. It is not asked for again.
func TestDecidedBeforeThePlanSaysSo(t *testing.T) {
	d := newDesk(t, deskOptions{})
	run := d.start(runstore.Budget{}, sample, 5)
	d.died(run.ID)
	if err := d.decide(d.person("Maria Weber", "CREDIT_MANAGER"), run.ID, "A1", false, "wait"); err != nil {
		t.Fatal(err)
	}
	run, _ = d.resume(run.ID, driver.Changes{})
	if d.statuses(run)["4711"] != runstore.ItemDone || d.note(run, "4711") != "Release rejected (wait). Order stays blocked." || run.ActionSeq != 2 {
		t.Errorf("4711: %s (%s), %d actions; want done as rejected, and A2 for the other order only", d.statuses(run)["4711"], d.note(run, "4711"), run.ActionSeq)
	}
}

type modelFunc func(context.Context, driver.Conversation) (driver.Reply, error)

func (f modelFunc) Next(ctx context.Context, c driver.Conversation) (driver.Reply, error) {
	return f(ctx, c)
}

// latest is the run that was started last.
func (d *desk) latest() string {
	d.t.Helper()
	var id string
	err := d.store.View(context.Background(), func(tx *runstore.Tx) error {
		run, err := tx.LatestRun()
		if err == nil {
			id = run.ID
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// TestOddTextsAreSealed: whatever a name or a reason looks like, an order that
// the credit check blocks reaches the person who decides.
func TestOddTextsAreSealed(t *testing.T) {
	for _, odd := range []string{"M\u00fcller\u00a0AG", "\u682a\u5f0f\u4f1a\u793e\u3000\u6771\u4eac", "a\u2800b", "a\nb\tc\r", strings.Repeat("long ", 99), "\x1b[2K\u202eoga",
		"\u3164\u115f\uffa0", "\U000E0041\ufe0f", "\u200d\u00ad", "\ue000", strings.Repeat(`\"`, 200), "\u0600x", ""} {
		d := oneOrder(t, func(w *genWorld) {
			w.customer("10023").Name = odd
			w.order("4711").BlockReason += " " + odd
		})
		run := d.start(runstore.Budget{}, sample, 0)
		if got := d.roleOf(run, "4711"); got != "CREDIT_MANAGER" || run.Status != runstore.Waiting {
			t.Errorf("%.20q: %s %+v; 4711 %s (%s)", odd, run.Status, run.Stop, d.statuses(run)["4711"], d.note(run, "4711"))
		}
	}
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	d.must(id, list, allTodo, summary, exposure)
	d.must(id, drivertest.Call(request.Name, `{"sales_order":"4711","justification":"Exposure 52\u00a0500 EUR is over\u3000the limit."}`))
}
