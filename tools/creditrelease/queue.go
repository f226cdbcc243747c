package creditrelease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// creditReason is how the reason of a credit block begins.
const creditReason = "blocked by the credit"

func creditBlocked(blocked bool, reason string) bool {
	return blocked && strings.HasPrefix(strings.ToLower(reason), creditReason)
}

// withOthers completes an exposure with the customer's other requests: the
// role follows all of them together.
func withOthers(w *tools.Writing, result any) (any, error) {
	r, ok := result.(exposureResult)
	if !ok {
		return nil, fmt.Errorf("exposure result is a %T", result)
	}
	n, total, err := others(w, r.Customer, r.SalesOrder, w.Asked)
	if err != nil || n == 0 {
		return r, err
	}
	j, err := Judge(r.standing(total))
	if err != nil {
		return nil, notComputed(r.SalesOrder, err, nil)
	}
	r.OtherRequests, r.OthersTotal, r.ApproverRole = n, total, j.Role
	return r, nil
}

func (r exposureResult) standing(othersTotal Amount) Standing {
	return Standing{OpenItems: r.OpenItems, NetValue: r.NetValue, Others: othersTotal, Limit: r.CreditLimit, Currency: r.Currency, LimitCurrency: r.Currency}
}

// others sums the customer's other requests that an exposure read at readAt
// does not hold yet: undecided, approved, or carried out since. Credits do not
// count.
func others(w *tools.Writing, customer, order string, readAt time.Time) (int, Amount, error) {
	var total Amount
	entries, err := w.Gate.Group(w.Tx, customer)
	if err != nil {
		return 0, total, err
	}
	n := 0
	for _, e := range entries {
		if e.Target.ID == order || !(e.Status.Open() || e.Status == runstore.Executed && !e.ExecutedAt.Before(readAt)) {
			continue
		}
		a, err := ParseAmount(e.Amount)
		if err != nil {
			return 0, total, fmt.Errorf("amount of %s/%s: %w", e.Run, e.Action, err)
		}
		if a.IsNegative() {
			continue // it may come to nothing, and must not lower the role of another
		}
		n, total = n+1, total.Add(a)
	}
	return n, total, nil
}

// queueRelease is the credit_release_request_create tool: it queues, and
// never creates anything.
func queueRelease(w *tools.Writing) (any, error) {
	order, err := askID(w.Args, "sales_order")
	if err != nil {
		return nil, err
	}
	justification := textArg(w.Args, "justification")
	if err := tools.CheckLine("justification", justification, 400); err != nil {
		return nil, err
	}
	summary, credit, readAt, err := evidence(w, order)
	if err != nil {
		return nil, err
	}
	n, total, err := others(w, summary.Customer, order, readAt)
	if err != nil {
		return nil, err
	}
	j, err := Judge(credit.standing(total))
	if err != nil {
		return nil, tools.Refusef("%s", notComputed(order, err, nil).Text)
	}
	if j.Role == "" {
		return nil, tools.Refusef("Order %s is within the credit limit; no release request is needed. Set it to needs_attention: it is blocked all the same.", order)
	}
	args, err := json.Marshal(map[string]string{"sales_order": order, "justification": justification})
	if err != nil {
		return nil, err
	}
	q, err := w.Gate.Queue(w.Tx, w.Run, approvalgate.Proposal{
		Tool: CreateRequest, Target: runstore.Target{Kind: "sales_order", ID: order, Group: summary.Customer},
		Arguments: args, Role: j.Role, Amount: summary.NetValue.String(), Rule: RuleVersion,
		Evidence: sealedEvidence(summary, credit, j, n, total, readAt),
	})
	if err != nil {
		return nil, notQueued(order, err)
	}
	w.Unchanged = q.Existing
	return queuedAnswer(w, q)
}

// notQueued turns the gate's no to this one request into an answer for the
// model: one order that cannot be queued does not stop the list.
func notQueued(order string, err error) error {
	var full *approvalgate.GroupFullError
	var unsealed *approvalgate.SealError
	switch {
	case errors.As(err, &full):
		return tools.Refusef("Order %s was not queued: customer %s has %d open requests already; people must decide some first. Set it to needs_attention.",
			order, full.Group, full.Max)
	case errors.As(err, &unsealed):
		return tools.Refusef("Order %s was not queued: %s. Set it to needs_attention.", order, unsealed)
	}
	return err
}

// evidence finds the fresh facts a request must rest on.
func evidence(w *tools.Writing, order string) (s summaryResult, c exposureResult, at time.Time, err error) {
	f, ok, err := w.Fact(BlockSummary, order)
	if err != nil {
		return s, c, at, err
	}
	if !ok {
		return s, c, at, tools.Refusef("Read %s for order %s first.", BlockSummary, order)
	}
	if err := json.Unmarshal(f.Result, &s); err != nil {
		return s, c, at, err
	}
	if !creditBlocked(s.Blocked, s.BlockReason) {
		return s, c, at, tools.Refusef("Order %s is not blocked by the credit check, so a credit release request does not apply.", order)
	}
	if f, ok, err = w.Fact(Exposure, s.Customer, order); err != nil {
		return s, c, at, err
	}
	if !ok {
		return s, c, at, tools.Refusef("Read %s for order %s first, so the approver sees the numbers.", Exposure, order)
	}
	return s, c, f.ReadAt, json.Unmarshal(f.Result, &c)
}

func sealedEvidence(s summaryResult, c exposureResult, j Judgement, n int, total Amount, readAt time.Time) map[string]string {
	e := map[string]string{
		"customer": s.Customer, "customer_name": evidenceText(s.CustomerName), "block_reason": evidenceText(s.BlockReason),
		"net_value": s.NetValue.String(), "open_items": c.OpenItems.String(), "credit_limit": c.CreditLimit.String(),
		"exposure": j.Exposure.String(), "percent_over_limit": j.Percent, "currency": c.Currency,
		"read_at": readAt.UTC().Format(time.RFC3339),
	}
	if n > 0 {
		e["other_requests"], e["other_requests_total"] = strconv.Itoa(n), total.String()
		e["cumulated_exposure"], e["cumulated_percent"] = j.CumulatedExposure.String(), j.CumulatedPercent
	}
	return e
}

// evidenceText is a text from outside as it may be sealed: one line of at most
// 200 characters that people see, blanks of all kinds as one kind.
func evidenceText(s string) string {
	return cut(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Zs, r) || r == '\u2800' { // the Braille blank
			return ' '
		}
		return r
	}, s), 200)
}

type queued struct {
	Queued   bool   `json:"queued"`
	ActionID string `json:"action_id"`
	Run      string `json:"run,omitempty"` // another run, whose request it is
	Role     string `json:"required_role"`
	Status   string `json:"status"`
	By       string `json:"by,omitempty"`
	Request  string `json:"request,omitempty"`
	Message  string `json:"message"`
}

func queuedAnswer(w *tools.Writing, q approvalgate.Queued) (out queued, err error) {
	a := q.Action
	out = queued{Queued: true, ActionID: a.ID, Role: a.Role, Status: string(a.Status)}
	switch {
	case q.Linked:
		out.Queued = false
		out.Run, err = tools.RunName(w.Tx, w.Run, a.Run)
		out.Message = "Another run has already asked for this order; its request stands for both."
	case q.Existing:
		out.Message = "This order already has a queued request; nothing new was added."
	default:
		out.Message = "Nothing is created yet: a person with this role decides. Set the order to waiting_for_approval and go on with the others."
	}
	if a.Approval != nil {
		out.By = a.Approval.By
	}
	if a.Outcome != nil {
		out.Request = a.Outcome.Reference
	}
	return out, err
}

// recheck reads the world again before an approved request is carried out and
// asks the same question with today's numbers.
func (r *reads) recheck(ctx context.Context, e approvalgate.Envelope) (approvalgate.Recheck, error) {
	o, err := r.backend.Order(ctx, e.Target.ID)
	if err != nil {
		return approvalgate.Recheck{}, gateError(err)
	}
	out := approvalgate.Recheck{Blocked: creditBlocked(o.Blocked, o.BlockReason)}
	if !out.Blocked {
		out.Reason = "the order is no longer blocked by the credit check"
		return out, nil
	}
	s, _, err := r.standing(ctx, e.Target.Group, e.Target.ID)
	if err != nil {
		return approvalgate.Recheck{}, gateError(err)
	}
	if sealed, ok := e.Evidence["other_requests_total"]; ok {
		if s.Others, err = ParseAmount(sealed); err != nil {
			return approvalgate.Recheck{}, err
		}
	}
	j, err := Judge(s)
	if err != nil {
		out.Blocked, out.Reason = false, err.Error()
		return out, nil
	}
	out.Role = j.Role
	out.Evidence = map[string]string{"open_items": s.OpenItems.String(), "net_value": s.NetValue.String(), "credit_limit": s.Limit.String(),
		"exposure": j.Exposure.String(), "percent_over_limit": j.Percent}
	return out, nil
}

// gateError tells the gate whether a failed read says something of the order
// or only of a service.
func gateError(err error) error {
	var fe *tools.FetchError
	if errors.As(err, &fe) && fe.Business {
		return &approvalgate.RefuseError{Text: fe.Text}
	}
	return err
}
