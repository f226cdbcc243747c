package creditrelease

import (
	"cmp"
	"fmt"
)

// actionLine is a request as briefings and answers show it.
type actionLine struct {
	Action     string `json:"action"`
	Of         string `json:"run"` // another run, whose request it is; "": this one's
	SalesOrder string `json:"sales_order"`
	Status     string `json:"status"`
	Role       string `json:"role"`
	By         string `json:"by"`
	Request    string `json:"request"`
	Comment    string `json:"comment"`
	Detail     string `json:"detail"`
}

// name is how people name a: RUN/A1 if it is another run's.
func (a actionLine) name() string {
	if a.Of == "" {
		return a.Action
	}
	return a.Of + "/" + a.Action
}

// open reports whether a waits for a person or for being carried out.
func (a actionLine) open() bool {
	return a.Status == "pending" || a.Status == "approved" || a.Status == "executing" || a.Status == "unknown"
}

// again reports whether a came to nothing through no decision of a person.
func (a actionLine) again() bool {
	return a.Status == "failed" || a.Status == "refused" || a.Status == "expired" || a.Status == "withdrawn"
}

func (a actionLine) planLine() planLine {
	l := planLine{SalesOrder: a.SalesOrder, Status: "done"}
	switch a.Status {
	case "executed":
		l.Note = fmt.Sprintf("Release request %s created after approval by %s.", cmp.Or(a.Request, a.name()), cmp.Or(a.By, "a person"))
	case "rejected":
		l.Note = fmt.Sprintf("Release rejected (%s). Order stays blocked.", cmp.Or(a.Comment, a.Detail, "no reason given"))
	default: // failed, refused, expired, withdrawn: may be asked for again
		l.Status = "needs_attention"
		l.Note = fmt.Sprintf("Release request %s is %s (%s).", a.name(), a.Status, cmp.Or(a.Detail, "no reason given"))
	}
	return l
}
