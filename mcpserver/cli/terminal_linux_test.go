package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// wantInterrupted wants a run that was stopped on the way, by a person or by
// its end, and then goes on to wait for people.
func (p *place) wantInterrupted(statuses ...string) {
	p.t.Helper()
	run := p.status("")
	if !slices.Contains(statuses, run.Status) || run.Interrupted != (run.Status == "running") {
		p.t.Errorf("got a run that is %s, interrupted %v; want %q", run.Status, run.Interrupted, statuses)
	}
	if run.Status == "stopped" && (run.StopReason == nil || run.StopReason.Code != "interrupted") {
		p.t.Errorf("stop reason: got %+v, want interrupted", run.StopReason)
	}
	if n := run.Counts["total"]; n == 0 || run.Counts["todo"] == 0 {
		p.t.Errorf("counts: %v, want a run in the middle of its list", run.Counts)
	}
	p.ok("doctor")
	p.ok("resume", "--max-model-calls", "10000", "--max-tool-calls", "10000")
	if run := p.status(""); run.Status != "waiting_for_approval" || run.Counts["todo"] != 0 {
		p.t.Errorf("after the resume: %s, %v", run.Status, run.Counts)
	}
}

func TestCLI04_CtrlC(t *testing.T) {
	p := newPlace(t)
	tm := p.terminal(100, nil, "run", "--data", p.list(100))
	tm.expect("    9  ")
	tm.write("\x03")
	screen := tm.ends(ExitInterrupted)
	if !strings.Contains(screen, "interrupted; stopping at the next saved step (once more: at once)") ||
		!strings.Contains(screen, "next: orderdesk resume ") {
		t.Errorf("it says:\n%s", screen)
	}
	p.wantInterrupted("stopped")
}

func TestTerminalIsClosed(t *testing.T) {
	p := newPlace(t)
	tm := p.terminal(100, nil, "run", "--data", p.list(100))
	tm.expect("    9  ")
	tm.hangUp()
	tm.ends(ExitInterrupted)
	p.wantInterrupted("stopped")
}

func TestSTA25_Terminated(t *testing.T) {
	p := newPlace(t)
	r := p.start("run", "--data", p.list(100))
	r.line("    9  ")
	r.signal(syscall.SIGTERM)
	if got := r.end(); got.code != ExitInterrupted {
		t.Errorf("want exit 130: %s", got)
	}
	p.wantInterrupted("stopped")
}

// TestCLI04_SecondSignalWhileOutputIsHeldUp: a pipe that nobody reads (a pager,
// Ctrl-S) holds the command up in a write; two signals end it all the same.
func TestCLI04_SecondSignalWhileOutputIsHeldUp(t *testing.T) {
	p := newPlace(t)
	r := p.start("run", "--data", p.list(240))
	r.line("    9  ")
	r.fill()
	r.signal(syscall.SIGINT)
	r.signal(syscall.SIGTERM) // another one, since the system may fold two of a kind
	err := r.cmd.Wait()       // nobody reads meanwhile
	if code := exitCode(err); code != "130" {
		t.Errorf("ended with %s, want 130", code)
	}
	p.wantInterrupted("running", "stopped") // it may get to saving before it is held up
}

// fill waits until the pipe is as good as full: the command's next few lines
// hold it up.
func (r *running) fill() {
	r.p.t.Helper()
	const getPipeSize = 1032 // F_GETPIPE_SZ
	size, _, e := syscall.Syscall(syscall.SYS_FCNTL, r.pipe.Fd(), getPipeSize, 0)
	if e != 0 {
		r.p.t.Fatal(e)
	}
	for deadline := time.After(patience); ; {
		var waiting int32
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, r.pipe.Fd(), syscall.TIOCINQ, uintptr(unsafe.Pointer(&waiting))); e != 0 {
			r.p.t.Fatal(e)
		}
		if int(waiting) > int(size)*7/8 {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			r.p.t.Fatalf("%d of %d bytes in the pipe", waiting, size)
		}
	}
}

func TestCLI01_PipedToHead(t *testing.T) {
	p := newPlace(t)
	code := filepath.Join(p.home, "code")
	cmd := exec.Command("sh", "-c", `{ orderdesk run --data "$1" 2>&1; echo $? >"$2"; } | head -1`, "sh", p.list(40), code)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "started.\n") || strings.Count(string(out), "\n") != 1 {
		t.Fatalf("got %q, %v; want the first line", out, err)
	}
	if got, err := os.ReadFile(code); err != nil || string(got) != "0\n" {
		t.Errorf("exit code: %q, %v", got, err)
	}
	if run := p.status(""); run.Status != "waiting_for_approval" || run.Counts["total"] != 40 || run.Counts["todo"] != 0 {
		t.Errorf("the run is %s, %v; want it worked to its end", run.Status, run.Counts)
	}
}

// TestClosedStreams: a command started without standard streams works.
func TestClosedStreams(t *testing.T) {
	p := newPlace(t)
	cmd := exec.Command("sh", "-c", `orderdesk run <&- >&- 2>&-`)
	cmd.Env = p.env
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	if run := p.status(""); run.Status != "waiting_for_approval" {
		t.Errorf("the run is %s", run.Status)
	}
	p.ok("doctor")
}

func TestTerminalLooks(t *testing.T) {
	p := newPlace(t)
	first := p.terminal(60, nil, "run").ends(ExitOK)
	if !strings.Contains(first, "\x1b[32m") || !strings.Contains(first, "\r\x1b[K") {
		t.Errorf("no colours or no status line:\n%q", first)
	}
	for _, piece := range strings.FieldsFunc(beforeAnswer(first), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if text := plainOf(piece); cells(text) > 60 {
			t.Errorf("%d columns in a terminal of 60: %q", cells(text), text)
		}
	}
	tests := []struct {
		name           string
		env            []string
		colours, erase bool
	}{
		{"NO_COLOR", []string{"NO_COLOR=1"}, false, true},
		{"dumb", []string{"TERM=dumb"}, false, false},
		{"no TERM", []string{"TERM="}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := p.terminal(60, tt.env, "run").ends(ExitOK)
			colours := strings.Contains(strings.ReplaceAll(got, "\x1b[K", ""), "\x1b[")
			if erase := strings.Contains(got, "\x1b[K"); colours != tt.colours || erase != tt.erase {
				t.Errorf("colours %v, status line %v:\n%q", colours, erase, got)
			}
		})
	}
	if got := p.ok("run"); strings.Contains(got.stdout+got.stderr, "\x1b") {
		t.Errorf("control sequences without a terminal: %q", got)
	}
}

func beforeAnswer(screen string) string {
	head, _, _ := strings.Cut(screen, "Worked through")
	return head
}

// plainOf is text without control sequences.
func plainOf(s string) string { return plain(strings.ReplaceAll(s, "\x1b[K", "")) }

func TestApproveAllOnATerminal(t *testing.T) {
	p := newPlace(t)
	p.ok("run")
	p.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER", "HEAD_OF_FINANCE")
	ask := []string{"ORDERDESK_PASSPHRASE_FILE="}
	decided := func(want string) {
		t.Helper()
		for _, a := range p.status("").Actions {
			if a.Status != want {
				t.Errorf("%s is %s, want %s", a.ID, a.Status, want)
			}
		}
	}
	for _, answer := range []string{"y\n", "\x04"} {
		tm := p.terminal(100, nil, "approve", "--all", "--as", "Maria Weber")
		tm.expect("Type yes: ")
		tm.write(answer)
		screen := plainOf(tm.ends(ExitRefused))
		if !strings.Contains(screen, "2 requests, 3500.00 EUR in all.\nApprove 2 requests? Type yes: ") ||
			!strings.Contains(screen, "orderdesk: not confirmed; nothing recorded") {
			t.Errorf("after %q it shows:\n%s", answer, screen)
		}
		decided("pending")
	}
	tm := p.terminal(100, ask, "approve", "--all", "--as", "Maria Weber", "--reject", "--comment", "Not now")
	tm.expect("Passphrase of Maria Weber: ")
	tm.write("a long passphrase\n")
	tm.expect("Reject 2 requests? Type yes: ")
	tm.write("yes\n")
	if screen := tm.ends(ExitOK); strings.Contains(screen, "a long passphrase") || !strings.Contains(screen, "rejected  by Maria Weber (Not now)") {
		t.Errorf("it shows:\n%s", screen)
	}
	decided("rejected")
}

// TestInterruptedAtThePrompt: Ctrl-C at a question ends the command, records
// nothing and leaves the terminal showing what is typed.
func TestInterruptedAtThePrompt(t *testing.T) {
	p := newPlace(t)
	p.ok("run")
	tm := p.terminal(100, []string{"ORDERDESK_PASSPHRASE_FILE="}, "approve", "A1", "--as", "Maria Weber")
	tm.expect("Passphrase of Maria Weber: ")
	tm.write("\x03")
	if screen := plainOf(tm.ends(ExitInterrupted)); !strings.Contains(screen, "orderdesk: interrupted") {
		t.Errorf("it shows:\n%s", screen)
	}
	if a := p.status("").Actions; slices.ContainsFunc(a, func(a seenAction) bool { return a.Status != "pending" }) {
		t.Errorf("actions: %+v", a)
	}
}
