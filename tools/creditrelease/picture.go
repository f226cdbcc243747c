package creditrelease

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"orderdesk/tools"
)

// picture is all the rule-based decider knows: what the briefing says and
// what the results of its segment add to it, as a model would know it.
type picture struct {
	scope   string
	listed  *listResult
	total   int // listed orders; -1: the list was not read
	planned bool
	stale   bool
	counts  map[string]int
	items   map[string]pictured // plan lines shown so far
	lines   []string            // their ids, in the sequence in which they came
	open    []string            // the next orders that are todo
	facts   map[string]json.RawMessage
	failed  map[string]string
	notes   []noteLine
	actions map[string]actionLine // by order: undecided ones
	decided []actionLine          // decided, the plan does not say so yet
	queued  []string              // requests that wait, of this segment and the briefing, in sequence
}

type pictured struct{ Status, Note string }

type noteLine struct {
	About string `json:"about"`
	Date  string `json:"date"`
	Run   string `json:"run"`
	Text  string `json:"text"`
}

// briefLine is any of the JSON lines of a briefing.
type briefLine struct {
	actionLine
	About  string          `json:"about"` // of a note, whose run is in actionLine
	Date   string          `json:"date"`
	Text   string          `json:"text"`
	Note   string          `json:"note"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"`
	Failed string          `json:"failed"`
}

func newPicture(briefing string, history []tools.Exchange) *picture {
	p := &picture{total: -1, counts: map[string]int{}, items: map[string]pictured{}, facts: map[string]json.RawMessage{},
		failed: map[string]string{}, actions: map[string]actionLine{}}
	for line := range strings.Lines(briefing) {
		p.brief(strings.TrimSuffix(line, "\n"))
	}
	for _, x := range history {
		p.observe(x)
	}
	return p
}

func (p *picture) brief(line string) {
	switch {
	case strings.HasPrefix(line, "{"):
		p.briefJSON(line)
	case strings.HasPrefix(line, "Task: "):
		_, after, _ := strings.Cut(line, "sales organization ")
		p.scope, _, _ = strings.Cut(after, ".")
	case strings.HasPrefix(line, "Plan, "):
		p.planned = true
		p.readCounts(line)
	case strings.HasPrefix(line, "The list is stale"):
		p.stale = true
	}
}

// readCounts reads "Plan, 4 listed: 2 todo, 1 done, …".
func (p *picture) readCounts(line string) {
	head, tail, _ := strings.Cut(strings.TrimPrefix(line, "Plan, "), " listed: ")
	p.total, _ = strconv.Atoi(head)
	for part := range strings.SplitSeq(tail, ", ") {
		n, status, _ := strings.Cut(part, " ")
		p.counts[status], _ = strconv.Atoi(n)
	}
}

func (p *picture) briefJSON(line string) {
	var l briefLine
	if json.Unmarshal([]byte(line), &l) != nil {
		return
	}
	switch {
	case l.Tool != "" && l.Failed != "":
		p.failed[key(l.Tool, l.Args)] = l.Failed
	case l.Tool != "":
		p.fact(l.Tool, l.Args, l.Result)
	case l.About != "":
		p.notes = append(p.notes, noteLine{About: l.About, Date: l.Date, Run: l.Of, Text: l.Text})
	case l.Action != "":
		p.action(l.actionLine)
	case l.SalesOrder != "":
		p.item(l.SalesOrder, l.Status, l.Note)
	}
}

func (p *picture) item(id, status, note string) {
	if _, ok := p.items[id]; !ok {
		p.lines = append(p.lines, id)
	}
	p.items[id] = pictured{status, note}
	p.open = slices.DeleteFunc(p.open, func(o string) bool { return o == id })
	if status == "todo" {
		p.open = append(p.open, id)
	}
}

func (p *picture) action(a actionLine) {
	if a.open() {
		p.actions[a.SalesOrder] = a
		p.wait(a)
		return
	}
	p.actions[a.SalesOrder] = a
	if p.items[a.SalesOrder].Status != "todo" {
		p.decided = append(p.decided, a)
	}
}

// wait adds a to what waits for people, once.
func (p *picture) wait(a actionLine) {
	text := a.name() + " (" + a.Role + ")"
	if a.Status == "pending" && !slices.Contains(p.queued, text) {
		p.queued = append(p.queued, text)
	}
}

func (p *picture) fact(tool string, args, result json.RawMessage) {
	k := key(tool, args)
	p.facts[k] = result
	delete(p.failed, k)
	if tool != ListBlocked {
		return
	}
	var l listResult
	if json.Unmarshal(result, &l) != nil {
		return
	}
	p.listed, p.stale = &l, false
	if !p.planned {
		p.total = l.Count
		return
	}
	for _, id := range l.New {
		if p.items[id].Status != "todo" {
			p.total, p.counts["todo"] = p.total+1, p.counts["todo"]+1
			p.item(id, "todo", "")
		}
	}
}

// observe adds one exchange of the segment.
func (p *picture) observe(x tools.Exchange) {
	switch x.Call.Name {
	case PlanUpdate:
		p.observePlan(x)
	case SaveNote:
		var n struct{ Subject, Note string }
		if !x.Refused && json.Unmarshal(x.Call.Args, &n) == nil {
			p.notes = append(p.notes, noteLine{About: n.Subject, Run: thisRun, Text: n.Note})
		}
	case CreateRequest:
		p.observeRequest(x)
	default:
		if x.Refused {
			var e struct{ Error string }
			_ = json.Unmarshal(x.Result, &e)
			p.failed[key(x.Call.Name, x.Call.Args)] = e.Error
			return
		}
		p.fact(x.Call.Name, x.Call.Args, x.Result)
		var with struct{ Notes []noteLine }
		if json.Unmarshal(x.Result, &with) == nil {
			p.notes = append(p.notes, with.Notes...)
		}
	}
}

// thisRun is how results and briefings name the run itself.
const thisRun = "this run"

func (p *picture) observeRequest(x tools.Exchange) {
	var args struct {
		SalesOrder string `json:"sales_order"`
	}
	_ = json.Unmarshal(x.Call.Args, &args)
	if x.Refused {
		var e struct{ Error string }
		_ = json.Unmarshal(x.Result, &e)
		p.failed[CreateRequest+" "+args.SalesOrder] = e.Error
		return
	}
	var q queued
	if json.Unmarshal(x.Result, &q) != nil {
		return
	}
	a := actionLine{Action: q.ActionID, Of: q.Run, SalesOrder: args.SalesOrder, Status: q.Status, Role: q.Role, By: q.By, Request: q.Request}
	p.actions[args.SalesOrder] = a
	p.wait(a)
}

func (p *picture) observePlan(x tools.Exchange) {
	if x.Refused {
		p.settled(x)
		return
	}
	p.planned = true
	var sent struct {
		Items []struct {
			SalesOrder   string `json:"sales_order"`
			Status, Note string
		}
	}
	var got struct {
		Plan    []string
		Counts  map[string]int
		Next    []string `json:"next_todo"`
		Decided []actionLine
	}
	if json.Unmarshal(x.Call.Args, &sent) != nil || json.Unmarshal(x.Result, &got) != nil {
		return
	}
	p.decided = nil
	for _, it := range sent.Items {
		p.item(it.SalesOrder, it.Status, it.Note)
	}
	if got.Counts != nil {
		p.counts, p.open = got.Counts, got.Next
		for _, a := range got.Decided {
			p.action(a)
		}
		return
	}
	p.counts, p.open = map[string]int{}, nil
	for _, line := range got.Plan {
		id, status, _ := strings.Cut(line, " ")
		p.counts[status]++
		p.item(id, status, p.items[id].Note)
	}
	p.total = len(got.Plan)
}

// settledLine is how plan_update says that a request was decided while the run
// went on.
var settledLine = regexp.MustCompile(`the request (A[0-9]+) for sales order ([0-9]+) is ([a-z]+), so nothing waits`)

// settled learns from a refused plan_update that there is nothing to wait for.
func (p *picture) settled(x tools.Exchange) {
	if m := settledLine.FindSubmatch(x.Result); m != nil {
		id := string(m[2])
		p.actions[id] = actionLine{Action: string(m[1]), SalesOrder: id, Status: string(m[3]), Detail: "decided while the run went on"}
	}
}

// key names a question whatever the spelling of its arguments.
func key(tool string, args json.RawMessage) string {
	var m map[string]string
	if json.Unmarshal(args, &m) != nil {
		return tool
	}
	return tool + " " + m["customer"] + "/" + m["sales_order"]
}
