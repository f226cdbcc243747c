//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long any one process may take before its test gives up. No
// test waits for it unless something is broken.
const patience = 2 * time.Minute

// place is a home with a data directory, where people type commands, each in a
// process of its own.
type place struct {
	t    testing.TB
	home string
	dir  string // the data directory
	env  []string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	home, err := os.MkdirTemp("", "desk") // short: a socket lies below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return placeAt(t, home, filepath.Join(home, "data"))
}

// placeAt is a place with a data directory somewhere else.
func placeAt(t testing.TB, home, dir string) *place {
	t.Helper()
	p := &place{t: t, home: home, dir: dir}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=dumb", "GORACE=atexit_sleep_ms=0",
		"ORDERDESK_DATA_DIR=" + dir, "ORDERDESK_PASSPHRASE_FILE=" + p.file("pass", "a long passphrase\n")}
	return p
}

// file writes a file into the home and returns its path.
func (p *place) file(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// result is how a command ended. Code is -1 if a signal ended it.
type result struct {
	args           []string
	code           int
	killed         bool
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("orderdesk %q: exit %d\n%s%s", r.args, r.code, r.stdout, r.stderr)
}

// decode reads the one JSON value on standard output.
func (r result) decode(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		t.Fatalf("%v\n%s", err, r)
	}
}

func (p *place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "orderdesk", args...)
	cmd.Env = p.env
	cmd.WaitDelay = time.Second
	return cmd
}

// do runs a command to its end.
func (p *place) do(args ...string) result {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := p.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	r := resultOf(args, cmd.Run(), &out, &errs)
	if ctx.Err() != nil {
		p.t.Fatalf("did not end in %s: %s", patience, r)
	}
	return r
}

func resultOf(args []string, err error, out, errs fmt.Stringer) result {
	r := result{args: args, stdout: out.String(), stderr: errs.String()}
	var end *exec.ExitError
	if errors.As(err, &end) {
		r.code = end.ExitCode()
		status, _ := end.Sys().(syscall.WaitStatus)
		r.killed = status.Signaled() && status.Signal() == syscall.SIGKILL
	} else if err != nil {
		r.code = -1
		r.stderr += err.Error()
	}
	return r
}

// ok runs a command that must end with 0.
func (p *place) ok(args ...string) result {
	p.t.Helper()
	return p.wants(ExitOK, args...)
}

// wants runs a command that must end with that exit code.
func (p *place) wants(code int, args ...string) result {
	p.t.Helper()
	r := p.do(args...)
	if r.code != code {
		p.t.Fatalf("want exit %d: %s", code, r)
	}
	return r
}

// says wants every one of the texts in what the command printed for people.
func (r result) says(t testing.TB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("does not say %q: %s", text, r)
		}
	}
}

// seenRun is a run as "status --json" and its like print it.
type seenRun struct {
	RunID       string `json:"run_id"`
	Status      string
	Interrupted bool
	Worker      string
	StopReason  *struct{ Code, Message string } `json:"stop_reason"`
	Plan        []struct {
		Item   string `json:"sales_order"`
		Status string
		Note   string
	}
	Actions []seenAction
	Used    struct {
		ModelCalls int `json:"model_calls"`
		ToolCalls  int `json:"tool_calls"`
	}
	Counts map[string]int
}

type seenAction struct {
	ID       string
	RunID    string `json:"run_id"`
	Item     string `json:"sales_order"`
	Role     string `json:"required_role"`
	Status   string
	Outcome  string
	Approval *struct{ Verdict, By, Comment string }
}

func (a seenAction) name() string { return a.RunID + "/" + a.ID }

// status is "status --json" of a run, "" for the one started last.
func (p *place) status(run string) seenRun {
	p.t.Helper()
	args := []string{"status", "--json"}
	if run != "" {
		args = append(args, run)
	}
	var v seenRun
	p.ok(args...).decode(p.t, &v)
	return v
}

// running is a command that was started and has not been waited for.
type running struct {
	p      *place
	args   []string
	cmd    *exec.Cmd
	cancel context.CancelFunc
	err    *bufio.Reader // standard error as it comes
	pipe   *os.File
	out    bytes.Buffer
	seen   bytes.Buffer // what was read of standard error
}

// start starts a command whose standard error is a pipe. Nobody reads it but
// the methods of running: a command that reports much waits, at work, in the
// write that fills the pipe, until [running.end].
func (p *place) start(args ...string) *running {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r := &running{p: p, args: args, cmd: p.command(ctx, args...), cancel: cancel}
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	r.pipe, r.err = read, bufio.NewReaderSize(read, 512)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, write
	if err := r.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	write.Close()
	p.t.Cleanup(func() { cancel(); read.Close(); _ = r.cmd.Wait() })
	return r
}

// line returns the next line of standard error that holds text.
func (r *running) line(text string) string {
	r.p.t.Helper()
	for {
		s, err := r.err.ReadString('\n')
		r.seen.WriteString(s)
		if strings.Contains(s, text) {
			return s
		}
		if err != nil {
			r.p.t.Fatalf("orderdesk %q did not say %q:\n%s", r.args, text, r.seen.String())
		}
	}
}

// runID waits for the id of the run that was started.
func (r *running) runID() string {
	r.p.t.Helper()
	return strings.Fields(r.line("started."))[1]
}

// end reads on and waits for the end.
func (r *running) end() result {
	r.p.t.Helper()
	r.drain()
	err := r.cmd.Wait()
	r.cancel()
	return resultOf(r.args, err, &r.out, &r.seen)
}

// kill ends it as a power cut would.
func (r *running) kill() result {
	r.p.t.Helper()
	r.signal(syscall.SIGKILL)
	return r.end()
}

func (r *running) signal(s syscall.Signal) {
	r.p.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.p.t.Fatal(err)
	}
}

// reported is a call that a command said it has made and saved.
type reported struct {
	call    int
	refused bool
	tool    string
}

// calls are the calls that standard error reports, whole lines only: one call
// per line, its number in front.
func calls(stderr string) []reported {
	line := regexp.MustCompile(`^ *([0-9]+)  (ok|known|refused|failed) +(\S+) .*\n$`)
	var all []reported
	for l := range strings.Lines(stderr) {
		if m := line.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[1])
			all = append(all, reported{n, m[2] == "refused", m[3]})
		}
	}
	return all
}

// list writes a list of n blocked items for --data. Of every four, two wait for
// people in two roles, one has a gap in its address, one a dispute.
func (p *place) list(n int) string {
	p.t.Helper()
	type customer struct {
		Customer    string  `json:"customer"`
		Name        string  `json:"name"`
		Street      string  `json:"street"`
		PostalCode  string  `json:"postal_code"`
		City        string  `json:"city"`
		Country     string  `json:"country"`
		CreditLimit float64 `json:"credit_limit"`
		OpenItems   float64 `json:"open_items"`
	}
	type item struct {
		SalesOrder  string  `json:"sales_order"`
		Customer    string  `json:"customer"`
		NetValue    float64 `json:"net_value"`
		Blocked     bool    `json:"blocked"`
		BlockReason string  `json:"block_reason"`
	}
	var w struct {
		Organization string     `json:"sales_organization"`
		Items        []item     `json:"orders"`
		Customers    []customer `json:"customers"`
	}
	w.Organization = "1010"
	kinds := []struct {
		open   float64
		code   string
		reason string
	}{
		{49000, "69190", "Blocked by the credit check."},
		{59000, "69190", "Blocked by the credit check."},
		{1000, "", "Incomplete: delivery address data missing."},
		{1000, "69190", "Pricing: the customer disputes the price."},
	}
	for i := range n {
		k := kinds[i%len(kinds)]
		id := strconv.Itoa(500001 + i)
		w.Customers = append(w.Customers, customer{id, "Kunde " + id, "Hauptstrasse 5", k.code, "Walldorf", "DE", 50000, k.open})
		w.Items = append(w.Items, item{strconv.Itoa(100001 + i), id, 2000, true, k.reason})
	}
	raw, err := json.Marshal(w)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.file(fmt.Sprintf("list%d.json", n), string(raw))
}

// register are the created requests, as the system outside keeps them.
func (p *place) register() []createdRequest {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, "register", "requests.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	var all []createdRequest
	for line := range strings.Lines(string(raw)) {
		var c createdRequest
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			p.t.Fatalf("register: %v: %q", err, line)
		}
		all = append(all, c)
	}
	return all
}

type createdRequest struct {
	Request    string
	Key        string
	Item       string `json:"sales_order"`
	ApprovedBy string `json:"approved_by"`
}

// traced is one line of "trace --json".
type traced struct {
	Seq  int
	Call int
	Kind string
	Data struct {
		Tool    string
		Args    json.RawMessage
		Refused bool
		Action  string
		Linked  string `json:"linked_run"` // the action is that run's
		Status  string
		Target  struct{ ID string }
	}
}

// trace is "trace --json" of a run.
func (p *place) trace(run string) []traced {
	p.t.Helper()
	var v struct{ Trace []traced }
	p.ok("trace", run, "--json").decode(p.t, &v)
	return v.Trace
}

// runs is "runs --json".
func (p *place) runs() []seenRun {
	p.t.Helper()
	var v struct{ Runs []seenRun }
	p.ok("runs", "--json").decode(p.t, &v)
	return v.Runs
}

// together runs fns at the same time and waits for all.
func together(fns ...func()) {
	var wg sync.WaitGroup
	for _, fn := range fns {
		wg.Go(fn)
	}
	wg.Wait()
}

// copyTo copies the data directory as "cp -r" does, minding nobody.
func (p *place) copyTo(dir string) {
	p.t.Helper()
	cmd := exec.Command("cp", "-r", p.dir, dir)
	if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "No such file") {
		p.t.Errorf("cp: %v: %s", err, out)
	}
}

// drain reads standard error until the command closes it.
func (r *running) drain() string {
	_, _ = io.Copy(&r.seen, r.err)
	return r.seen.String()
}
