package creditrelease

import (
	"encoding/json"
	"fmt"

	"orderdesk/approvalgate"
)

// Request is what a receiver of approved releases is asked to create.
type Request struct {
	SalesOrder    string
	Justification string
	ApprovedBy    string
	Role          string
}

// RequestOf reads the request from what was sealed and approved, and from
// nothing else.
func RequestOf(p *approvalgate.Permit) (Request, error) {
	var args struct {
		SalesOrder    string `json:"sales_order"`
		Justification string `json:"justification"`
	}
	e, a := p.Envelope(), p.Approval()
	if err := json.Unmarshal(e.Arguments, &args); err != nil {
		return Request{}, fmt.Errorf("sealed arguments of %s: %w", p.Key(), err)
	}
	if args.SalesOrder != e.Target.ID {
		return Request{}, fmt.Errorf("sealed arguments of %s name order %s, the target is %s", p.Key(), args.SalesOrder, e.Target.ID)
	}
	return Request{SalesOrder: args.SalesOrder, Justification: args.Justification, ApprovedBy: a.By, Role: a.Role}, nil
}
