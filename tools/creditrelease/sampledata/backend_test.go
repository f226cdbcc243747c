package sampledata

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"orderdesk/tools/creditrelease"
	"orderdesk/tools/upstream"
)

func newSample(t testing.TB, m Mode) (*World, *Backend) {
	t.Helper()
	w := mustLoad(t, "")
	return w, NewBackend(w, m)
}

func amountOf(t testing.TB, s string) creditrelease.Amount {
	t.Helper()
	a, err := creditrelease.ParseAmount(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestBackendReads(t *testing.T) {
	_, b := newSample(t, Steady)
	ctx := t.Context()
	list, err := b.ListBlocked(ctx, "1010")
	if got, want := fmt.Sprint(list, err), "[{4711 10023 1800.00 EUR} {4723 10051 640.00 EUR} {4725 10077 3900.00 EUR} {4740 10088 1700.00 EUR}] <nil>"; got != want {
		t.Errorf("list\n%s, want\n%s", got, want)
	}
	o, err := b.Order(ctx, "4711")
	if got, want := fmt.Sprint(o, err), "{4711 10023 Nordhafen Tools GmbH 1800.00 EUR true Blocked by the credit check. 1010} <nil>"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	o, err = b.Order(ctx, "4730")
	if err != nil || o.Blocked || o.BlockReason != "" {
		t.Errorf("unblocked order %+v, %v", o, err)
	}
	a, err := b.CreditAccount(ctx, "10023")
	if got, want := fmt.Sprint(a, err), "{10023 50000.00 50700.00 EUR} <nil>"; got != want {
		t.Errorf("account %s, want %s", got, want)
	}
	c, err := b.Customer(ctx, "10051")
	if got, want := fmt.Sprintf("%q %v", c, err), `{"10051" "Donau Retail AG" "Ringstrasse 12" "" "Vienna" "AT"} <nil>`; got != want {
		t.Errorf("customer %s, want %s", got, want)
	}
	if got, want := b.Counts(), (Counts{Lists: 1, Orders: 2, Credits: 1, Customers: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestSTA20_EmptyWorklist(t *testing.T) {
	_, b := newSample(t, Steady)
	if list, err := b.ListBlocked(t.Context(), "9999"); err != nil || len(list) != 0 {
		t.Errorf("list of an unknown organization: %v, %v, want none and no error", list, err)
	}
}

func TestBackendNotFound(t *testing.T) {
	_, b := newSample(t, Steady)
	_, errOrder := b.Order(t.Context(), "4799")
	_, errAccount := b.CreditAccount(t.Context(), "1")
	_, errCustomer := b.Customer(t.Context(), "1")
	for _, err := range []error{errOrder, errAccount, errCustomer} {
		var ue *upstream.Error
		if !errors.As(err, &ue) || ue.Class != upstream.Business || !errors.Is(err, creditrelease.ErrNotFound) || ue.Text == "" {
			t.Errorf("error %#v, want business, not found", err)
		}
	}
}

// A missing customer is lab defect poison_order: it may stop its order only.
func TestPoisonOrder(t *testing.T) {
	w, err := loadJSON(t, asJSON(strings.Replace(oneOrder, "10023", "99999", 1)+","+strings.Replace(oneOrder, "4711", "4712", 1),
		strings.Replace(oneCustomer, `"credit_limit":1`, `"credit_limit":0`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBackend(w, Steady)
	if list, err := b.ListBlocked(t.Context(), "1010"); err != nil || len(list) != 2 {
		t.Errorf("list %v, %v, want both orders", list, err)
	}
	_, err = b.Order(t.Context(), "4711")
	if !errors.Is(err, creditrelease.ErrBadRecord) || upstream.ClassOf(err) != upstream.Business || !strings.Contains(err.Error(), "99999") {
		t.Errorf("order without customer: %v, want a business error that names the customer", err)
	}
	if _, err := b.Order(t.Context(), "4712"); err != nil {
		t.Errorf("the next order: %v", err)
	}
	if a, err := b.CreditAccount(t.Context(), "10023"); err != nil || !a.Limit.IsZero() {
		t.Errorf("limit zero: %+v, %v", a, err)
	}
}

func TestModes(t *testing.T) {
	client := func() *upstream.Client {
		return upstream.NewClient(upstream.Options{Service: "credit service", Policy: upstream.Policy{Base: time.Nanosecond}})
	}
	tests := []struct {
		mode     Mode
		attempts int
		failed   int64
		text     string
	}{
		{Steady, 1, 0, ""},
		{Flaky, 2, 1, ""},
		{Outage, 3, 3, "503 Service Unavailable from the credit service"},
	}
	for _, tt := range tests {
		t.Run("mode "+string(tt.mode), func(t *testing.T) {
			_, b := newSample(t, tt.mode)
			c := client()
			for call := range 2 {
				stats, err := c.Do(t.Context(), func(ctx context.Context, _ int) error {
					_, err := b.CreditAccount(ctx, "10023")
					return err
				})
				if stats.Attempts != tt.attempts || upstream.SafeText(err) != tt.text {
					t.Errorf("call %d: %d attempts, %v, want %d and %q", call, stats.Attempts, err, tt.attempts, tt.text)
				}
			}
			if got := b.Counts(); got.Failed != 2*tt.failed || got.Credits != int64(2*tt.attempts) {
				t.Errorf("counts %+v", got)
			}
			for _, err := range []error{second(b.Order(t.Context(), "4711")), second(b.Customer(t.Context(), "10023")), second(b.ListBlocked(t.Context(), "1010"))} {
				if err != nil {
					t.Errorf("another read: %v; only the credit service fails", err)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestParseMode(t *testing.T) {
	for in, want := range map[string]Mode{"": Steady, "steady": Steady, "flaky": Flaky, "outage": Outage} {
		if got, err := ParseMode(in); got != want || err != nil {
			t.Errorf("ParseMode(%q) = %q, %v", in, got, err)
		}
	}
	if _, err := ParseMode("Flaky"); err == nil {
		t.Error("ParseMode took an unknown mode")
	}
}

func TestEndedContext(t *testing.T) {
	_, b := newSample(t, Steady)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{second(b.ListBlocked(ctx, "1010")), second(b.Order(ctx, "4711")), second(b.CreditAccount(ctx, "10023")), second(b.Customer(ctx, "10023"))} {
		var ue *upstream.Error
		if !errors.As(err, &ue) || !errors.Is(err, context.Canceled) || ue.Class != upstream.Permanent {
			t.Errorf("error %#v, want canceled", err)
		}
	}
}

func TestChangingWorld(t *testing.T) {
	w, b := newSample(t, Steady)
	ctx := t.Context()
	if err := errors.Join(w.SetOpenItems("10023", amountOf(t, "90000")), w.SetBlocked("4711", false), w.SetBlocked("4730", true),
		w.AddOrder(creditrelease.Order{SalesOrder: "0004712", Customer: "10023", NetValue: amountOf(t, "1"), Currency: "EUR", Blocked: true, SalesOrganization: "1010"})); err != nil {
		t.Fatal(err)
	}
	if a, _ := b.CreditAccount(ctx, "10023"); a.OpenItems.String() != "90000.00" {
		t.Errorf("open items %s", a.OpenItems)
	}
	list, _ := b.ListBlocked(ctx, "1010")
	if got, want := fmt.Sprint(list), "[{4723 10051 640.00 EUR} {4725 10077 3900.00 EUR} {4730 10023 520.00 EUR} {4740 10088 1700.00 EUR} {4712 10023 1.00 EUR}]"; got != want {
		t.Errorf("list %s, want %s", got, want)
	}
	if w.SetOpenItems("1", amountOf(t, "1")) == nil || w.SetBlocked("1", true) == nil ||
		w.AddOrder(creditrelease.Order{SalesOrder: "4711"}) == nil || w.AddOrder(creditrelease.Order{SalesOrder: "x"}) == nil {
		t.Error("a change of what does not exist, or an order twice, went through")
	}
	if orders, customers := w.Size(); orders != 6 || customers != 4 {
		t.Errorf("size %d, %d, want 6 and 4", orders, customers)
	}
}

func TestWorldConcurrently(t *testing.T) {
	w, b := newSample(t, Steady)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 100 {
				w.SetBlocked("4711", n%2 == 0)
				w.SetOpenItems("10023", amountOf(t, fmt.Sprint(n)))
				w.AddOrder(creditrelease.Order{SalesOrder: fmt.Sprint(10000 + i*100 + n), Customer: "10023", SalesOrganization: "1010"})
				b.ListBlocked(t.Context(), "1010")
				b.Order(t.Context(), "4711")
				b.CreditAccount(t.Context(), "10023")
			}
		})
	}
	wg.Wait()
	if orders, _ := w.Size(); orders != 805 {
		t.Errorf("%d orders, want 805", orders)
	}
}
