package sampledata

import (
	"strings"

	"orderdesk/tools/creditrelease"
)

func (b *builder) addOrder(r *record) {
	r.checkMissing()
	o := creditrelease.Order{
		SalesOrder: r.id(orderID), Customer: r.id(orderCustomer), NetValue: r.amount(orderValue),
		Currency: r.currency(orderCurrency), Blocked: r.flag(orderBlocked),
		BlockReason: r.text(orderReason, maxReason), SalesOrganization: r.organization(orderOrganization),
	}
	b.unique(r, orderID, o.SalesOrder, b.orders)
	if b.good(r) {
		b.world.append(o)
	}
}

func (b *builder) addCustomer(r *record) {
	r.checkMissing()
	id := r.id(customerID)
	c := customer{
		data: creditrelease.Customer{
			Customer: id, Name: r.text(customerName, maxText), Street: r.text(customerStreet, maxText),
			PostalCode: r.text(customerPostalCode, maxText), City: r.text(customerCity, maxText),
			Country: r.text(customerCountry, maxText),
		},
		account: creditrelease.CreditAccount{
			Customer: id, Limit: r.amount(customerLimit), OpenItems: r.amount(customerOpenItems),
			Currency: r.currency(customerCurrency),
		},
	}
	b.unique(r, customerID, id, b.customers)
	if b.good(r) {
		b.world.customers[id] = c
	}
}

// unique notes that an id was there before.
func (b *builder) unique(r *record, i int, id string, seen map[string]place) {
	if id == "" {
		return
	}
	if before, ok := seen[id]; ok {
		r.fault(i, "%s is already in %s", id, before.within())
		return
	}
	seen[id] = r.at
}

// good reports whether r has no faults, and notes those it has.
func (b *builder) good(r *record) bool {
	if len(r.faults) > 0 {
		b.notef("%s: %s", r.at, strings.Join(r.faults, "; "))
	}
	return len(r.faults) == 0
}
