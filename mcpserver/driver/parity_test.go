package driver_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/creditrelease/sampledata"
)

//go:embed testdata/lab.json
var labJSON []byte

// labCommand is one command of the reference lab and what it left behind.
type labCommand struct {
	Scenario string   `json:"scenario"`
	Argv     []string `json:"argv"`
	Status   string   `json:"status"`
	Stop     string   `json:"stop"`
	Used     struct {
		ModelCalls int `json:"model_calls"`
		ToolCalls  int `json:"tool_calls"`
		Retries    int `json:"retries"`
		Segments   int `json:"segments"`
		Chars      int `json:"chars_sent"`
	} `json:"used"`
	Plan    [][3]string `json:"plan"`
	Actions [][5]string `json:"actions"`
	Calls   [][3]any    `json:"calls"`
}

func labCommands(t *testing.T) map[string]labCommand {
	t.Helper()
	var list []labCommand
	if err := json.Unmarshal(labJSON, &list); err != nil {
		t.Fatal(err)
	}
	byName := map[string]labCommand{}
	for _, c := range list {
		byName[c.Scenario+"/"+strings.Join(c.Argv, " ")] = c
	}
	return byName
}

// difference is where we differ from the lab on purpose, and why.
type difference struct{ what, why string }

// The differences that hold in every scenario. Segments are fewer because
// briefing and results are shorter than the lab's, so the context fills later.
var everywhere = []difference{
	{"segments", "briefing and results are shorter, so a context is full later"},
	{"chars_sent", "at or below the lab's"},
	{"a resume with nothing to do exits 0", "the exit code tells the run's state: done or waiting; nothing was refused"},
	{"a stopped run exits 3", "scripts must see it"},
}

var dates = regexp.MustCompile(`\d{4}-\d\d-\d\d|<DATE>`)

// checkRun compares a run with what the lab's command left.
func checkRun(t *testing.T, d *desk, run *runstore.Run, want labCommand, differs ...string) {
	t.Helper()
	skip := map[string]bool{}
	for _, s := range differs {
		skip[s] = true
	}
	equal := func(what string, got, want any) {
		if !skip[what] && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	equal("status", run.Status, want.Status)
	equal("model_calls", run.Used.ModelCalls, want.Used.ModelCalls)
	equal("tool_calls", run.Used.ToolCalls, want.Used.ToolCalls)
	equal("retries", run.Used.Retries, want.Used.Retries)
	if run.Used.Chars > want.Used.Chars && !skip["chars_sent"] {
		t.Errorf("chars: %d sent, the lab sent %d", run.Used.Chars, want.Used.Chars)
	}
	if run.Used.Segments > want.Used.Segments {
		t.Errorf("segments: %d, the lab had %d", run.Used.Segments, want.Used.Segments)
	}
	var plan [][3]string
	for _, it := range d.plan(run) {
		plan = append(plan, [3]string{it.ID, string(it.Status), dates.ReplaceAllString(it.Note, "<DATE>")})
	}
	for i := range want.Plan {
		want.Plan[i][2] = dates.ReplaceAllString(want.Plan[i][2], "<DATE>")
	}
	equal("plan", plan, want.Plan)
	var actions [][5]string
	for n := 1; n <= run.ActionSeq; n++ {
		a := d.action(run.ID, fmt.Sprintf("A%d", n))
		ref := ""
		if a.Outcome != nil {
			ref = a.Outcome.Reference
		}
		actions = append(actions, [5]string{a.ID, a.Target.ID, a.Role, string(a.Status), ref})
	}
	equal("actions", actions, want.Actions)
}

// checkCalls compares the calls of a run, from number after on, with the
// lab's: the same tools with the same arguments in the same sequence.
func checkCalls(t *testing.T, d *desk, run *runstore.Run, after int, want labCommand) {
	t.Helper()
	var got []string
	for _, e := range d.trace(run.ID) {
		if e.Kind != runstore.TraceToolCall {
			continue
		}
		var c struct {
			Tool string
			Args map[string]any
		}
		if err := json.Unmarshal(e.Data, &c); err != nil {
			t.Fatal(err)
		}
		got = append(got, callText(c.Tool, c.Args))
	}
	var lab []string
	for _, c := range want.Calls {
		lab = append(lab, callText(c[1].(string), c[2].(map[string]any)))
	}
	if got = got[min(after, len(got)):]; !slices.Equal(got, lab) {
		t.Errorf("calls:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(lab, "\n     "))
	}
}

func callText(tool string, args map[string]any) string {
	raw, _ := json.Marshal(args)
	text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(raw))
	return tool + " " + dates.ReplaceAllString(text, "<DATE>")
}

// knownGap saves the note an earlier run of the lab left behind.
func (d *desk) knownGap() {
	d.t.Helper()
	err := d.store.Update(context.Background(), func(tx *runstore.Tx) error {
		_, err := tx.AddNote(runstore.Note{
			Subject: runstore.Subject{Kind: "customer", ID: "10051", Text: "customer 10051"},
			Text:    "Address incomplete (missing: postal_code); master data team asked to complete it.",
			Author:  "os:clerk", Run: "20260101-000000-00000000", Expires: tx.Now().Add(tools.DefaultNoteAge)})
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func limit(n int) runstore.Limit { return runstore.Limit{Max: n, Set: true} }

var sample = runstore.Source{Data: "sample", Model: "sample", Simulate: "none"}

// TestParityWithLab runs the lab's scenarios and compares what the lab really
// did, each on a store of its own so that no request of an earlier run is live
// (see TestSecondRunLinks for that difference).
func TestParityWithLab(t *testing.T) {
	lab := labCommands(t)
	for _, e := range everywhere {
		t.Logf("differs on purpose: %s (%s)", e.what, e.why)
	}
	tests := []struct {
		command string
		budget  runstore.Budget
		mode    sampledata.Mode
		noted   bool
		crash   int
	}{
		{command: "step3/run --sample"},
		{command: "step6_second_run/run --sample", noted: true},
		{command: "step6_memory_deleted/run --sample"},
		{command: "step7_flaky/run --sample --flaky", mode: sampledata.Flaky, noted: true},
		{command: "step7_outage/run --sample --outage", mode: sampledata.Outage, noted: true},
		{command: "step8_crash/run --sample --crash-after 6", noted: true, crash: 6},
		{command: "step9_budget/run --sample --max-model-calls 5", noted: true, budget: runstore.Budget{ModelCalls: limit(5)}},
		{command: "step9_no_compaction/run --sample --compact-at 100000", budget: runstore.Budget{CompactAt: limit(100000)}},
		{command: "exercise_outage_1s/run --sample --outage --max-seconds 1", mode: sampledata.Outage, noted: true, budget: runstore.Budget{Seconds: limit(1)}},
		{command: "exercise_1s/run --sample --max-seconds 1", noted: true, budget: runstore.Budget{Seconds: limit(1)}},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			want, ok := lab[tt.command]
			if !ok {
				t.Fatalf("the lab has no %q: %v", tt.command, slices.Collect(maps.Keys(lab)))
			}
			d := newDesk(t, deskOptions{mode: tt.mode})
			if tt.noted {
				d.knownGap()
			}
			run := d.start(tt.budget, sample, tt.crash)
			checkRun(t, d, run, want)
			checkCalls(t, d, run, 0, want)
			if want.Stop != "" && run.Stop == nil {
				t.Errorf("stop: none, the lab stopped for %q", want.Stop)
			}
		})
	}
}

// TestParityResume follows one run of the lab through its decisions.
func TestParityResume(t *testing.T) {
	lab := labCommands(t)
	d := newDesk(t, deskOptions{})
	run := d.start(runstore.Budget{}, sample, 0)

	again, out := d.resume(run.ID, driver.Changes{})
	if out != driver.StillWaiting {
		t.Errorf("early resume: outcome %v, want still waiting", out)
	}
	checkRun(t, d, again, lab["step5_early_resume/resume --sample"])

	maria, jon := d.person("Maria Weber", "CREDIT_MANAGER"), d.person("Jon Berg", "HEAD_OF_FINANCE")
	var role *approvalgate.RoleError
	if err := d.decide(jon, run.ID, "A1", true, ""); !errors.As(err, &role) {
		t.Errorf("wrong role: %v, want a RoleError", err)
	}
	checkRun(t, d, d.run(run.ID), lab["step5_wrong_role/approve --action A1 --role HEAD_OF_FINANCE --by Maria Weber"])
	if err := d.decide(maria, run.ID, "A1", true, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.decide(jon, run.ID, "A2", false, "Wait for the customer's payment"); err != nil {
		t.Fatal(err)
	}
	var decided *approvalgate.DecidedError
	if err := d.decide(maria, run.ID, "A1", true, ""); !errors.As(err, &decided) {
		t.Errorf("decided twice: %v, want a DecidedError", err)
	}
	want := lab["step5_resume/resume --sample"]
	done, out := d.resume(run.ID, driver.Changes{})
	if out != driver.Driven {
		t.Errorf("resume: outcome %v, want driven", out)
	}
	checkRun(t, d, done, want)
	checkCalls(t, d, done, 16, want)
	if n := len(d.register.All()); n != 1 {
		t.Errorf("requests: %d, want 1", n)
	}
	last, out := d.resume(run.ID, driver.Changes{})
	if out != driver.AlreadyDone {
		t.Errorf("resume again: outcome %v, want already done", out)
	}
	checkRun(t, d, last, lab["step5_resume_again/resume --sample"])
}

// TestParityCrashResume kills the worker after the sixth model call.
func TestParityCrashResume(t *testing.T) {
	d := newDesk(t, deskOptions{})
	d.knownGap()
	run := d.start(runstore.Budget{}, sample, 6)
	d.died(run.ID)
	want := labCommands(t)["step8_crash/resume --sample"]
	run, _ = d.resume(run.ID, driver.Changes{})
	checkRun(t, d, run, want)
	checkCalls(t, d, run, 6, want)
}

// TestParityBudgetResume stops at five model calls; only a person's raise
// lets the run go on.
func TestParityBudgetResume(t *testing.T) {
	lab := labCommands(t)
	d := newDesk(t, deskOptions{})
	d.knownGap()
	run := d.start(runstore.Budget{ModelCalls: limit(5)}, sample, 0)
	if run.Stop == nil || run.Stop.Code != runstore.StopModelCalls {
		t.Fatalf("stop: %+v, want %s", run.Stop, runstore.StopModelCalls)
	}
	run, out := d.resume(run.ID, driver.Changes{})
	if out != driver.StillExhausted {
		t.Errorf("resume: outcome %v, want still exhausted", out)
	}
	checkRun(t, d, run, lab["step9_budget/resume --sample"])
	raised := 25
	run, _ = d.resume(run.ID, driver.Changes{ModelCalls: &raised})
	want := lab["step9_budget/resume --sample --max-model-calls 25"]
	checkRun(t, d, run, want)
	checkCalls(t, d, run, 5, want)
}

// TestSecondRunLinks shows the one difference that several runs on one store
// make: a request is live for every run that asks, so none is made twice.
func TestSecondRunLinks(t *testing.T) {
	d := newDesk(t, deskOptions{})
	first := d.start(runstore.Budget{}, sample, 0)
	second := d.start(runstore.Budget{}, sample, 0)
	if second.ActionSeq != 0 || second.Status != runstore.Waiting {
		t.Errorf("second run: %d own actions, status %s; want 0 and waiting on the first run's", second.ActionSeq, second.Status)
	}
	if err := d.decide(d.person("Maria Weber", "CREDIT_MANAGER"), first.ID, "A1", true, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.decide(d.person("Jon Berg", "HEAD_OF_FINANCE"), first.ID, "A2", false, "no"); err != nil {
		t.Fatal(err)
	}
	d.resume(first.ID, driver.Changes{})
	second, _ = d.resume(second.ID, driver.Changes{})
	if second.Status != runstore.Done {
		t.Errorf("second run: %s, want done once the first run's requests are decided", second.Status)
	}
	third := d.start(runstore.Budget{}, sample, 0)
	for _, it := range d.plan(third) {
		want := map[string]runstore.ItemStatus{"4711": runstore.ItemDone, "4740": runstore.WaitingApproval}[it.ID]
		if want != "" && it.Status != want {
			t.Errorf("third run: %s is %s (%s), want %s", it.ID, it.Status, it.Note, want)
		}
	}
	if n := len(d.register.All()); n != 1 {
		t.Errorf("requests: %d, want 1 for three runs", n)
	}
}
