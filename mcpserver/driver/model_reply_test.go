package driver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"orderdesk/mcpserver/driver"
	"orderdesk/mcpserver/driver/drivertest"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/creditrelease/sampledata"
)

func TestMOD01_ToolNameWithNamespace(t *testing.T) {
	for _, name := range []string{"mcp__worklist__plan_update", "functions.plan_update", "worklist.plan_update", "plan-update",
		"Plan_Update", "credit_release_request", "functions.credit_release_request_create"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, deskOptions{})
			id := d.begin(runstore.Budget{})
			d.must(id, list, summary, exposure)
			d.refused(id, name, string(request.Args), append([]string{"There is no tool", "Use one of"}, d.set.Names()...)...)
			if run := d.run(id); run.ActionSeq != 0 || run.Plan.Made || run.Used.ToolCalls != 4 {
				t.Errorf("run: %d actions, plan made %v, %d tool calls; want none, none, 4", run.ActionSeq, run.Plan.Made, run.Used.ToolCalls)
			}
		})
	}
}

func TestMOD02_OneBadCallAmongParallel(t *testing.T) {
	d := newDesk(t, deskOptions{})
	p := d.play(runstore.Budget{}, drivertest.AskAll(summary, drivertest.Call("summary_of", `{}`),
		drivertest.Call("customer_get_address_gaps", `{"customer":"100`)), drivertest.Say("That is all."))
	history := p.model.Last().History
	var ids []string
	for _, x := range history {
		ids = append(ids, fmt.Sprint(x.Call.ID, " ", x.Refused))
		if !json.Valid(x.Call.Args) {
			t.Errorf("call %s is shown again with broken arguments %s", x.Call.ID, x.Call.Args)
		}
	}
	if want := []string{"c1 false", "c2 true", "c3 true"}; !slices.Equal(ids, want) {
		t.Errorf("results: %v, want %v", ids, want)
	}
	if !strings.Contains(string(history[0].Result), `"customer":"10023"`) {
		t.Errorf("c1: %s, want the summary", history[0].Result)
	}
	if p.run.Used.ToolCalls != 3 || p.run.Used.ModelCalls != 2 {
		t.Errorf("counted %d tool and %d model calls, want 3 and 2", p.run.Used.ToolCalls, p.run.Used.ModelCalls)
	}
	if got := d.toolCalls(p.run.ID); len(got) != 3 {
		t.Errorf("traced: %v, want all three", got)
	}
}

func TestMOD04_CutArguments(t *testing.T) {
	d := newDesk(t, deskOptions{})
	cut := drivertest.Send(driver.Reply{Cut: true, Calls: []tools.Call{drivertest.Call("credit_release_request_create", `{"sales_order":"4711","justi`)}})
	p := d.play(runstore.Budget{}, turn(list), cut, drivertest.Say("done"))
	last := p.model.Last().History
	x := last[len(last)-1]
	if !x.Refused || !strings.Contains(string(x.Result), "cut off") || !strings.Contains(string(x.Result), "less") {
		t.Errorf("after a cut reply the model reads %s", x.Result)
	}
	if p.run.Used.ToolCalls != 1 || p.run.Used.ModelCalls != 3 || p.run.Used.Retries != 1 {
		t.Errorf("used %+v, want 1 tool call, 3 model calls, 1 retry", p.run.Used)
	}
	again := d.play(runstore.Budget{}, append([]drivertest.Turn{turn(list)}, drivertest.Times(9, cut)...)...)
	if again.run.Stop == nil || again.run.Stop.Code != runstore.StopErrors || again.model.Calls() != 4 {
		t.Errorf("always cut: stop %+v after %d calls, want %s after 4", again.run.Stop, again.model.Calls(), runstore.StopErrors)
	}
}

func TestMOD05_CutReportedAsComplete(t *testing.T) {
	d := newDesk(t, deskOptions{})
	p := d.play(runstore.Budget{}, turn(list), drivertest.Ask("plan_update", `{"items":[{"sales_order":"4711","note":"Cre`), drivertest.Say("done"))
	last := p.model.Last().History
	if x := last[len(last)-1]; !x.Refused || string(x.Call.Args) != "{}" {
		t.Errorf("broken call: refused %v, shown again as %s; want true and {}", x.Refused, x.Call.Args)
	}
	if p.run.Plan.Made {
		t.Error("a plan was made of broken arguments")
	}
	for _, e := range d.trace(p.run.ID) {
		if e.Kind == runstore.TraceToolCall && strings.Contains(string(e.Data), "plan_update") && !strings.Contains(string(e.Data), "Cre") {
			t.Errorf("trace does not show what came: %s", e.Data)
		}
	}
}

func TestMOD06_CutButValidJSON(t *testing.T) {
	d := newDesk(t, deskOptions{source: "testdata/worlds/world_40.json"})
	short := drivertest.Call("plan_update", `{"items":[{"sales_order":"100002","status":"needs_attention","note":"x"}]}`)
	p := d.play(runstore.Budget{}, turn(list), drivertest.Send(driver.Reply{Cut: true, Calls: []tools.Call{short}}), turn(short), drivertest.Say("All done."))
	if p.run.Stop == nil || p.run.Stop.Code != runstore.StopOpenItems || !strings.Contains(p.run.Stop.Message, "and 34 more still todo") {
		t.Errorf("stop: %+v, want the 39 orders the model left out", p.run.Stop)
	}
	if got := d.toolCalls(p.run.ID); len(got) != 2 {
		t.Errorf("tool calls: %v, want the list and one plan_update", got)
	}
}

func TestMOD07_EmptyReply(t *testing.T) {
	d := newDesk(t, deskOptions{})
	empty := drivertest.Send(driver.Reply{Text: " \n"})
	p := d.play(runstore.Budget{}, turn(list), empty, empty, empty)
	if p.run.Stop == nil || p.run.Stop.Code != runstore.StopEmptyReply {
		t.Errorf("stop: %+v, want %s", p.run.Stop, runstore.StopEmptyReply)
	}
	if p.run.Used.ModelCalls != 3 || p.model.Calls() != 3 {
		t.Errorf("%d calls made, %d charged; want 3 and 3", p.model.Calls(), p.run.Used.ModelCalls)
	}
	once := d.play(runstore.Budget{}, empty, turn(list), empty, drivertest.Say("end"))
	if once.run.Stop == nil || once.run.Stop.Code != runstore.StopNoPlan {
		t.Errorf("one empty reply at a time: stop %+v, want %s", once.run.Stop, runstore.StopNoPlan)
	}
}

func TestMOD08_CallWithEmptyText(t *testing.T) {
	d := newDesk(t, deskOptions{})
	p := d.play(runstore.Budget{}, drivertest.Send(driver.Reply{Text: "", Calls: []tools.Call{list}}), drivertest.Say("x"))
	if got := d.toolCalls(p.run.ID); len(got) != 1 || p.run.Used.Retries != 0 {
		t.Errorf("calls %v, %d retries; want one call and none", got, p.run.Used.Retries)
	}
}

func TestMOD09_TextBesideCall(t *testing.T) {
	d := newDesk(t, deskOptions{})
	p := d.play(runstore.Budget{}, turn(list),
		drivertest.Send(driver.Reply{Text: "All orders handled.", Calls: []tools.Call{planned("4711", "needs_attention", "Look.")}}),
		drivertest.Say("Really the end."))
	if got := d.statuses(p.run)["4711"]; got != runstore.NeedsAttention {
		t.Errorf("4711: %s, want needs_attention: the call beside the text runs", got)
	}
	if p.run.Answer != "Really the end." || p.model.Calls() != 3 {
		t.Errorf("answer %q after %d calls; the text beside the call must not finish the run", p.run.Answer, p.model.Calls())
	}
}

func TestMOD10_Refusal(t *testing.T) {
	d := newDesk(t, deskOptions{})
	p := d.play(runstore.Budget{}, turn(list), turn(allTodo), drivertest.Send(driver.Reply{Refusal: "content_filter\x1b[2K"}), turn(summary))
	stop := p.run.Stop
	if stop == nil || stop.Code != runstore.StopRefused || !strings.Contains(stop.Message, `content_filter\x1b[2K`) {
		t.Errorf("stop: %+v, want %s with the category, visible", stop, runstore.StopRefused)
	}
	if p.model.Calls() != 3 || p.run.Status != runstore.Stopped || p.run.Plan.Count(runstore.Todo) != 4 || p.run.ActionSeq != 0 {
		t.Errorf("%d calls, %s, %d todo, %d actions; want 3, stopped, 4, 0", p.model.Calls(), p.run.Status, p.run.Plan.Count(runstore.Todo), p.run.ActionSeq)
	}
}

func TestMOD12_AlternatingCalls(t *testing.T) {
	reworded := func(i int) tools.Call {
		return drivertest.Call("credit_release_request_create",
			fmt.Sprintf(`{"sales_order":"4711","justification":"Over the limit, wording number %d."}`, i))
	}
	d := newDesk(t, deskOptions{})
	turns := []drivertest.Turn{turn(list), turn(allTodo), turn(summary), turn(exposure)}
	for i := range 20 {
		turns = append(turns, turn(reworded(i)), turn(exposure))
	}
	p := d.play(runstore.Budget{}, turns...)
	if p.run.Stop == nil || p.run.Stop.Code != runstore.StopNoProgress {
		t.Errorf("stop: %+v, want %s", p.run.Stop, runstore.StopNoProgress)
	}
	if p.run.ActionSeq != 1 || p.model.Calls() != 5+runstore.MaxNoProgress {
		t.Errorf("%d actions after %d calls, want 1 after %d", p.run.ActionSeq, p.model.Calls(), 5+runstore.MaxNoProgress)
	}
}

func TestMOD14_SaysDoneWhileTodo(t *testing.T) {
	d := newDesk(t, deskOptions{})
	two := drivertest.Call("plan_update", `{"items":[{"sales_order":"4711","status":"needs_attention","note":"a"},{"sales_order":"4725","status":"needs_attention","note":"b"}]}`)
	p := d.play(runstore.Budget{}, turn(list), turn(two), drivertest.Say("All four orders are done."))
	if p.run.Status != runstore.Stopped || p.run.Stop.Code != runstore.StopOpenItems ||
		!strings.Contains(p.run.Stop.Message, "4723, 4740 still todo") {
		t.Errorf("%s: %+v, want stopped, naming 4723 and 4740", p.run.Status, p.run.Stop)
	}
	run, out := d.resume(p.run.ID, driver.Changes{})
	if out != driver.Driven || run.Status != runstore.Waiting {
		t.Errorf("resume: %v, %s (%+v), want driven and waiting", out, run.Status, run.Stop)
	}
}

func TestMOD15_ClosingAnOrderThatWaits(t *testing.T) {
	d := newDesk(t, deskOptions{})
	id := d.begin(runstore.Budget{})
	d.must(id, list, allTodo, summary, exposure, request)
	for _, status := range []string{"done", "needs_attention", "todo"} {
		d.refused(id, "plan_update", string(planned("4711", status, "closed").Args), "A1", "waiting_for_approval")
	}
	if got := d.statuses(d.run(id))["4711"]; got != runstore.Todo {
		t.Errorf("4711: %s, want todo", got)
	}
	p := newDesk(t, deskOptions{}).play(runstore.Budget{}, turn(list), drivertest.Ask("plan_update",
		`{"items":[{"sales_order":"4711","status":"needs_attention","note":""},{"sales_order":"4723","status":"needs_attention","note":""},
		{"sales_order":"4725","status":"needs_attention","note":""},{"sales_order":"4740","status":"needs_attention","note":""}]}`), drivertest.Say("Done."))
	if p.run.Status != runstore.Done || p.run.Plan.Count(runstore.NeedsAttention) != 4 {
		t.Errorf("%s with %d in need of attention; want done with 4 of 4", p.run.Status, p.run.Plan.Count(runstore.NeedsAttention))
	}
	if c := p.backend.Counts(); c.Orders != 0 {
		t.Errorf("%d orders read, want none: that shows what such a plan is worth", c.Orders)
	}
}

func TestMOD17_LongList(t *testing.T) {
	const n = 900
	d := newDesk(t, deskOptions{source: generate(t, n)})
	id := d.begin(runstore.Budget{})
	res := d.call(id, list.Name, string(list.Args))
	var got struct {
		Count     int
		Orders    []struct{ SalesOrder string }
		Truncated string
	}
	if err := json.Unmarshal(res.JSON, &got); err != nil {
		t.Fatal(err)
	}
	if got.Count != n || len(got.Orders) != 20 || !strings.HasPrefix(got.Truncated, "20 of 900 shown") {
		t.Errorf("count %d, %d shown, %q; want 900, 20 and \"20 of 900 shown\"", got.Count, len(got.Orders), got.Truncated)
	}
	if len(res.JSON) > 4000 {
		t.Errorf("the page has %d bytes, want at most 4,000", len(res.JSON))
	}
	run := d.run(id)
	if items := d.plan(run); len(items) != n || run.Plan.Count(runstore.Todo) != n {
		t.Errorf("plan: %d items, %d todo; want %d of both", len(items), run.Plan.Count(runstore.Todo), n)
	}
	next := d.call(id, "plan_update", string(planned(d.plan(run)[0].ID, "needs_attention", "x").Args))
	if !strings.Contains(string(next.JSON), `"next_todo":["`+d.plan(run)[1].ID) {
		t.Errorf("plan_update: %s, want the next orders in it", next.JSON)
	}
}

// TestModelErrors plays the classes of failure a model can have.
func TestModelErrors(t *testing.T) {
	busy := drivertest.Fail(transient("the model is busy"))
	tests := []struct {
		name    string
		turns   []drivertest.Turn
		code    string
		calls   int // made
		charged int
		retries int
	}{
		{"transient twice, then well", []drivertest.Turn{busy, busy, turn(list), drivertest.Say("x")}, runstore.StopNoPlan, 4, 2, 2},
		{"transient for good", drivertest.Times(9, busy), runstore.StopModelError, 3, 1, 2},
		{"permanent", []drivertest.Turn{turn(list), drivertest.Fail(drivertest.ErrPlayed)}, runstore.StopModelError, 2, 2, 0},
		{"unknown", []drivertest.Turn{drivertest.Fail(fmt.Errorf("secret-host:443 refused"))}, runstore.StopModelError, 1, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newDesk(t, deskOptions{}).play(runstore.Budget{}, tt.turns...)
			u := p.run.Used
			if p.run.Stop == nil || p.run.Stop.Code != tt.code || p.model.Calls() != tt.calls || u.ModelCalls != tt.charged || u.Retries != tt.retries {
				t.Errorf("stop %+v after %d calls, %d charged, %d retries; want %s, %d, %d, %d", p.run.Stop, p.model.Calls(), u.ModelCalls, u.Retries, tt.code, tt.calls, tt.charged, tt.retries)
			}
			if strings.Contains(p.run.Stop.Message, "secret") {
				t.Errorf("the stop reason shows an internal text: %s", p.run.Stop.Message)
			}
		})
	}
}

// TestInterrupted ends a run while the model is thinking: the run is stopped
// at a saved step, the call that was made stays charged, and a resume goes on.
func TestInterrupted(t *testing.T) {
	d := newDesk(t, deskOptions{mode: sampledata.Steady})
	ctx, cancel := context.WithCancel(context.Background())
	m := drivertest.New(turn(list), drivertest.Hang(cancel))
	run, err := d.driver(m, driver.Options{}).Start(ctx, d.begin(runstore.Budget{}))
	if err != nil {
		t.Fatal(err)
	}
	if run.Status != runstore.Stopped || run.Stop.Code != runstore.StopInterrupted || run.Used.ModelCalls != 2 || m.Calls() != 2 {
		t.Errorf("%s %+v, %d calls made, %d charged; want stopped, %s, 2, 2", run.Status, run.Stop, m.Calls(), run.Used.ModelCalls, runstore.StopInterrupted)
	}
	if run.Lease.Holder != "" {
		t.Error("the lease was not given back")
	}
	if run, _ = d.resume(run.ID, driver.Changes{}); run.Status != runstore.Waiting {
		t.Errorf("resumed: %s %+v, want waiting", run.Status, run.Stop)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	quiet := drivertest.New()
	run, err = d.driver(quiet, driver.Options{}).Start(ended, d.begin(runstore.Budget{}))
	if err == nil && run.Stop == nil {
		t.Errorf("a context that had ended: %s, want an error or a stop", run.Status)
	}
	if quiet.Calls() != 0 {
		t.Errorf("%d model calls after the end of the context, want none", quiet.Calls())
	}
}
