package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// things is a small domain of its own: boxes on a shelf, which are looked into
// and moved. It shows that the engine needs no other.
type things struct {
	t       testing.TB
	store   *runstore.Store
	gate    *approvalgate.Gate
	set     *tools.Set
	now     time.Time
	shelf   []string
	open    func(id string) (tools.Found, error)
	fetched int
}

const thingArgs = `{"type":"object","additionalProperties":false,"required":["thing"],"properties":{"thing":{"type":"string","pattern":"^[a-z0-9]{1,10}$","description":"A thing."}}}`

const planArgs = `{"type":"object","additionalProperties":false,"required":["items"],"properties":{"items":{"type":"array","minItems":1,"maxItems":20,"description":"Entries.","items":{
	"type":"object","additionalProperties":false,"required":["thing","status","note"],"properties":{
	"thing":{"type":"string","pattern":"^[a-z0-9]{1,10}$","description":"A thing."},
	"status":{"type":"string","enum":["todo","done","waiting_for_approval","needs_attention"],"description":"Where it stands."},
	"note":{"type":"string","maxLength":200,"description":"A note."}}}}}}`

const noteArgs = `{"type":"object","additionalProperties":false,"required":["subject","note"],"properties":{
	"subject":{"type":"string","maxLength":40,"description":"About."},"note":{"type":"string","minLength":1,"maxLength":300,"description":"One line."}}}`

func newThings(t testing.TB, o tools.Options) *things {
	t.Helper()
	th := &things{t: t, now: time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC), shelf: []string{"a", "b", "c"}}
	var err error
	if th.store, err = runstore.Open(context.Background(), runstore.Options{InMemory: true, Clock: func() time.Time { return th.now }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = th.store.Close() })
	th.gate = approvalgate.New(approvalgate.Options{Store: th.store})
	o.Store, o.Gate, o.Domain = th.store, th.gate, th.domain()
	th.set = tools.NewSet(o)
	return th
}

func (th *things) domain() *tools.Domain {
	schema := func(name, raw string) *tools.Schema {
		s, err := tools.CompileSchema(name, []byte(raw))
		if err != nil {
			th.t.Fatal(err)
		}
		return s
	}
	shelfArgs := `{"type":"object","additionalProperties":false,"required":[],"properties":{}}`
	return &tools.Domain{
		Name: "things", Words: tools.ItemWords{Field: "thing", Noun: "thing"}, ListTool: "shelf", System: "Move things.",
		Task:      func(scope string) string { return "Work through shelf " + scope + "." },
		Normalize: func(raw string) (string, error) { return strings.TrimLeft(raw, "0"), nil },
		Seen: func(f tools.Facts, item string) (bool, error) {
			_, ok, err := f.Fact("open", item)
			return ok, err
		},
		Questions: func(_ tools.Facts, item string) ([]tools.Question, []runstore.Subject, error) {
			return []tools.Question{{Tool: "open", IDs: []string{item}}}, []runstore.Subject{thing(item)}, nil
		},
		Subject: func(text string) (runstore.Subject, error) {
			id, ok := strings.CutPrefix(text, "thing ")
			if !ok {
				return runstore.Subject{}, tools.Refusef("subject must be 'thing NAME'.")
			}
			return thing(id), nil
		},
		Tools: []*tools.Tool{
			{Name: "shelf", Schema: schema("shelf", shelfArgs), Read: &tools.Read{
				Ask: func(scope string, _ map[string]any) ([]string, error) { return []string{scope}, nil }, Fetch: th.list}},
			{Name: "open", Schema: schema("open", thingArgs), Read: &tools.Read{Ask: askThing, Fetch: th.look}},
			{Name: "plan_update", Schema: schema("plan_update", planArgs), Write: tools.PlanUpdate},
			{Name: "memory_save_note", Schema: schema("memory_save_note", noteArgs), Write: tools.SaveNote(time.Hour)},
			{Name: "move", Schema: schema("move", thingArgs), Write: move},
		},
	}
}

func thing(id string) runstore.Subject {
	return runstore.Subject{Kind: "thing", ID: id, Text: "thing " + id}
}

func askThing(_ string, args map[string]any) ([]string, error) {
	return []string{fmt.Sprint(args["thing"])}, nil
}

func (th *things) list(context.Context, []string) (tools.Found, error) {
	return tools.Found{Result: map[string]int{"count": len(th.shelf)}, Items: th.shelf}, nil
}

func (th *things) look(_ context.Context, ids []string) (tools.Found, error) {
	th.fetched++
	if th.open != nil {
		return th.open(ids[0])
	}
	return tools.Found{Result: map[string]string{"thing": ids[0], "inside": "screws"}}, nil
}

func move(w *tools.Writing) (any, error) {
	id := fmt.Sprint(w.Args["thing"])
	q, err := w.Gate.Queue(w.Tx, w.Run, approvalgate.Proposal{Tool: "move", Target: runstore.Target{Kind: "thing", ID: id}, Arguments: w.Raw, Role: "KEEPER", Rule: "r/1"})
	if err != nil {
		return nil, err
	}
	w.Unchanged = q.Existing
	return map[string]string{"action_id": q.Action.ID}, nil
}

var keeper = tools.Principal{Name: "os:ann"}

func (th *things) start(b runstore.Budget) string {
	th.t.Helper()
	run, err := th.set.Start(context.Background(), keeper, "7", runstore.Source{}, b)
	if err != nil {
		th.t.Fatal(err)
	}
	return run.ID
}

func (th *things) call(run, tool, args string) tools.Result {
	th.t.Helper()
	res, err := th.set.Call(context.Background(), tools.Request{Who: keeper, Run: run, Name: tool, Args: []byte(args)})
	if err != nil {
		th.t.Fatal(err)
	}
	return res
}

func (th *things) run(id string) *runstore.Run {
	th.t.Helper()
	var run *runstore.Run
	th.look2(id, func(_ *runstore.Tx, r *runstore.Run) error { run = r; return nil })
	return run
}

func (th *things) look2(id string, fn func(*runstore.Tx, *runstore.Run) error) {
	th.t.Helper()
	if err := th.store.Look(context.Background(), id, fn); err != nil {
		th.t.Fatal(err)
	}
}

func (th *things) step(id string, fn func(*runstore.Tx, *runstore.Run) error) {
	th.t.Helper()
	if err := th.store.Step(context.Background(), id, fn); err != nil {
		th.t.Fatal(err)
	}
}

func entry(id, status string) string {
	return fmt.Sprintf(`{"items":[{"thing":%q,"status":%q,"note":""}]}`, id, status)
}

// TestLongList stages a list of several commits: all of it goes into the plan
// in its sequence, and a list read again says what is new, gone and back.
func TestLongList(t *testing.T) {
	const n = 3500
	th := newThings(t, tools.Options{MaxAge: time.Minute})
	shelf := make([]string, n)
	for i := range shelf {
		shelf[i] = fmt.Sprint("t", i)
	}
	th.shelf = shelf
	id := th.start(runstore.Budget{})
	if res := th.call(id, "shelf", ""); res.Refused || strings.Contains(string(res.JSON), "new") {
		t.Errorf("first list: %s", res.JSON)
	}
	run := th.run(id)
	if run.Plan.Total != n || run.Plan.Count(runstore.Todo) != n || run.Budget.ModelCalls.Max != 5+5*n {
		t.Errorf("%d planned, %d todo, %d model calls; want %d, %d, %d", run.Plan.Total, run.Plan.Count(runstore.Todo), run.Budget.ModelCalls.Max, n, n, 5+5*n)
	}
	th.call(id, "plan_update", entry("t5", "needs_attention"))
	th.now = th.now.Add(time.Hour)
	th.shelf = append([]string{"new1"}, append(shelf[10:], "new2")...)
	res := th.call(id, "shelf", "")
	if want := `"new":["new1","new2"],"no_longer_listed":["t0","t1","t2","t3","t4","t5","t6","t7","t8","t9"]`; !strings.Contains(string(res.JSON), want) {
		t.Errorf("read again: %s, want %s", res.JSON, want)
	}
	th.now = th.now.Add(time.Hour)
	th.shelf = shelf
	if res := th.call(id, "shelf", ""); !strings.Contains(string(res.JSON), `"new":["t0",`) || !strings.Contains(string(res.JSON), `"no_longer_listed":["new1","new2"]`) {
		t.Errorf("back again: %s", res.JSON)
	}
	th.look2(id, func(tx *runstore.Tx, run *runstore.Run) error {
		it, err := tx.Item(run, "t5")
		if it.Status != runstore.Todo || it.Gone {
			t.Errorf("t5, which is back: %+v, want todo", it)
		}
		wrong, err2 := tx.Consistent(run)
		if len(wrong) > 0 || run.Plan.Total != n+2 {
			t.Errorf("%d planned, %v", run.Plan.Total, wrong)
		}
		return errors.Join(err, err2)
	})
}

func TestCeiling(t *testing.T) {
	th := newThings(t, tools.Options{Ceiling: tools.Ceiling{Items: 10}})
	for i := range 50 {
		th.shelf = append(th.shelf, fmt.Sprint("x", i))
	}
	id := th.start(runstore.Budget{ToolCalls: runstore.Limit{Max: 500, Set: true}})
	th.call(id, "shelf", "")
	if b := th.run(id).Budget; b.ModelCalls.Max != 55 || b.ToolCalls.Max != 500 || b.Chars.Max != 375_000 {
		t.Errorf("budget %+v; want the ceiling of 10 items and the person's 500 tool calls", b)
	}
}

// TestBriefingIsBounded: the size of a briefing does not depend on that of the
// list, nor on how many things wait, are decided or need attention.
func TestBriefingIsBounded(t *testing.T) {
	size := func(n int, status string) int {
		th := newThings(t, tools.Options{})
		th.shelf = nil
		for i := range n {
			th.shelf = append(th.shelf, fmt.Sprintf("t%04d", i))
		}
		id := th.start(runstore.Budget{ToolCalls: runstore.Limit{Max: 1e6, Set: true}})
		th.call(id, "shelf", "")
		for _, thing := range th.shelf {
			th.call(id, "open", fmt.Sprintf(`{"thing":%q}`, thing))
			if status == "waiting_for_approval" {
				th.call(id, "move", fmt.Sprintf(`{"thing":%q}`, thing))
			}
			if res := th.call(id, "plan_update", entry(thing, status)); res.Refused {
				t.Fatalf("%s", res.JSON)
			}
		}
		var text string
		th.look2(id, func(tx *runstore.Tx, run *runstore.Run) (err error) { text, err = th.set.Briefing(tx, run); return err })
		return len(text)
	}
	for _, status := range []string{"todo", "done", "waiting_for_approval", "needs_attention"} {
		few, many := size(12, status), size(300, status)
		if many > few+40 || many > runstore.DefaultCompactAt/2 {
			t.Errorf("%s: %d bytes for 300 things, %d for 12; want about the same", status, many, few)
		}
	}
}

// TestAllOrNothing: a call whose commit fails leaves no trace, not even its
// charge; one that is refused leaves its charge alone.
func TestAllOrNothing(t *testing.T) {
	th := newThings(t, tools.Options{})
	id := th.start(runstore.Budget{})
	th.call(id, "shelf", "")
	before := th.run(id)
	no := errors.New("no")
	_, err := th.set.Call(context.Background(), tools.Request{Who: keeper, Run: id, Name: "move", Args: []byte(`{"thing":"a"}`),
		After: func(*runstore.Tx, *runstore.Run, tools.Result) error { return no }})
	if after := th.run(id); !errors.Is(err, no) || after.Used != before.Used || after.ActionSeq != 0 || after.TraceSeq != before.TraceSeq {
		t.Errorf("%v; used %+v, %d actions, %d trace entries; want all as before", err, after.Used, after.ActionSeq, after.TraceSeq)
	}
	th.call(id, "plan_update", entry("a", "done"))
	if after := th.run(id); after.Used.ToolCalls != before.Used.ToolCalls+1 || after.Plan.Made {
		t.Errorf("refused: %d tool calls, plan made %v; want one more and no plan", after.Used.ToolCalls, after.Plan.Made)
	}
}

// TestReadOutcomes: a fact is read once while it is fresh; a failure is tried
// again; an answer about the question is neither.
func TestReadOutcomes(t *testing.T) {
	th := newThings(t, tools.Options{MaxAge: time.Hour})
	id := th.start(runstore.Budget{})
	retry := []tools.Retry{{Service: "shelf", Attempt: 1, WaitMS: 200, Error: "busy"}}
	tests := []struct {
		name     string
		open     func(string) (tools.Found, error)
		later    time.Duration
		refused  bool
		recorded bool
		text     string
	}{
		{name: "service fails", open: func(string) (tools.Found, error) {
			return tools.Found{}, &tools.FetchError{Text: "It is down.", Retries: retry, Err: errors.New("secret")}
		}, refused: true, text: "It is down."},
		{name: "about the question", open: func(string) (tools.Found, error) {
			return tools.Found{}, &tools.FetchError{Text: "There is no such thing.", Business: true}
		}, refused: true, text: "no such thing"},
		{name: "read", text: "screws"},
		{name: "from the record", recorded: true, text: `"already_read":"at 2026-10-06T08:00:00Z in this run`},
		{name: "still fresh", later: time.Hour, recorded: true, text: "already_read"},
		{name: "old", later: time.Second, text: "screws"},
	}
	fetched := 0
	for _, tt := range tests {
		th.open, th.now = tt.open, th.now.Add(tt.later)
		th.step(id, func(_ *runstore.Tx, r *runstore.Run) error { r.Guard = runstore.Guard{}; return nil })
		res := th.call(id, "open", `{"thing":"a"}`)
		if !tt.recorded {
			fetched++
		}
		if res.Refused != tt.refused || res.Recorded != tt.recorded || !strings.Contains(string(res.JSON), tt.text) || th.fetched != fetched {
			t.Errorf("%s: %s, refused %v, recorded %v, %d fetches; want %q, %v, %v, %d", tt.name, res.JSON, res.Refused, res.Recorded, th.fetched, tt.text, tt.refused, tt.recorded, fetched)
		}
	}
	if used := th.run(id).Used; used.Retries != 1 || used.ToolCalls != len(tests) {
		t.Errorf("used %+v, want 1 retry and %d calls", used, len(tests))
	}
	th.open = func(string) (tools.Found, error) { return tools.Found{}, errors.New("a bug of ours") }
	if _, err := th.set.Call(context.Background(), tools.Request{Who: keeper, Run: id, Name: "open", Args: []byte(`{"thing":"b"}`)}); err == nil {
		t.Error("an unclassified failure was shown to the model")
	}
}

// TestRawFact keeps what the model did not see.
func TestRawFact(t *testing.T) {
	th := newThings(t, tools.Options{})
	id := th.start(runstore.Budget{})
	th.open = func(string) (tools.Found, error) {
		return tools.Found{Result: map[string]string{"in": "x"}, Raw: map[string]string{"in": "x\U000E0041"}}, nil
	}
	if res := th.call(id, "open", `{"thing":"a"}`); !res.Hidden || string(res.JSON) != `{"in":"x"}` {
		t.Errorf("%s, hidden %v; want the clean result, flagged", res.JSON, res.Hidden)
	}
	th.look2(id, func(tx *runstore.Tx, run *runstore.Run) error {
		f, _, err := tx.Fact(run, "open", "a")
		if string(f.Raw) != "{\"in\":\"x\U000E0041\"}" {
			t.Errorf("raw: %s", f.Raw)
		}
		return err
	})
}

// TestHolder: a worker whose lease was taken over cannot go on, not even with
// a read that is under way.
func TestHolder(t *testing.T) {
	th := newThings(t, tools.Options{})
	id := th.start(runstore.Budget{})
	take := func(holder string) {
		th.step(id, func(tx *runstore.Tx, r *runstore.Run) error {
			return r.Acquire(holder, "w", tx.Now(), func(string) bool { return false })
		})
	}
	call := func(tool, args string) error {
		_, err := th.set.Call(context.Background(), tools.Request{Who: keeper, Run: id, Name: tool, Args: []byte(args), Holder: "one"})
		return err
	}
	take("one")
	if err := call("shelf", ""); err != nil {
		t.Fatal(err)
	}
	th.open = func(string) (tools.Found, error) {
		take("two")
		return tools.Found{Result: map[string]string{}}, nil
	}
	if err := call("open", `{"thing":"a"}`); !errors.Is(err, runstore.ErrLeaseLost) {
		t.Errorf("a read during which the lease was lost: %v, want ErrLeaseLost", err)
	}
	for tool, args := range map[string]string{"shelf": "", "plan_update": entry("a", "todo"), "nothing": ""} {
		if err := call(tool, args); !errors.Is(err, runstore.ErrLeaseLost) {
			t.Errorf("%s without the lease: %v, want ErrLeaseLost", tool, err)
		}
	}
}

// TestFinish: the status follows from the plan, whatever the answer says.
func TestFinish(t *testing.T) {
	tests := []struct {
		name   string
		calls  [][2]string
		status runstore.Status
		code   string
	}{
		{"nothing read", nil, runstore.Stopped, runstore.StopNoPlan},
		{"no plan", [][2]string{{"shelf", ""}}, runstore.Stopped, runstore.StopNoPlan},
		{"some todo", [][2]string{{"shelf", ""}, {"plan_update", entry("a", "needs_attention")}}, runstore.Stopped, runstore.StopOpenItems},
		{"all need attention", [][2]string{{"shelf", ""}, {"plan_update", entry("a", "needs_attention")}, {"plan_update", entry("b", "needs_attention")},
			{"plan_update", entry("c", "needs_attention")}}, runstore.Done, ""},
		{"one waits", [][2]string{{"shelf", ""}, {"move", `{"thing":"a"}`}, {"plan_update", entry("a", "waiting_for_approval")},
			{"plan_update", entry("b", "needs_attention")}, {"plan_update", entry("c", "needs_attention")}}, runstore.Waiting, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			th := newThings(t, tools.Options{})
			id := th.start(runstore.Budget{})
			for _, c := range tt.calls {
				if res := th.call(id, c[0], c[1]); res.Refused {
					t.Fatalf("%s: %s", c[0], res.JSON)
				}
			}
			th.step(id, func(tx *runstore.Tx, run *runstore.Run) error { return th.set.Finish(tx, run, "All done!") })
			run := th.run(id)
			code := ""
			if run.Stop != nil {
				code = run.Stop.Code
			}
			if run.Status != tt.status || code != tt.code || run.Answer != "All done!" {
				t.Errorf("%s %q, want %s %q", run.Status, code, tt.status, tt.code)
			}
			if res := th.call(id, "shelf", ""); !res.Refused || run.Used != th.run(id).Used {
				t.Errorf("a call after the end: %s; want it refused and not charged", res.JSON)
			}
		})
	}
}

// TestReopen takes all up again, a bounded number at a time, and forgets what
// was read of them.
func TestReopen(t *testing.T) {
	const n = 1203
	th := newThings(t, tools.Options{})
	th.shelf = nil
	for i := range n {
		th.shelf = append(th.shelf, fmt.Sprint("t", i))
	}
	id := th.start(runstore.Budget{ToolCalls: runstore.Limit{Max: 1e6, Set: true}})
	th.call(id, "shelf", "")
	th.call(id, "open", `{"thing":"t0"}`)
	for _, thing := range th.shelf[:n-1] {
		th.call(id, "plan_update", entry(thing, "needs_attention"))
	}
	more := true
	for rounds := 0; more; rounds++ {
		th.step(id, func(tx *runstore.Tx, run *runstore.Run) (err error) { more, err = th.set.Reopen(tx, run); return err })
		if rounds > 5 {
			t.Fatal("it does not end")
		}
	}
	th.look2(id, func(tx *runstore.Tx, run *runstore.Run) error {
		_, known, err := tx.Fact(run, "open", "t0")
		if run.Plan.Count(runstore.Todo) != n || known {
			t.Errorf("%d todo, fact still known %v; want %d and no", run.Plan.Count(runstore.Todo), known, n)
		}
		wrong, err2 := tx.Consistent(run)
		if len(wrong) > 0 {
			t.Error(wrong)
		}
		return errors.Join(err, err2)
	})
}

func TestNotesOfPeopleAndModels(t *testing.T) {
	th := newThings(t, tools.Options{})
	id := th.start(runstore.Budget{})
	save := func(args string) string { return string(th.call(id, "memory_save_note", args).JSON) }
	if got := save(`{"subject":"thing a","note":"Heavy."}`); got != `{"note_id":"N1","saved":true,"subject":"thing a"}` {
		t.Errorf("saved: %s", got)
	}
	if got := save(`{"subject":"thing a","note":"Heavy."}`); !strings.Contains(got, "already exists") {
		t.Errorf("saved twice: %s", got)
	}
	change := func(c tools.NoteChange) error {
		return th.store.Update(context.Background(), func(tx *runstore.Tx) error {
			_, err := tools.ChangeNote(tx, "N1", c)
			return err
		})
	}
	for _, bad := range []string{"", "two\nlines", strings.Repeat("x", 301)} {
		if _, ok := tools.AsRefusal(change(tools.NoteChange{State: runstore.NoteCorrected, Text: bad, By: "os:ann"})); !ok {
			t.Errorf("corrected to %.10q: not refused", bad)
		}
	}
	if err := change(tools.NoteChange{State: runstore.NoteCorrected, Text: "Light.", By: "os:ann"}); err != nil {
		t.Fatal(err)
	}
	var n runstore.Note
	var audited []string
	th.look2(id, func(tx *runstore.Tx, _ *runstore.Run) (err error) {
		if n, err = tx.Note("N1"); err != nil {
			return err
		}
		return tx.AuditEntries(0, func(e runstore.AuditEntry) bool { audited = append(audited, e.What+" by "+e.By); return true })
	})
	if n.Text != "Light." || n.Changed == nil || n.Changed.Before != "Heavy." || n.Changed.By != "os:ann" || n.Author != keeper.Name {
		t.Errorf("corrected: %+v", n)
	}
	if got := strings.Join(audited, ", "); !strings.HasSuffix(got, "note_corrected by os:ann") {
		t.Errorf("audit: %s", got)
	}
	if err := change(tools.NoteChange{State: runstore.NoteDeleted, By: "os:ann"}); err != nil {
		t.Fatal(err)
	}
	if err := change(tools.NoteChange{State: runstore.NoteCorrected, Text: "Back.", By: "os:ann"}); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("a deleted note was corrected: %v", err)
	}
	if got := save(`{"subject":"thing a","note":"Light."}`); !strings.Contains(got, `"N2"`) {
		t.Errorf("after a deletion the same text is a new note: %s", got)
	}
}

// TestOneLine: nothing in a JSON value ends its line or closes a fence, and the
// value stays the same.
func TestOneLine(t *testing.T) {
	for _, s := range []string{"plain", "a\u2028b", "x\u202ey", "</facts>", "\U000E0041", "\u0085", "ä Øst 漢字", "\x7f"} {
		raw, err := json.Marshal(map[string]string{"v": s})
		if err != nil {
			t.Fatal(err)
		}
		line := tools.OneLine(raw)
		var back map[string]string
		if err := json.Unmarshal([]byte(line), &back); err != nil || back["v"] != s {
			t.Errorf("OneLine(%s) = %s: %v, %q", raw, line, err, back["v"])
		}
		if strings.ContainsAny(line, "\n\r\u2028\u2029\u0085\u202e\x7f<>") {
			t.Errorf("OneLine(%s) = %q", raw, line)
		}
	}
}
