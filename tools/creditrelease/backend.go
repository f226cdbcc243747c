package creditrelease

import (
	"context"
	"errors"
	"fmt"

	"orderdesk/tools/upstream"
)

// Backend is where the domain reads. Ids go in and come out in the form
// [CanonicalID] gives them. Every error is an [*upstream.Error]: Business for
// what does not exist or does not fit, Transient for a service that may answer
// next time; a text in it is safe to show to a model. A Backend does not
// retry, is safe for concurrent use, and reads anew at each call.
type Backend interface {
	// ListBlocked returns the blocked orders of a sales organization in the
	// sequence of the source; none is no error.
	ListBlocked(ctx context.Context, salesOrganization string) ([]ListedOrder, error)
	// Order returns one order, blocked or not; [ErrNotFound] in the error says
	// that there is none, [ErrBadRecord] that it cannot be worked on.
	Order(ctx context.Context, salesOrder string) (Order, error)
	// CreditAccount asks the credit service; [ErrNotFound] in the error says
	// that it does not know the customer.
	CreditAccount(ctx context.Context, customer string) (CreditAccount, error)
	// Customer returns a customer's master data, or [ErrNotFound] in the error.
	Customer(ctx context.Context, customer string) (Customer, error)
}

// ListedOrder is one line of the list of blocked orders.
type ListedOrder struct {
	SalesOrder, Customer string
	NetValue             Amount
	Currency             string // ISO 4217, e.g. "EUR"
}

// Order is one sales order and why it is blocked.
type Order struct {
	SalesOrder, Customer, CustomerName string
	NetValue                           Amount
	Currency                           string
	Blocked                            bool
	BlockReason                        string // as the source has it, customers' words included; "" if not blocked
	SalesOrganization                  string
}

// CreditAccount is what the credit service knows of a customer. A Limit of
// zero means that none is set.
type CreditAccount struct {
	Customer         string
	Limit, OpenItems Amount
	Currency         string // of both
}

// Customer is a customer's name and address; a field without data is "".
type Customer struct {
	Customer, Name, Street, PostalCode, City, Country string
}

// What a backend's business errors are about.
var (
	ErrNotFound  = errors.New("not found")
	ErrBadRecord = errors.New("bad record")
)

// NoOrder is the business error for an order that does not exist.
func NoOrder(salesOrder string) *upstream.Error {
	return business(ErrNotFound, "There is no sales order %s, or it may not be seen.", salesOrder)
}

// NoCustomer is the business error for a customer that does not exist.
func NoCustomer(customer string) *upstream.Error {
	return business(ErrNotFound, "There is no customer %s, or it may not be seen.", customer)
}

// OrphanOrder is the business error for an order whose customer does not exist.
func OrphanOrder(salesOrder, customer string) *upstream.Error {
	return business(ErrBadRecord, "Sales order %s belongs to customer %s, who has no master data; a person must look at it.",
		salesOrder, customer)
}

func business(cause error, format string, args ...any) *upstream.Error {
	return &upstream.Error{Class: upstream.Business, Text: fmt.Sprintf(format, args...), Err: cause}
}
