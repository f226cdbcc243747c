//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"orderdesk/runstore"
)

// TestAPR_AmbiguousActions: two runs each have an A1. The bare id decides
// nothing and names both; so does the start of an id that several runs share.
func TestAPR_AmbiguousActions(t *testing.T) {
	p := newPlace(t)
	p.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER", "HEAD_OF_FINANCE")
	p.ok("run")
	p.ok("run", "--data", p.list(4))
	runs := p.runs()
	got := p.wants(ExitRefused, "approve", "A1", "--as", "Maria Weber")
	got.says(t, "A1", runs[0].RunID+"/A1", runs[1].RunID+"/A1", "nothing recorded", "hint: ")
	for _, run := range runs {
		for _, a := range p.status(run.RunID).Actions {
			if a.Status != "pending" {
				t.Errorf("%s is %s", a.name(), a.Status)
			}
		}
	}
	p.ok("approve", runs[0].RunID+"/A1", "--as", "Maria Weber")
	p.ok("approve", "A1", "--run", runs[1].RunID, "--as", "Maria Weber")
	for _, run := range runs {
		if a := p.status(run.RunID).Actions[0]; a.Status != "approved" {
			t.Errorf("%s is %s, want approved", a.name(), a.Status)
		}
	}
	p.wants(ExitUsage, "status", "2").says(t, "hint: orderdesk runs")
}

// TestSTA19_Zones: whatever the zone of the process, also in the hour that a
// change to summer time leaves out, every time that is kept or printed is UTC
// and says so.
func TestSTA19_Zones(t *testing.T) {
	p := newPlace(t)
	p.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER", "HEAD_OF_FINANCE")
	p.env = append(p.env, "TZ=America/New_York")
	p.ok("run")
	p.ok("approve", "A1", "--as", "Maria Weber")
	p.env[len(p.env)-1] = "TZ=Asia/Kolkata"
	p.ok("resume")
	times := regexp.MustCompile(`"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^"]*)"`)
	for _, args := range [][]string{{"status"}, {"runs"}, {"trace"}, {"notes", "list"}} {
		got := p.ok(append(args, "--json")...)
		all := times.FindAllStringSubmatch(got.stdout, -1)
		if len(all) == 0 {
			t.Errorf("no times: %s", got)
		}
		for _, m := range all {
			if !strings.HasSuffix(m[1], "Z") {
				t.Errorf("%q prints %s, want UTC", args, m[1])
			}
		}
	}
	if got := p.ok("runs"); !regexp.MustCompile(` \d\d:\d\d:\d\dZ `).MatchString(got.stdout) {
		t.Errorf("times without a zone: %s", got)
	}
	if got := p.ok("trace"); !regexp.MustCompile(` \d\d:\d\d:\d\d\.\d\d\dZ `).MatchString(got.stdout) {
		t.Errorf("times without a zone: %s", got)
	}
}

// TestHintsNameTheRunThatAsked: a second run waits on the requests of the
// first, and the hints are commands that work.
func TestHintsNameTheRunThatAsked(t *testing.T) {
	p := newPlace(t)
	p.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER", "HEAD_OF_FINANCE")
	p.ok("run", "--data", p.list(12))
	first := p.runs()[0].RunID
	got := p.ok("run", "--data", p.list(12))
	got.says(t, "next: orderdesk approve "+first+"/A1 --as NAME", "next: orderdesk approve --all --run "+first+" --as NAME   (6 wait)")
	p.ok("approve", "--all", "--run", first, "--as", "Maria Weber")
}

// TestOrdersOfAnotherOrganization: a list that is empty because its items are
// elsewhere says so.
func TestOrdersOfAnotherOrganization(t *testing.T) {
	p := newPlace(t)
	got := p.ok("run", "--data", p.list(4), "--org", "2000")
	got.says(t, "warning: the data has no blocked orders in sales organization 2000, but in 1010; --org 1010 works on them")
	if got := p.ok("run", "--data", p.list(4)); strings.Contains(got.stderr, "warning") {
		t.Errorf("a warning for nothing: %s", got)
	}
}

// TestSimulateIsRecorded: what a run works with changes by a flag only, and the
// trace says so.
func TestSimulateIsRecorded(t *testing.T) {
	p := newPlace(t)
	p.wants(ExitStopped, "run", "--max-model-calls", "3")
	p.env = append(p.env, "ORDERDESK_SIMULATE=outage")
	p.ok("resume", "--max-model-calls", "60", "--simulate", "flaky")
	got := p.ok("trace")
	got.says(t, `"what":"simulate"`, `"old":"none"`, `"new":"flaky"`)
	if strings.Contains(got.stdout, "Do not retry now") {
		t.Error("it worked under the environment's outage")
	}
}

// TestOneJSONValue: whatever is asked for, --json prints one value.
func TestOneJSONValue(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{{}, {"help"}, {"run", "--help"}, {"help", "run"}, {"completion", "bash"}, {"agent"}, {"no-such"}, {"approve"}} {
		got := p.do(append(args, "--json")...)
		if !json.Valid([]byte(got.stdout)) {
			t.Errorf("%q: no JSON value: %.200s", args, got.stdout)
		}
	}
	var v struct{ Help, Script string }
	p.ok("run", "--help", "--json").decode(t, &v)
	p.ok("completion", "bash", "--json").decode(t, &v)
	if !strings.Contains(v.Help, "--max-model-calls") || !strings.Contains(v.Script, "__start_orderdesk") {
		t.Errorf("help %.100q, script %.100q", v.Help, v.Script)
	}
}

// TestApproveNamedTwice: an action that is named twice is decided once.
func TestApproveNamedTwice(t *testing.T) {
	p := newPlace(t)
	p.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER")
	p.ok("run")
	got := p.ok("approve", "A1", p.runs()[0].RunID+"/A1", "--as", "Maria Weber")
	if strings.Contains(got.stdout+got.stderr, "2 requests") || strings.Count(got.stderr, "Action ") != 1 {
		t.Errorf("shown twice: %s", got)
	}
	p.ok("approve", "--help").says(t, "What was refused is not recorded")
}

// TestDoctorMakesNoStore: an empty folder is no store, and stays empty.
func TestDoctorMakesNoStore(t *testing.T) {
	p := newPlace(t)
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.ok("doctor").says(t, "There is no store yet")
	if left, err := os.ReadDir(p.dir); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	p.ok("agent", "add", "a") // makes one
	p.ok("reset", "--yes")
	before := contents(t, p.dir)
	p.ok("doctor").says(t, "There is no store yet")
	if now := contents(t, p.dir); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("after a reset it made %v", now)
	}
	if err := os.WriteFile(p.dir+"/letter.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.wants(ExitUsage, "doctor").says(t, `it holds "letter.txt"`)
}

// TestRolesFollowTheirFlag: a second name is no role, whatever its spelling.
func TestRolesFollowTheirFlag(t *testing.T) {
	p := newPlace(t)
	p.wants(ExitUsage, "approver", "add", "MARIA", "WEBER", "--role", "CREDIT_MANAGER").says(t, `unexpected argument "WEBER"; nothing recorded`)
	p.wants(ExitUsage, "approver", "add", "Maria", "--role", "CREDIT_MANAGER", "--login", "--json").says(t, "--login needs a login name")
	p.wants(ExitUsage, "approver", "add", "MARIA", "--login", "mw", "WEBER", "--role=CLERK", "CLERK").says(t, `unexpected argument "WEBER"`)
	p.wants(ExitUsage, "approver", "add", "MARIA", "WEBER").says(t, `unexpected argument "WEBER"`)
	p.ok("approver", "add", "MARIA", "--role", "CREDIT_MANAGER", "HEAD_OF_FINANCE")
	p.ok("--json", "approver", "add", "CLERK", "--login", "AUDITOR", "--role", "CREDIT_MANAGER", "CLERK", "AUDITOR") // named like a role
	p.wants(ExitUsage, "approver", "add", "Jon", "--role", "CLERK", "--passphrase-file", p.home).says(t, "cannot be used: ", "is a directory")
	got := p.wants(ExitUsage, "approver", "add", "Jon", "--role", "CLERK", "--passphrase-file", p.file("long", strings.Repeat("x", 5000)))
	got.says(t, "cannot be used: the line is too long")
}

// TestEachEntry: what a view repeats comes once, and page by page.
func TestEachEntry(t *testing.T) {
	p := newPlace(t)
	p.ok("run", "--data", p.list(240))
	store, err := runstore.Open(t.Context(), runstore.Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	want := 0
	err = eachEntry(t.Context(), twice(store), p.runs()[0].RunID, func(e runstore.TraceEntry) error {
		if want++; e.Seq != want {
			t.Fatalf("entry %d, want %d", e.Seq, want)
		}
		return nil
	})
	if err != nil || want < 2*tracePage {
		t.Errorf("%d entries, %v", want, err)
	}
}

// twice is a view that runs its function a second time, as one does whose
// owner has gone.
func twice(store *runstore.Store) viewer {
	return func(ctx context.Context, fn func(*runstore.Tx) error) error {
		return errors.Join(store.View(ctx, fn), store.View(ctx, fn))
	}
}

// TestRepeatedViews: what is listed, decided or counted comes once, however
// often the view runs.
func TestRepeatedViews(t *testing.T) {
	p := newPlace(t)
	p.ok("run")
	store, err := runstore.Open(t.Context(), runstore.Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	lines, err := runLines(t.Context(), twice(store), store.Alive)
	if err != nil || len(lines) != 1 {
		t.Fatalf("%d runs, %v", len(lines), err)
	}
	if notes, err := notesOf(t.Context(), twice(store), true); err != nil || len(notes) != 1 {
		t.Errorf("%d notes, %v", len(notes), err)
	}
	run, err := find(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	if run.Pending != 2 {
		t.Fatalf("%d requests wait", run.Pending)
	}
	found, err := pendingFor(t.Context(), twice(store), run, []string{"CREDIT_MANAGER", "HEAD_OF_FINANCE"})
	if err != nil || len(found) != run.Pending {
		t.Errorf("%d requests, %v", len(found), err)
	}
	c := &checkup{Problems: []doctorsFinding{{"table", "broken"}}}
	if err := checkRuns(t.Context(), twice(store), c); err != nil || c.Runs != 1 || len(c.Problems) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestHintNamesTheRunShown: the rest of an older run's plan is that run's.
func TestHintNamesTheRunShown(t *testing.T) {
	p := newPlace(t)
	p.ok("run", "--data", p.list(60))
	first := p.runs()[0].RunID
	p.ok("run")
	p.ok("status", first).says(t, "more: orderdesk status "+first+" --all shows them")
}

// TestSimulatedCrashSaysTheFlag: a resume counts the run's calls, not its own.
func TestSimulatedCrashSaysTheFlag(t *testing.T) {
	p := newPlace(t)
	p.wants(ExitStopped, "run", "--crash-after", "3").says(t, "Simulated crash (--crash-after 3).")
	p.wants(ExitStopped, "resume", "--crash-after", "2").says(t, "Simulated crash (--crash-after 2).")
}
