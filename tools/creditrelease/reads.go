package creditrelease

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"orderdesk/tools"
	"orderdesk/tools/upstream"
)

// Bounds of what a result shows.
const (
	listShown   = 20   // orders of a long list
	reasonShown = 600  // characters of a block reason
	nameShown   = 120  // of a name
	rawKept     = 2000 // of a text with characters that the model does not see
)

type reads struct {
	backend Backend
	service *upstream.Client
}

type listedResult struct {
	SalesOrder string `json:"sales_order"`
	Customer   string `json:"customer"`
	NetValue   Amount `json:"net_value"`
	Currency   string `json:"currency"`
}

type listResult struct {
	SalesOrganization string         `json:"sales_organization"`
	Count             int            `json:"count"`
	Orders            []listedResult `json:"orders"`
	Truncated         string         `json:"truncated,omitempty"`
	New               []string       `json:"new,omitempty"` // since the list was read before; added by the set
}

type summaryResult struct {
	SalesOrder   string `json:"sales_order"`
	Customer     string `json:"customer"`
	CustomerName string `json:"customer_name"`
	NetValue     Amount `json:"net_value"`
	Currency     string `json:"currency"`
	Blocked      bool   `json:"blocked"`
	BlockReason  string `json:"block_reason"`
}

type exposureResult struct {
	Customer      string `json:"customer"`
	SalesOrder    string `json:"sales_order"`
	CreditLimit   Amount `json:"credit_limit"`
	OpenItems     Amount `json:"open_items"`
	NetValue      Amount `json:"net_value"`
	Exposure      Amount `json:"exposure"`
	Currency      string `json:"currency"`
	Percent       string `json:"percent_over_limit"`
	ApproverRole  string `json:"approver_role"` // "": no release needed
	OtherRequests int    `json:"other_requests,omitempty"`
	OthersTotal   Amount `json:"other_requests_total,omitzero"`
}

type gapsResult struct {
	Customer string   `json:"customer"`
	Name     string   `json:"name"`
	Missing  []string `json:"missing"`
}

func textArg(args map[string]any, name string) string {
	s, _ := args[name].(string)
	return s
}

func askList(scope string, args map[string]any) ([]string, error) {
	if org := textArg(args, "sales_organization"); org != scope {
		return nil, tools.Refusef("Sales organization %s is not available in this run. Use %q.", tools.Quote(org), scope)
	}
	return []string{scope}, nil
}

func askID(args map[string]any, field string) (string, error) {
	id, err := CanonicalID(textArg(args, field))
	if err != nil {
		return "", tools.Refusef("%s %s", field, err)
	}
	return id, nil
}

func askOrder(_ string, args map[string]any) ([]string, error) {
	id, err := askID(args, "sales_order")
	return []string{id}, err
}

func askCustomer(_ string, args map[string]any) ([]string, error) {
	id, err := askID(args, "customer")
	return []string{id}, err
}

func askExposure(_ string, args map[string]any) ([]string, error) {
	customer, err := askID(args, "customer")
	if err != nil {
		return nil, err
	}
	order, err := askID(args, "sales_order")
	return []string{customer, order}, err
}

func (r *reads) list(ctx context.Context, ids []string) (tools.Found, error) {
	listed, err := r.backend.ListBlocked(ctx, ids[0])
	if err != nil {
		return tools.Found{}, failed("The list of blocked orders", err, nil)
	}
	out := listResult{SalesOrganization: ids[0], Count: len(listed), Orders: []listedResult{}}
	items := make([]string, len(listed))
	for i, o := range listed {
		items[i] = o.SalesOrder
		if i < listShown {
			out.Orders = append(out.Orders, listedResult(o))
		}
	}
	if len(listed) > listShown {
		out.Truncated = fmt.Sprintf("%d of %d shown; all go into the plan, and each plan_update answer names the next ones", listShown, len(listed))
	}
	return tools.Found{Result: out, Items: items}, nil
}

func (r *reads) summary(ctx context.Context, ids []string) (tools.Found, error) {
	o, err := r.backend.Order(ctx, ids[0])
	if err != nil {
		return tools.Found{}, failed("The order", err, nil)
	}
	var found tools.Found
	s := summaryResult{SalesOrder: o.SalesOrder, Customer: o.Customer, CustomerName: tools.Limit(o.CustomerName, rawKept), NetValue: o.NetValue,
		Currency: o.Currency, Blocked: o.Blocked, BlockReason: tools.Limit(o.BlockReason, rawKept)}
	reason, hidden := tools.CleanForModel(o.BlockReason)
	name, hiddenName := tools.CleanForModel(o.CustomerName)
	if hidden || hiddenName {
		found.Raw = s
	}
	s.CustomerName, s.BlockReason = bounded(name, nameShown), bounded(reason, reasonShown)
	found.Result = s
	return found, nil
}

func (r *reads) exposure(ctx context.Context, ids []string) (tools.Found, error) {
	s, retries, err := r.standing(ctx, ids[0], ids[1])
	if err != nil {
		return tools.Found{Retries: retries}, err
	}
	j, err := Judge(s)
	if err != nil {
		return tools.Found{}, notComputed(ids[1], err, retries)
	}
	return tools.Found{Retries: retries, Result: exposureResult{
		Customer: ids[0], SalesOrder: ids[1], CreditLimit: s.Limit, OpenItems: s.OpenItems, NetValue: s.NetValue,
		Exposure: j.Exposure, Currency: s.Currency, Percent: j.Percent, ApproverRole: j.Role}}, nil
}

// notComputed says that the rule has no answer for an order.
func notComputed(order string, err error, retries []tools.Retry) *tools.FetchError {
	return &tools.FetchError{Business: true, Retries: retries, Err: err,
		Text: fmt.Sprintf("The exposure of order %s cannot be computed: %s. Set this order to needs_attention.", order, err)}
}

// standing reads what the role rule needs for one order of one customer.
func (r *reads) standing(ctx context.Context, customer, order string) (Standing, []tools.Retry, error) {
	o, err := r.backend.Order(ctx, order)
	if err != nil {
		return Standing{}, nil, failed("The order", err, nil)
	}
	if o.Customer != customer {
		return Standing{}, nil, &tools.FetchError{Business: true, Text: fmt.Sprintf(
			"Order %s does not belong to customer %s. Take both numbers from %s.", order, customer, BlockSummary)}
	}
	var account CreditAccount
	stats, err := r.service.Do(ctx, func(ctx context.Context, _ int) (err error) {
		account, err = r.backend.CreditAccount(ctx, customer)
		return err
	})
	retries := retriesOf(stats)
	if err != nil {
		return Standing{}, retries, failed("The credit service", err, &stats)
	}
	return Standing{OpenItems: account.OpenItems, NetValue: o.NetValue, Limit: account.Limit,
		Currency: o.Currency, LimitCurrency: account.Currency}, retries, nil
}

func (r *reads) gaps(ctx context.Context, ids []string) (tools.Found, error) {
	c, err := r.backend.Customer(ctx, ids[0])
	if err != nil {
		return tools.Found{}, failed("The customer", err, nil)
	}
	g := gapsResult{Customer: c.Customer, Name: tools.Limit(c.Name, rawKept), Missing: []string{}}
	for _, f := range []struct{ name, value string }{{"street", c.Street}, {"postal_code", c.PostalCode}, {"city", c.City}, {"country", c.Country}} {
		if f.value == "" {
			g.Missing = append(g.Missing, f.name)
		}
	}
	var found tools.Found
	name, hidden := tools.CleanForModel(c.Name)
	if hidden {
		found.Raw = g
	}
	g.Name = bounded(name, nameShown)
	found.Result = g
	return found, nil
}

// bounded cuts text to n characters as a briefing shows them: one that is
// escaped there counts as its escape, so that no text, whatever is in it, fills
// a model's context.
func bounded(text string, n int) string {
	fit, size := 0, 0
	for _, r := range text {
		if size += utf8.RuneCountInString(tools.Quote(string(r))) - len(`""`); size > n {
			break
		}
		fit++
	}
	return tools.Limit(text, fit)
}

func retriesOf(s upstream.Stats) []tools.Retry {
	var rs []tools.Retry
	for _, w := range s.Waits {
		rs = append(rs, tools.Retry{Service: "credit service", Attempt: w.Attempt, WaitMS: w.Wait.Milliseconds(), Error: tools.Limit(w.Err, 200)})
	}
	return rs
}

// failed words a failed read for the model: a business answer as it is, a
// failing service with what to do with the order now.
func failed(what string, err error, stats *upstream.Stats) error {
	var ue *upstream.Error
	if errors.As(err, &ue) && ue.Class == upstream.Business {
		return &tools.FetchError{Text: ue.Text, Business: true, Err: err}
	}
	e := &tools.FetchError{Err: err}
	const advice = "Do not retry now: set this order to needs_attention and continue with the others."
	var open *upstream.OpenError
	switch {
	case errors.As(err, &open):
		e.Text = what + " has failed several times in a row and is not asked for the moment. " + advice
	case stats != nil:
		e.Retries = retriesOf(*stats)
		e.Text = fmt.Sprintf("%s did not answer after %d attempts (%s). %s", what, stats.Attempts, shown(err), advice)
	default:
		e.Text = fmt.Sprintf("%s could not be read (%s). %s", what, shown(err), advice)
	}
	return e
}

// shown is what may be told of an error: the text of a classified one, never
// that of any other.
func shown(err error) string {
	var ue *upstream.Error
	if errors.As(err, &ue) {
		return ue.Text
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return "it failed"
}
