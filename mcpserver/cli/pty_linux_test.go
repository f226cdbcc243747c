package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal is a pseudo-terminal with one command in it, as in a window: what
// is typed goes to the command, Ctrl-C is a signal, closing it hangs up.
type terminal struct {
	t      testing.TB
	args   []string
	cmd    *exec.Cmd
	cancel context.CancelFunc
	master *os.File
	over   chan struct{} // closed when nothing more can come

	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // has an element when text has grown
}

// terminal starts a command in a terminal of so many columns.
func (p *place) terminal(columns int, env []string, args ...string) *terminal {
	p.t.Helper()
	master, slave := openPTY(p.t, columns)
	defer slave.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tm := &terminal{t: p.t, args: args, cmd: p.command(ctx, args...), cancel: cancel, master: master,
		over: make(chan struct{}), more: make(chan struct{}, 1)}
	tm.cmd.Env = append(append(tm.cmd.Env, "TERM=xterm"), env...)
	tm.cmd.Stdin, tm.cmd.Stdout, tm.cmd.Stderr = slave, slave, slave
	tm.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := tm.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go tm.read()
	p.t.Cleanup(func() { cancel(); master.Close(); _ = tm.cmd.Wait() })
	return tm
}

func openPTY(t testing.TB, columns int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var n uint32
	var unlock int32
	size := struct{ rows, columns, x, y uint16 }{24, uint16(columns), 0, 0}
	for _, call := range []struct {
		request uintptr
		arg     unsafe.Pointer
	}{
		{syscall.TIOCGPTN, unsafe.Pointer(&n)}, {syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)}, {syscall.TIOCSWINSZ, unsafe.Pointer(&size)},
	} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), call.request, uintptr(call.arg)); e != 0 {
			t.Fatal(e)
		}
	}
	if err := syscall.SetNonblock(int(master.Fd()), true); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func (tm *terminal) read() {
	defer close(tm.over)
	for b := make([]byte, 4096); ; {
		n, err := tm.master.Read(b)
		tm.mu.Lock()
		tm.text.Write(b[:n])
		tm.mu.Unlock()
		select {
		case tm.more <- struct{}{}:
		default:
		}
		if err != nil {
			return // the command has ended, or the window was closed
		}
	}
}

// screen is everything that was shown.
func (tm *terminal) screen() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return strings.ReplaceAll(tm.text.String(), "\r\n", "\n")
}

// expect waits until the terminal has shown text.
func (tm *terminal) expect(text string) {
	tm.t.Helper()
	deadline := time.After(patience)
	for !strings.Contains(tm.screen(), text) {
		select {
		case <-tm.more:
		case <-tm.over:
			if !strings.Contains(tm.screen(), text) {
				tm.t.Fatalf("orderdesk %q did not show %q:\n%s", tm.args, text, tm.screen())
			}
		case <-deadline:
			tm.t.Fatalf("orderdesk %q does not show %q:\n%s", tm.args, text, tm.screen())
		}
	}
}

// write types text.
func (tm *terminal) write(text string) {
	tm.t.Helper()
	if _, err := tm.master.WriteString(text); err != nil {
		tm.t.Fatal(err)
	}
}

// hangUp closes the window.
func (tm *terminal) hangUp() { tm.master.Close() }

// ends waits for the end and wants that exit code.
func (tm *terminal) ends(code int) string {
	tm.t.Helper()
	err := tm.cmd.Wait()
	<-tm.over
	r := resultOf(tm.args, err, &tm.text, new(bytes.Buffer))
	if r.code != code {
		tm.t.Errorf("want exit %d: %s", code, r)
	}
	return tm.screen()
}
