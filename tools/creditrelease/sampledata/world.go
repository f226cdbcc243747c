package sampledata

import (
	"fmt"
	"slices"
	"sync"

	"orderdesk/tools/creditrelease"
)

// World is a source's data, held in memory. It is safe for concurrent use.
// Changes to it are not written back.
type World struct {
	mu        sync.RWMutex
	orders    []creditrelease.Order // without customer names
	position  map[string]int        // in orders, by sales order
	customers map[string]customer
}

type customer struct {
	data    creditrelease.Customer
	account creditrelease.CreditAccount
}

func newWorld() *World {
	return &World{position: map[string]int{}, customers: map[string]customer{}}
}

// Size returns how many orders, blocked or not, and customers there are.
func (w *World) Size() (orders, customers int) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.orders), len(w.customers)
}

// SetOpenItems changes a customer's open items.
func (w *World) SetOpenItems(customer string, v creditrelease.Amount) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.customers[customer]
	if !ok {
		return creditrelease.NoCustomer(customer)
	}
	c.account.OpenItems = v
	w.customers[customer] = c
	return nil
}

// SetBlocked blocks or unblocks an order; its reason is kept for the next
// time.
func (w *World) SetBlocked(salesOrder string, blocked bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, ok := w.position[salesOrder]
	if !ok {
		return creditrelease.NoOrder(salesOrder)
	}
	w.orders[i].Blocked = blocked
	return nil
}

// AddOrder appends an order to the source's sequence. Its CustomerName is not
// used: names come from the customers.
func (w *World) AddOrder(o creditrelease.Order) error {
	id, err := creditrelease.CanonicalID(o.SalesOrder)
	if err != nil {
		return fmt.Errorf("sales order %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.position[id]; ok {
		return fmt.Errorf("sales order %s exists", id)
	}
	o.SalesOrder = id
	w.append(o)
	return nil
}

func (w *World) append(o creditrelease.Order) {
	w.position[o.SalesOrder] = len(w.orders)
	w.orders = append(w.orders, o)
}

func (w *World) listBlocked(org string) []creditrelease.ListedOrder {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var list []creditrelease.ListedOrder
	for i := range w.orders {
		if o := &w.orders[i]; o.Blocked && o.SalesOrganization == org {
			list = append(list, creditrelease.ListedOrder{
				SalesOrder: o.SalesOrder, Customer: o.Customer, NetValue: o.NetValue, Currency: o.Currency})
		}
	}
	return slices.Clip(list)
}

// Organizations are the sales organizations that have blocked orders, sorted.
func (w *World) Organizations() []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var found []string
	for i := range w.orders {
		if o := &w.orders[i]; o.Blocked && !slices.Contains(found, o.SalesOrganization) {
			found = append(found, o.SalesOrganization)
		}
	}
	slices.Sort(found)
	return found
}

func (w *World) order(salesOrder string) (creditrelease.Order, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	i, ok := w.position[salesOrder]
	if !ok {
		return creditrelease.Order{}, creditrelease.NoOrder(salesOrder)
	}
	o := w.orders[i]
	c, ok := w.customers[o.Customer]
	if !ok {
		return creditrelease.Order{}, creditrelease.OrphanOrder(salesOrder, o.Customer)
	}
	o.CustomerName = c.data.Name
	if !o.Blocked {
		o.BlockReason = ""
	}
	return o, nil
}

func (w *World) customer(id string) (customer, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	c, ok := w.customers[id]
	if !ok {
		return customer{}, creditrelease.NoCustomer(id)
	}
	return c, nil
}
