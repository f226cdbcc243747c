package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
)

const (
	sayInitialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	sayInitialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func sayCall(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

// lineHost is "orderdesk mcp" in a process of its own, with the lines a host
// writes and reads.
type lineHost struct {
	p    *place
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	read *bufio.Reader
	errs bytes.Buffer
}

func (p *place) lineHost(args ...string) *lineHost {
	p.t.Helper()
	h := &lineHost{p: p, cmd: p.command(context.Background(), append([]string{"mcp"}, args...)...)}
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	h.out, h.read = read, bufio.NewReader(read)
	h.cmd.Stdout, h.cmd.Stderr = write, &h.errs
	if err := h.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	write.Close()
	p.t.Cleanup(func() { _ = h.cmd.Process.Kill(); _ = h.cmd.Wait(); read.Close() })
	h.say(sayInitialize)
	if got := h.hear(); !strings.Contains(got, `"id":0,"result"`) {
		p.t.Fatalf("initialize: %s", got)
	}
	h.say(sayInitialized)
	return h
}

func (h *lineHost) say(lines ...string) {
	h.p.t.Helper()
	if _, err := io.WriteString(h.in, strings.Join(lines, "\n")+"\n"); err != nil {
		h.p.t.Fatal(err)
	}
}

// hear is the next line, which must be a message.
func (h *lineHost) hear() string {
	h.p.t.Helper()
	line, err := h.read.ReadString('\n')
	if err != nil {
		h.p.t.Fatalf("no answer: %v\n%s", err, h.errs.String())
	}
	h.message(line)
	return line
}

func (h *lineHost) message(line string) {
	h.p.t.Helper()
	var m struct {
		Version string `json:"jsonrpc"`
	}
	if json.Unmarshal([]byte(line), &m) != nil || m.Version != "2.0" {
		h.p.t.Errorf("on standard output: %q", line)
	}
}

// rest reads to the end of the output, waits for the end of the process and
// returns its exit code and the answers.
func (h *lineHost) rest() (code int, answers []string) {
	h.p.t.Helper()
	for {
		line, err := h.read.ReadString('\n')
		if err != nil {
			break
		}
		h.message(line)
		answers = append(answers, line)
	}
	_ = h.cmd.Wait()
	return h.cmd.ProcessState.ExitCode(), answers
}

// TestMCP_02_HostClosesOutput: the process does not die of the closed pipe: what
// is under way is recorded, and it ends with a word about why.
func TestMCP_02_HostClosesOutput(t *testing.T) {
	p := newPlace(t)
	h := p.lineHost()
	h.say(sayCall(1, "run_start", "{}"))
	h.hear()
	h.out.Close()
	for i := range 4 {
		h.say(sayCall(i+2, "run_start", "{}"))
	}
	_ = h.cmd.Wait()
	if got := h.cmd.ProcessState.ExitCode(); got != ExitOK || !strings.Contains(h.errs.String(), "takes no more answers") {
		t.Errorf("exit %d: %s", got, h.errs.String())
	}
	if got := len(p.runs()); got < 2 {
		t.Errorf("%d runs, want the answered one and those that were under way", got)
	}
	p.ok("doctor")
}

// TestMCP_Signal: a signal ends the process with its code; calls under way are
// answered, and only messages come out.
func TestMCP_Signal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(sig) { // as nohup has it, and those started here inherit
			continue
		}
		p := newPlace(t)
		h := p.lineHost()
		for i := range 8 {
			h.say(sayCall(i+1, "run_start", "{}"))
		}
		heard := h.hear()
		if err := h.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		code, answers := h.rest()
		if code != ExitInterrupted || strings.Contains(h.errs.String(), "goroutine") {
			t.Errorf("%v: exit %d: %s", sig, code, h.errs.String())
		}
		for _, a := range append(answers, heard) {
			if strings.Contains(a, `"error"`) {
				t.Errorf("%v: %s", sig, a)
			}
		}
		if runs := len(p.runs()); runs < 1+len(answers) {
			t.Errorf("%v: %d runs, but %d answers", sig, runs, 1+len(answers))
		}
	}
}

// TestMCP_FullDisk: a call that cannot be recorded says so in words; the rest
// goes on, and after there is room the call does too.
func TestMCP_FullDisk(t *testing.T) {
	p, disk := smallDisk(t)
	if p == nil {
		return
	}
	h := p.lineHost()
	h.say(sayCall(1, "run_start", "{}"))
	h.hear()
	makeRoom := fillUp(t, disk, 4<<20)
	h.say(sayCall(2, "sales_order_list_blocked", `{"sales_organization":"1010"}`))
	if got := h.hear(); !strings.Contains(got, "The disk is full; nothing was recorded.") || !strings.Contains(got, `"isError":true`) {
		t.Errorf("on a full disk: %s", got)
	}
	h.say(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	if got := h.hear(); !strings.Contains(got, "run_status") {
		t.Errorf("the list: %s", got)
	}
	makeRoom()
	h.say(sayCall(4, "sales_order_list_blocked", `{"sales_organization":"1010"}`))
	if got := h.hear(); strings.Contains(got, `"isError":true`) {
		t.Errorf("with room again: %s", got)
	}
	h.in.Close()
	if code, answers := h.rest(); code != ExitOK || len(answers) != 0 {
		t.Errorf("the end: exit %d, %q", code, answers)
	}
}

// TestMCP_StreamOfLines: what is no message is answered, whatever it is, and
// nothing but messages comes out; the end of the input answers what was taken.
func TestMCP_StreamOfLines(t *testing.T) {
	p := newPlace(t)
	h := p.lineHost("--simulate", "outage")
	bad := []string{"\x00\x01\x02", "{", "hello", `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `[]`, `null`, `"x"`, strings.Repeat("y", 2<<20),
		`{"jsonrpc":"2.0","id":2,"method":"no/such"}`, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":4,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"no"}}`, `{"jsonrpc":"2.0","id":6,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/none"}`,
		`{"jsonrpc":"2.0","id":7,"method":"tasks/list"}`, `{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"debug"}}`}
	go func() {
		h.say(bad...)
		h.say(sayCall(100, "sales_order_list_blocked", `{"sales_organization":"1010"}`))
		h.in.Close()
	}()
	code, answers := h.rest()
	if code != ExitOK {
		t.Errorf("exit %d: %s", code, h.errs.String())
	}
	if !strings.Contains(strings.Join(answers, ""), `"id":100,"result"`) {
		t.Error("the call is not answered")
	}
}

// TestMCP_TakeOver: three hosts on one store; its owner is killed, or ended,
// while the others have calls under way. All of those are answered, none is
// made twice, and the others go on.
func TestMCP_TakeOver(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		p := newPlace(t)
		owner := p.lineHost()
		owner.say(sayCall(1, "run_start", "{}"))
		owner.hear()
		const each = 60
		others := []*lineHost{p.lineHost(), p.lineHost()}
		var wg sync.WaitGroup
		for n, h := range others {
			wg.Go(func() {
				for i := range each {
					h.say(sayCall(i+1, "run_start", "{}"))
				}
			})
			wg.Go(func() {
				for i := range each {
					if got := h.hear(); strings.Contains(got, `"isError":true`) || strings.Contains(got, `"error"`) {
						t.Errorf("%v: %s", sig, got)
					}
					if n == 0 && i == each/4 {
						if err := owner.cmd.Process.Signal(sig); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		if got := len(p.runs()); got != 1+2*each {
			t.Errorf("%v: %d runs, want %d", sig, got, 1+2*each)
		}
		p.ok("doctor")
	}
}
