package runstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain is also the program of the child processes the tests start.
func TestMain(m *testing.M) {
	if mode := os.Getenv("RUNSTORE_CHILD"); mode != "" {
		os.Exit(childMain(mode, os.Getenv("RUNSTORE_DIR"), os.Getenv("RUNSTORE_NAME")))
	}
	os.Exit(m.Run())
}

// childMain opens the store and says "ready", then
//
//	hold   keeps it until its input ends
//	count  counts on and says each number that is durable
//	1234   does that so often
func childMain(mode, dir, name string) int {
	s, err := Open(context.Background(), Options{Dir: dir, Command: "child " + name})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("ready")
	times := 1 << 30
	switch mode {
	case "hold":
		times = 0
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "count":
	default:
		times, _ = strconv.Atoi(mode)
	}
	for i := 1; i <= times; i++ {
		if err := s.Update(context.Background(), count(name)); err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println(i)
	}
	if err := s.Close(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("closed")
	return 0
}

func counterKey(name string) Key { return NewKey("count", name) }

// count is a step that adds one to the counter all share and to name's own.
func count(name string) func(*Tx) error {
	return func(tx *Tx) error { return errors.Join(bump(tx, "all"), bump(tx, name)) }
}

func bump(tx *Tx, name string) error {
	var n int
	if err := tx.Get(counterKey(name), &n); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return tx.Put(counterKey(name), n+1)
}

func counter(t *testing.T, s *Store, name string) int {
	t.Helper()
	var n int
	err := s.View(context.Background(), func(tx *Tx) error { return tx.Get(counterKey(name), &n) })
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatalf("reading counter %s: %v", name, err)
	}
	return n
}

// child is a process that has the store open.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.Closer
	lines *bufio.Scanner
	last  string // line
}

func startChild(t *testing.T, mode, dir, name string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNSTORE_CHILD="+mode, "RUNSTORE_DIR="+dir, "RUNSTORE_NAME="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, in: in, lines: bufio.NewScanner(out)}
	t.Cleanup(func() { c.kill() })
	c.until("ready")
	return c
}

// line is the next line of the child's output; false at its end.
func (c *child) line() bool {
	if !c.lines.Scan() {
		return false
	}
	c.last = c.lines.Text()
	if strings.HasPrefix(c.last, "error") {
		c.t.Logf("child: %s", c.last)
	}
	return true
}

func (c *child) until(line string) {
	c.t.Helper()
	for c.line() {
		if c.last == line {
			return
		}
	}
	c.t.Fatalf("child ended before it said %q; its last line: %q", line, c.last)
}

// acked is the last number the child said.
func (c *child) acked() int {
	n, _ := strconv.Atoi(c.last)
	return n
}

// kill ends the child as a crash would and reads its output to the end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	for c.line() {
	}
	_ = c.cmd.Wait()
}

// finish lets the child end by itself.
func (c *child) finish() {
	c.t.Helper()
	c.in.Close()
	c.until("closed")
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatal(err)
	}
}

func openTest(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func closeTest(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// fill makes a store with n records of 300 bytes in tables and closes it.
func fill(t *testing.T, dir string, n int) {
	t.Helper()
	s := openTest(t, Options{Dir: dir, NoSync: true})
	err := s.Update(t.Context(), func(tx *Tx) error {
		for i := range n {
			if err := tx.Put(NewKey("rec", Seq(i)), text(300)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closeTest(t, s)
}

// files is the content of every file below dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "owner.") {
			return err
		}
		raw, err := os.ReadFile(path)
		m[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sameFiles(t *testing.T, before, after map[string]string) {
	t.Helper()
	for p := range before {
		if before[p] != after[p] {
			t.Errorf("%s was changed or removed", p)
		}
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			t.Errorf("%s was made", p)
		}
	}
}

// copyTree copies a data directory as cp -r does.
func copyTree(t testing.TB, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // gone meanwhile
		}
		rel, _ := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		raw, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(to, rel), raw, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// quick are short waits for other processes that will not answer.
func quick() limits {
	l := defaultLimits()
	l.join, l.hello, l.call = 300*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
	return l
}

func wantDamaged(t *testing.T, err error) {
	t.Helper()
	var d *DamagedError
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a DamagedError", err)
	}
}
