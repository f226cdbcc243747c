package sampledata

import (
	"fmt"
	"strings"

	"orderdesk/tools/creditrelease"
)

// What holds where a source says nothing.
const (
	defaultCurrency     = "EUR"
	defaultOrganization = "1010"
)

// Limits of texts, in bytes: what comes in must fit into one saved record,
// escaped and all.
const (
	maxText   = 500
	maxReason = 8000
)

// kind is how a field is written.
type kind int

const (
	text   kind = iota // a JSON string
	amount             // a JSON number or string
	flag               // a JSON bool
)

// column is one field of an order or a customer.
type column struct {
	name     string
	kind     kind
	optional bool
}

// Positions in orderColumns.
const (
	orderID = iota
	orderCustomer
	orderValue
	orderBlocked
	orderReason
	orderCurrency
	orderOrganization
)

func orderColumns() []column {
	return []column{
		{name: "sales_order"}, {name: "customer"}, {name: "net_value", kind: amount}, {name: "blocked", kind: flag},
		{name: "block_reason"}, {name: "currency", optional: true}, {name: "sales_organization", optional: true},
	}
}

// Positions in customerColumns.
const (
	customerID = iota
	customerName
	customerStreet
	customerPostalCode
	customerCity
	customerCountry
	customerLimit
	customerOpenItems
	customerCurrency
)

func customerColumns() []column {
	return []column{
		{name: "customer"}, {name: "name"}, {name: "street"}, {name: "postal_code"}, {name: "city"}, {name: "country"},
		{name: "credit_limit", kind: amount}, {name: "open_items", kind: amount}, {name: "currency", optional: true},
	}
}

// record is one order or customer as a file has it: every value as text, by
// position in columns. The readers note what they cannot read; the methods
// note what the texts do not say, and return zero values then.
type record struct {
	at      place
	columns []column
	values  []string
	has     []bool
	bad     []bool // has a fault already
	faults  []string
}

// reset makes r ready for the next record.
func (r *record) reset(at place, columns []column) {
	if len(r.values) != len(columns) {
		r.values, r.has, r.bad = make([]string, len(columns)), make([]bool, len(columns)), make([]bool, len(columns))
	}
	r.at, r.columns, r.faults = at, columns, nil
	clear(r.values)
	clear(r.has)
	clear(r.bad)
}

// fault notes what is wrong with a field, the first time.
func (r *record) fault(i int, format string, args ...any) {
	if !r.bad[i] {
		r.faults = append(r.faults, r.columns[i].name+" "+fmt.Sprintf(format, args...))
		r.bad[i] = true
	}
}

// checkMissing notes the fields that are not there.
func (r *record) checkMissing() {
	for i, c := range r.columns {
		if !r.has[i] && !c.optional {
			r.fault(i, "is missing")
		}
	}
}

func (r *record) id(i int) string {
	id, err := creditrelease.CanonicalID(r.values[i])
	if err != nil {
		r.fault(i, "%v", err)
	}
	return id
}

func (r *record) amount(i int) creditrelease.Amount {
	if r.values[i] == "" {
		r.fault(i, "is empty; for none write 0")
		return creditrelease.Amount{}
	}
	a, err := creditrelease.ParseAmount(r.values[i])
	if err != nil {
		r.fault(i, "%v", err)
	}
	return a
}

func (r *record) flag(i int) bool {
	switch strings.ToLower(r.values[i]) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	r.fault(i, "must be true or false, not %s", short(r.values[i]))
	return false
}

func (r *record) text(i, limit int) string {
	if len(r.values[i]) > limit {
		r.fault(i, "has %d bytes; at most %d", len(r.values[i]), limit)
	}
	return r.values[i]
}

func (r *record) currency(i int) string {
	switch v := r.values[i]; {
	case v == "" || v == defaultCurrency:
		return defaultCurrency
	case creditrelease.ValidCurrency(v):
		return strings.Clone(v)
	default:
		r.fault(i, "must be three capital letters, e.g. 'EUR', not %s", short(v))
		return ""
	}
}

// organization returns "" where the file's holds.
func (r *record) organization(i int) string {
	if v := r.values[i]; v != "" && !validOrganization(v) {
		r.fault(i, "must be 1 to 4 capital letters or digits, e.g. '1010', not %s", short(v))
	}
	return r.values[i]
}

func validOrganization(s string) bool {
	const allowed = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return len(s) >= 1 && len(s) <= 4 && strings.Trim(s, allowed) == ""
}
