package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestSTA07_CommandsBesideARun types every command in processes of their own
// while another one drives a run. A decision made meanwhile is kept (in the lab
// the run's next save lost it).
func TestSTA07_CommandsBesideARun(t *testing.T) {
	p := newPlace(t)
	p.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER", "HEAD_OF_FINANCE")
	r := p.start("run", "--data", p.list(240))
	id := r.runID()
	r.line("_request_create") // A1 is queued
	r.line("_request_create")
	var decided sync.Map
	together(
		func() { // the run goes on all the while, a line at a time
			for range 120 {
				r.line("")
			}
		},
		func() {
			for i, more := range [][]string{{"--comment", "first"}, {"--reject", "--comment", "second"}} {
				action := fmt.Sprintf("%s/A%d", id, i+1)
				if got := p.do(append([]string{"approve", action, "--as", "Maria Weber", "--json"}, more...)...); got.code != ExitOK {
					t.Errorf("beside the run: %s", got)
				}
				decided.Store(action, more[len(more)-1])
			}
		},
		func() {
			for _, args := range [][]string{{"status"}, {"runs"}, {"trace"}, {"notes", "list"}, {"approver", "list"}, {"config", "show"}} {
				if got := p.do(append(args, "--json")...); got.code != ExitOK {
					t.Errorf("beside the run: %s", got)
				}
			}
		},
	)
	r.fill() // the run is held up, at work
	run := p.status(id)
	if run.Status != "running" || run.Interrupted || run.Worker != fmt.Sprintf("orderdesk run (process %d)", r.cmd.Process.Pid) {
		t.Errorf("status beside the run: %+v", run)
	}
	p.ok("doctor").says(t, fmt.Sprintf("In use by orderdesk run (process %d); checked through it.", r.cmd.Process.Pid), "Everything is sound.")
	p.wants(ExitUsage, "reset")
	if got := p.wants(ExitStore, "reset", "--yes"); !strings.Contains(got.stderr, fmt.Sprintf("in use by process %d (orderdesk run)", r.cmd.Process.Pid)) {
		t.Errorf("reset beside the run: %s", got)
	}
	if got := r.end(); got.code != ExitOK {
		t.Fatalf("the run: %s", got)
	}
	for _, a := range p.status(id).Actions {
		if comment, ok := decided.Load(a.name()); ok && (a.Approval == nil || a.Approval.Comment != comment) {
			t.Errorf("the decision %q is lost: %+v", comment, a)
		}
	}
	p.ok("resume", id).says(t, "request A1 executed (REQ-0001)")
	if got := p.register(); len(got) != 1 || got[0].Key != id+"/A1" {
		t.Errorf("created: %+v", got)
	}
}

// TestTwoResumesAtOnce: one drives, the other is told who does. Neither can
// end before the other has started: their output is held up.
func TestTwoResumesAtOnce(t *testing.T) {
	p := newPlace(t)
	p.wants(ExitStopped, "run", "--data", p.list(100), "--max-model-calls", "5")
	raise := []string{"resume", "--max-model-calls", "10000", "--max-tool-calls", "10000"}
	both := []*running{p.start(raise...), p.start(raise...)}
	done := make(chan int, 2)
	for i, r := range both {
		go func() { _, _ = r.cmd.Process.Wait(); done <- i }()
	}
	told := <-done // nobody reads the pipe of the one that drives
	drives, refused := both[1-told], both[told]
	got := refused.drain()
	if want := fmt.Sprintf("is being worked on by orderdesk resume (process %d); nothing was done", drives.cmd.Process.Pid); !strings.Contains(got, want) {
		t.Errorf("the second one says %q, want %q", got, want)
	}
	if !strings.Contains(got, "hint: orderdesk status ") {
		t.Errorf("no hint: %q", got)
	}
	p.wants(ExitRefused, "resume")
	drives.drain()
	<-done
	if run := p.status(""); run.Status != "waiting_for_approval" || run.Counts["todo"] != 0 {
		t.Errorf("the run is %s, %v", run.Status, run.Counts)
	}
	p.ok("doctor")
}

// TestOwnerEndsWhileAnotherDrives: the process that has the database open is
// killed, or ends; one that drives a run through it takes over and finishes.
func TestOwnerEndsWhileAnotherDrives(t *testing.T) {
	for _, how := range []string{"killed", "ends"} {
		t.Run(how, func(t *testing.T) {
			p := newPlace(t)
			owner := p.start("run", "--data", p.list(100))
			first := owner.runID()
			owner.line("    9  ")
			r := p.start("run", "--data", p.list(60))
			second := r.runID()
			r.line("    9  ")
			if got := p.ok("doctor", "--json"); !strings.Contains(got.stdout, fmt.Sprintf("orderdesk run (process %d)", owner.cmd.Process.Pid)) {
				t.Errorf("the owner is not the first one: %s", got)
			}
			if how == "killed" {
				owner.kill()
			} else if got := owner.end(); got.code != ExitOK {
				t.Errorf("the owner: %s", got)
			}
			if got := r.end(); got.code != ExitOK {
				t.Fatalf("the other one: %s", got)
			}
			if run := p.status(second); run.Status != "waiting_for_approval" || run.Counts["todo"] != 0 {
				t.Errorf("its run is %s, %v", run.Status, run.Counts)
			}
			if how == "killed" {
				p.stuck(first)
			}
			p.ok("doctor")
		})
	}
}

// stuck wants a run whose worker was killed to show as such, and to go on.
func (p *place) stuck(run string) {
	p.t.Helper()
	if v := p.status(run); v.Status != "running" || !v.Interrupted || v.Worker != "" {
		p.t.Errorf("got %+v, want interrupted", v)
	}
	p.ok("status", run).says(p.t, "Run "+run+": interrupted, resumable", "next: orderdesk resume "+run)
	p.ok("runs").says(p.t, "interrupted, resumable")
	p.ok("resume", run)
	if v := p.status(run); v.Status != "waiting_for_approval" || v.Counts["todo"] != 0 {
		p.t.Errorf("after the resume it is %s, %v", v.Status, v.Counts)
	}
}

// TestCLI05_StuckRunning: kill -9, then status, runs and resume; STA-08: what
// the dead process leaves behind, lock files and socket, keeps nobody out.
func TestCLI05_StuckRunning(t *testing.T) {
	p := newPlace(t)
	r := p.start("run", "--data", p.list(60))
	run := r.runID()
	r.line("   20  ")
	r.kill()
	for _, name := range []string{"owner.lock", "owner.json", "store.sock", "db/LOCK"} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err != nil {
			t.Errorf("no left-over %s: %v", name, err)
		}
	}
	p.stuck(run)
}

// TestSTA07_OwnerDoesNotAnswer: a stopped process (Ctrl-Z) holds the store and
// is named; nobody is told to delete a lock file.
func TestSTA07_OwnerDoesNotAnswer(t *testing.T) {
	p := newPlace(t)
	r := p.start("run", "--data", p.list(40))
	run := r.runID()
	r.signal(syscall.SIGSTOP)
	got := p.wants(ExitStore, "status")
	got.says(t, fmt.Sprintf("the store is held by process %d (orderdesk run), which does not answer", r.cmd.Process.Pid), "hint: end that process, or wait for it")
	if strings.Contains(strings.ToLower(got.stderr), "delete") {
		t.Errorf("it says %q", got.stderr)
	}
	r.signal(syscall.SIGCONT)
	if got := r.end(); got.code != ExitOK {
		t.Errorf("the run: %s", got)
	}
	if v := p.status(run); v.Status != "waiting_for_approval" {
		t.Errorf("the run is %s", v.Status)
	}
}

// TestSTA14_CopyOfALiveStore: cp -r while a run writes. The copy works, or is
// refused with a clear error; the original goes on.
func TestSTA14_CopyOfALiveStore(t *testing.T) {
	p := newPlace(t)
	r := p.start("run", "--data", p.list(100))
	run := r.runID()
	r.line("   20  ")
	copied := filepath.Join(p.home, "copy")
	together(func() { p.copyTo(copied) }, func() { _ = r.end() })
	if v := p.status(run); v.Status != "waiting_for_approval" {
		t.Errorf("the original is %s", v.Status)
	}
	switch got := p.do("doctor", "--data-dir", copied); got.code {
	case ExitOK:
		p.ok("resume", run, "--data-dir", copied)
	case ExitStore:
		got.says(t, copied)
	default:
		t.Errorf("the copy: %s", got)
	}
}
