package sampledata

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"orderdesk/tools/creditrelease"
	"orderdesk/tools/upstream"
)

// Mode is how the credit service behaves. The other reads always work.
type Mode string

// The modes.
const (
	Steady Mode = ""       // answers
	Flaky  Mode = "flaky"  // fails the first attempt of every call
	Outage Mode = "outage" // fails every attempt
)

// ParseMode reads a mode as people type it: "steady" (or nothing), "flaky" or
// "outage".
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "steady":
		return Steady, nil
	case Steady, Flaky, Outage:
		return m, nil
	}
	return "", fmt.Errorf("simulation %q is not known; use steady, flaky or outage", s)
}

// Backend answers from a [World]. It is safe for concurrent use.
type Backend struct {
	world *World
	mode  Mode
	counts
}

// Counts says how often a backend was asked.
type Counts struct {
	Lists, Orders, Credits, Customers int64
	Failed                            int64 // of Credits, with a 503
}

type counts struct{ lists, orders, credits, customers, failed atomic.Int64 }

var _ creditrelease.Backend = (*Backend)(nil)

// NewBackend returns a backend on w, whose changes it sees.
func NewBackend(w *World, m Mode) *Backend { return &Backend{world: w, mode: m} }

// Counts returns how often b was asked until now.
func (b *Backend) Counts() Counts {
	c := &b.counts
	return Counts{c.lists.Load(), c.orders.Load(), c.credits.Load(), c.customers.Load(), c.failed.Load()}
}

// ListBlocked returns the blocked orders of an organization; none for one that
// is not known.
func (b *Backend) ListBlocked(ctx context.Context, salesOrganization string) ([]creditrelease.ListedOrder, error) {
	b.lists.Add(1)
	if err := ended(ctx); err != nil {
		return nil, err
	}
	return b.world.listBlocked(salesOrganization), nil
}

// Order returns an order; one whose customer is missing is a bad record.
func (b *Backend) Order(ctx context.Context, salesOrder string) (creditrelease.Order, error) {
	b.orders.Add(1)
	if err := ended(ctx); err != nil {
		return creditrelease.Order{}, err
	}
	return b.world.order(salesOrder)
}

// CreditAccount is the credit service, in the mode of b.
func (b *Backend) CreditAccount(ctx context.Context, customer string) (creditrelease.CreditAccount, error) {
	b.credits.Add(1)
	if err := ended(ctx); err != nil {
		return creditrelease.CreditAccount{}, err
	}
	if b.mode == Outage || b.mode == Flaky && upstream.Attempt(ctx) == 1 {
		b.failed.Add(1)
		return creditrelease.CreditAccount{},
			upstream.FromStatus("credit service", http.StatusServiceUnavailable, nil, time.Time{})
	}
	c, err := b.world.customer(customer)
	return c.account, err
}

// Customer returns a customer's name and address.
func (b *Backend) Customer(ctx context.Context, customer string) (creditrelease.Customer, error) {
	b.customers.Add(1)
	if err := ended(ctx); err != nil {
		return creditrelease.Customer{}, err
	}
	c, err := b.world.customer(customer)
	return c.data, err
}

// ended returns the end of ctx as the error a service's client would give.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &upstream.Error{Class: upstream.ClassOf(err), Text: upstream.SafeText(err), Err: err}
	}
	return nil
}
