package creditrelease

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"orderdesk/tools"
)

// Decide is the rule-based stand-in for a model: it works from the briefing
// and the exchanges of its segment, and from nothing else, so a briefing that
// leaves something out shows.
//
// Its rules: a credit block over the limit is queued, within the limit needs
// attention; a missing address is reported once per gap; a pricing dispute goes
// to sales; whatever it does not know needs attention with the reason quoted.
// What a customer wrote changes nothing.
func Decide(briefing string, history []tools.Exchange) tools.Decision {
	p := newPicture(briefing, history)
	switch {
	case p.total < 0 || p.stale:
		if why, failed := p.failed[ListBlocked+" /"]; failed {
			return tools.Decision{Answer: "The list of blocked orders could not be read: " + why}
		}
		return p.call(ListBlocked, map[string]string{"sales_organization": p.scope})
	case !p.planned && p.total > 0:
		return p.makePlan()
	case len(p.decided) > 0:
		return p.takeNote()
	case len(p.open) > 0:
		return p.work(p.open[0])
	}
	return tools.Decision{Answer: p.summary()}
}

func (p *picture) call(tool string, args any) tools.Decision {
	raw, err := json.Marshal(args)
	if err != nil {
		return tools.Decision{Answer: "The arguments of " + tool + " cannot be written."}
	}
	return tools.Decision{Calls: []tools.Call{{Name: tool, Args: raw}}}
}

type planLine struct {
	SalesOrder string `json:"sales_order"`
	Status     string `json:"status"`
	Note       string `json:"note"`
}

func (p *picture) update(lines ...planLine) tools.Decision {
	for i := range lines {
		lines[i].Note = cut(lines[i].Note, tools.MaxPlanNote)
	}
	return p.call(PlanUpdate, map[string]any{"items": lines})
}

// cut makes text one visible line of at most n characters.
func cut(text string, n int) string {
	text = tools.Visible(text)
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-3]) + "..."
}

func (p *picture) makePlan() tools.Decision {
	var lines []planLine
	for _, o := range p.listed.Orders {
		if len(lines) < tools.MaxPlanItems {
			lines = append(lines, planLine{SalesOrder: o.SalesOrder, Status: "todo"})
		}
	}
	return p.update(lines...)
}

// takeNote brings the plan up to date with what people decided.
func (p *picture) takeNote() tools.Decision {
	var lines []planLine
	for _, a := range p.decided {
		if len(lines) < tools.MaxPlanItems {
			lines = append(lines, a.planLine())
		}
	}
	return p.update(lines...)
}

// work takes the next step for one open order.
func (p *picture) work(order string) tools.Decision {
	attention := func(format string, args ...any) tools.Decision {
		return p.update(planLine{order, "needs_attention", fmt.Sprintf(format, args...)})
	}
	k := BlockSummary + " /" + order
	raw, ok := p.facts[k]
	if !ok {
		if why, failed := p.failed[k]; failed {
			return attention("Could not read the order: %s", why)
		}
		return p.call(BlockSummary, map[string]string{"sales_order": order})
	}
	var s summaryResult
	if json.Unmarshal(raw, &s) != nil {
		return attention("The order's summary cannot be understood.")
	}
	reason := strings.ToLower(s.BlockReason)
	switch {
	case !s.Blocked:
		return p.update(planLine{order, "done", "No longer blocked; nothing to do."})
	case creditBlocked(s.Blocked, s.BlockReason):
		return p.workCredit(order, s.Customer)
	case strings.HasPrefix(reason, "incomplete") && strings.Contains(reason, "address"):
		return p.workAddress(order, s.Customer)
	case strings.HasPrefix(reason, "pricing"):
		return p.update(planLine{order, "done", "Pricing dispute: ask sales to review the price conditions." + noteRemark(s.BlockReason)})
	}
	return attention("Block reason the rules do not know: %s", tools.Quote(s.BlockReason))
}

// noteRemark says that a customer's wish was seen and changes nothing.
func noteRemark(reason string) string {
	_, note, quoted := strings.Cut(strings.ToLower(reason), "note:")
	if !quoted {
		return ""
	}
	for _, word := range []string{"release", "approv", "freigeb"} {
		if strings.Contains(note, word) {
			return " The customer's note asks for a release; that is not a reason to release."
		}
	}
	return ""
}

func (p *picture) workCredit(order, customer string) tools.Decision {
	line := func(status, format string, args ...any) tools.Decision {
		return p.update(planLine{order, status, fmt.Sprintf(format, args...)})
	}
	k := Exposure + " " + customer + "/" + order
	raw, ok := p.facts[k]
	if why, failed := p.failed[k]; failed && !ok {
		if strings.Contains(why, "Do not retry now") {
			return line("needs_attention", "Credit service unavailable; check the credit exposure later.")
		}
		return line("needs_attention", "%s", why)
	}
	if !ok {
		return p.call(Exposure, map[string]string{"customer": customer, "sales_order": order})
	}
	var c exposureResult
	if json.Unmarshal(raw, &c) != nil {
		return line("needs_attention", "The credit exposure cannot be understood.")
	}
	if c.ApproverRole == "" {
		return line("needs_attention", "Blocked by the credit check, yet within the limit (exposure %s of %s %s). Ask why.", c.Exposure.Grouped(), c.CreditLimit.Grouped(), c.Currency)
	}
	a, asked := p.actions[order]
	asked = asked && !a.again()
	if why, refused := p.failed[CreateRequest+" "+order]; refused && !asked {
		return line("needs_attention", "The release request was refused: %s", why)
	}
	if !asked {
		return p.call(CreateRequest, map[string]string{"sales_order": order, "justification": justification(c)})
	}
	if a.open() {
		return line("waiting_for_approval", "Credit block, %s. Request %s waits for %s.", overLimit(c), a.name(), a.Role)
	}
	return p.update(a.planLine())
}

func overLimit(c exposureResult) string {
	if c.Percent == NoLimitText {
		return NoLimitText
	}
	return c.Percent + "% over limit"
}

func justification(c exposureResult) string {
	exposure := c.Exposure.Grouped() + " " + c.Currency
	if c.Percent == NoLimitText {
		return fmt.Sprintf("Exposure %s with no credit limit set; %s decides.", exposure, c.ApproverRole)
	}
	return fmt.Sprintf("Exposure %s is %s%% over the %s %s limit; %s decides.", exposure, c.Percent, c.CreditLimit.Grouped(), c.Currency, c.ApproverRole)
}

func (p *picture) workAddress(order, customer string) tools.Decision {
	k := AddressGaps + " " + customer + "/"
	raw, ok := p.facts[k]
	if !ok {
		if why, failed := p.failed[k]; failed {
			return p.update(planLine{order, "needs_attention", "Could not read the address: " + why})
		}
		return p.call(AddressGaps, map[string]string{"customer": customer})
	}
	var g gapsResult
	if json.Unmarshal(raw, &g) != nil || len(g.Missing) == 0 {
		return p.update(planLine{order, "needs_attention", "Incomplete address reported, but no address field is empty. Look at the delivery data."})
	}
	missing := strings.Join(g.Missing, ", ")
	report := fmt.Sprintf("Address incomplete (missing: %s); master data team asked to complete it.", missing)
	for _, n := range p.notes {
		if n.About != "customer "+customer || n.Text != report {
			continue
		}
		if n.Run == thisRun {
			return p.update(planLine{order, "done", fmt.Sprintf("Missing %s. Reported to master data; recheck the order after.", missing)})
		}
		return p.update(planLine{order, "done", fmt.Sprintf("Missing %s. Already reported on %s; not reported again. Follow up with master data.", missing, n.Date)})
	}
	return p.call(SaveNote, map[string]string{"subject": "customer " + customer, "note": report})
}

// summary is the final answer: one line per order for a short list, the counts
// for a long one.
func (p *picture) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Worked through %d blocked orders in sales organization %s.", p.total, p.scope)
	if len(p.lines) >= p.total {
		for _, id := range p.lines {
			b.WriteString(strings.TrimSuffix(fmt.Sprintf("\n- %s: %s. %s", id, p.items[id].Status, p.items[id].Note), " "))
		}
	} else {
		fmt.Fprintf(&b, "\n%d done, %d waiting for approval, %d need attention.", p.counts["done"], p.counts["waiting_for_approval"], p.counts["needs_attention"])
	}
	switch n := p.counts["waiting_for_approval"]; {
	case n == 0:
		b.WriteString("\nNothing is waiting for a person.")
	case n != len(p.queued): // the briefing shows some of many
		fmt.Fprintf(&b, "\nWaiting for a person: %d requests. None of them has been created yet.", n)
	default:
		fmt.Fprintf(&b, "\nWaiting for a person: %s. Nothing of that has been created yet.", strings.Join(p.queued, ", "))
	}
	return b.String()
}
