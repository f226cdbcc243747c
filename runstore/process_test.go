package runstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestSTA07_SecondProcess(t *testing.T) {
	dir := t.TempDir()
	a := startChild(t, "hold", dir, "a")
	s := openTest(t, Options{Dir: dir})
	if pid, command, self := s.Owner(); self || pid != a.cmd.Process.Pid || command != "child a" {
		t.Errorf("owner %d %q %v, want process %d", pid, command, self, a.cmd.Process.Pid)
	}
	for range 3 {
		if err := s.Update(t.Context(), count("b")); err != nil {
			t.Fatal(err)
		}
	}
	if n := counter(t, s, "all"); n != 3 {
		t.Errorf("counter %d, want 3", n)
	}
	if r, err := s.Check(t.Context(), func(p Problem) { t.Errorf("problem: %v", p) }); err != nil || r.Records < 3 {
		t.Errorf("check: %+v, %v", r, err)
	}
	a.finish()
	if err := s.Update(t.Context(), count("b")); err != nil {
		t.Fatal(err)
	}
	if _, _, self := s.Owner(); !self {
		t.Error("nobody took over")
	}
	if n := counter(t, s, "all"); n != 4 {
		t.Errorf("counter %d, want 4", n)
	}
}

// An owner that is stopped, or does not answer, is named, within bounds, and
// everything goes on once it answers again.
func TestSTA07_OwnerStopped(t *testing.T) {
	dir := t.TempDir()
	a := startChild(t, "hold", dir, "a")
	s := openTest(t, Options{Dir: dir, limits: quick()})
	signal := func(sig syscall.Signal) {
		t.Helper()
		if err := a.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	wantLocked := func(err error) {
		t.Helper()
		var l *LockedError
		if !errors.As(err, &l) || l.PID != a.cmd.Process.Pid || l.Command != "child a" {
			t.Errorf("got %v, want a LockedError for process %d", err, a.cmd.Process.Pid)
		}
		if err != nil && strings.Contains(err.Error(), "LOCK") {
			t.Errorf("%q speaks of lock files", err)
		}
	}
	signal(syscall.SIGSTOP)
	var state syscall.WaitStatus // the signal is sent; its other threads may still run
	if _, err := syscall.Wait4(a.cmd.Process.Pid, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() {
		t.Fatalf("not stopped: %v, %v", state, err)
	}
	_, err := Open(t.Context(), Options{Dir: dir, limits: quick()})
	wantLocked(err)
	wantLocked(s.Update(t.Context(), count("b")))
	wantLocked(s.View(t.Context(), func(*Tx) error { return nil }))
	signal(syscall.SIGCONT)
	if err := s.Update(t.Context(), count("b")); err != nil {
		t.Fatal(err)
	}
	if n := counter(t, s, "b"); n != 1 {
		t.Errorf("counter %d, want 1: what was refused happened", n)
	}
}

// Clients count while their owner is killed, again and again: nothing that was
// acknowledged is lost, nothing is there twice.
func TestOwnerKilled(t *testing.T) {
	const clients, each, rounds = 3, 150, 4
	dir := t.TempDir()
	total := 0
	for round := range rounds {
		owner := startChild(t, "count", dir, fmt.Sprint("owner", round))
		var group []*child
		for i := range clients {
			group = append(group, startChild(t, fmt.Sprint(each), dir, fmt.Sprint("client", round, "-", i)))
		}
		for owner.line() && owner.acked() < 20+30*round {
		}
		owner.kill()
		acked := owner.acked()
		for _, c := range group {
			c.finish()
		}
		s := openTest(t, Options{Dir: dir})
		own := counter(t, s, fmt.Sprint("owner", round))
		if own < acked || own > acked+1 {
			t.Errorf("round %d: the owner was told %d, the store has %d", round, acked, own)
		}
		total += own
		for i := range clients {
			got := counter(t, s, fmt.Sprint("client", round, "-", i))
			if got != each {
				t.Errorf("round %d: client %d was told %d, the store has %d", round, i, each, got)
			}
			total += got
		}
		if got := counter(t, s, "all"); got != total {
			t.Errorf("round %d: all have counted %d, the store has %d", round, total, got)
		}
		closeTest(t, s)
	}
}

func TestSTA15_KillInAWriteLoop(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	least := 0
	for range 16 {
		c := startChild(t, "count", dir, "a")
		for stop := r.IntN(120); c.acked() < stop && c.line(); {
		}
		c.kill() // reads on what was acknowledged meanwhile
		s := openTest(t, Options{Dir: dir})
		got := counter(t, s, "a")
		if acked := c.acked(); got < least+acked || got > least+acked+1 || got != counter(t, s, "all") {
			t.Fatalf("%d before, %d acknowledged, %d there", least, acked, got)
		}
		least = got
		if _, err := s.Check(t.Context(), func(p Problem) { t.Errorf("problem: %v", p) }); err != nil {
			t.Fatal(err)
		}
		closeTest(t, s)
	}
}

// storesOf opens n stores of one directory. The first owns it.
func storesOf(t *testing.T, dir string, n int) (all []*Store) {
	t.Helper()
	for i := range n {
		s := openTest(t, Options{Dir: dir, Command: fmt.Sprint("store ", i), NoSync: true})
		if _, command, self := s.Owner(); self != (i == 0) || command != "store 0" {
			t.Errorf("store %d: owner %q, itself %v", i, command, self)
		}
		all = append(all, s)
		if s.ID() != all[0].ID() {
			t.Errorf("store %d has another id", i)
		}
	}
	return all
}

// Several stores of one directory in one process: one owns it, all count, and
// in the middle of it the owner ends.
func TestTakeOverWithinAProcess(t *testing.T) {
	const stores, writers, each = 4, 4, 60
	all := storesOf(t, t.TempDir(), stores)
	var wg sync.WaitGroup
	var closed, acked atomic.Int64
	work := func(s *Store, name string) {
		for range each {
			err := s.Update(context.Background(), count(name))
			switch {
			case errors.Is(err, ErrClosed) && s == all[0]:
				closed.Add(1)
				return
			case err != nil:
				t.Errorf("store %s: %v", name, err)
				return
			case acked.Add(1) == stores*each/2:
				closeTest(t, all[0])
			}
		}
	}
	for i, s := range all {
		for range writers {
			wg.Go(func() { work(s, fmt.Sprint(i)) })
		}
	}
	wg.Wait()
	if got := counter(t, all[1], "all"); got != int(acked.Load()) {
		t.Errorf("counter %d, acknowledged %d", got, acked.Load())
	}
	if closed.Load() > writers {
		t.Errorf("%d writers were told that the store is closed", closed.Load())
	}
}

// A remote step sees the race it lost: counting from many stores at once
// misses nothing, and scans are held against what was added meanwhile.
func TestRemoteRaces(t *testing.T) {
	const stores, writers, each = 3, 4, 25
	dir := t.TempDir()
	owner := openTest(t, Options{Dir: dir, NoSync: true})
	var wg sync.WaitGroup
	work := func(s *Store, name string) {
		for n := range each {
			if err := s.Update(t.Context(), appendEntry(fmt.Sprint(name, "-", n))); err != nil {
				t.Error(err)
				return
			}
		}
	}
	for i := range stores {
		s := openTest(t, Options{Dir: dir})
		for w := range writers {
			wg.Go(func() { work(s, fmt.Sprint(i, "-", w)) })
		}
	}
	wg.Go(func() { work(owner, "own") })
	wg.Wait()
	n, seen := 0, map[string]bool{}
	err := owner.View(t.Context(), func(tx *Tx) error {
		return tx.Scan(NewKey("log"), "", func(rest string, get func(any) error) (bool, error) {
			var who string
			err := get(&who)
			if rest != Seq(n) || seen[who] {
				t.Errorf("entry %s of %s, want number %d, each once", rest, who, n)
			}
			seen[who] = true
			n++
			return true, err
		})
	})
	if want := stores*writers*each + each; err != nil || n != want {
		t.Errorf("%d entries, %v, want %d", n, err, want)
	}
}

// appendEntry adds an entry after the last one, which it finds by a scan.
func appendEntry(who string) func(*Tx) error {
	return func(tx *Tx) error {
		n := 0
		err := tx.Scan(NewKey("log"), "", func(string, func(any) error) (bool, error) { n++; return true, nil })
		return errors.Join(err, tx.Put(NewKey("log", Seq(n)), who))
	}
}

// A commit whose answer was lost is found, or kept from happening, not guessed.
func TestSettle(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	c := &commit{Lane: "a/1", N: 1, Puts: []record{}}
	apply := func() error { return s.way.do(t.Context(), c.apply) }
	ask := func(n int) (done bool) {
		t.Helper()
		err := s.way.do(t.Context(), func(w *overlay, _ time.Time) (err error) {
			done, err = settle(w, "a/1", n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if err := apply(); err != nil {
		t.Fatalf("applied commit: %v", err)
	}
	for range 2 {
		if !ask(1) {
			t.Error("an applied commit is not found")
		}
	}
	if err := apply(); !errors.Is(err, errStale) {
		t.Errorf("applied again: %v, want errStale", err)
	}
	for range 2 {
		if ask(2) {
			t.Error("a commit that never came is taken as applied")
		}
	}
	c.N, c.Last = 2, 1
	if err := apply(); !errors.Is(err, errStale) {
		t.Errorf("late commit: %v, want errStale", err)
	}
}

// Other processes cannot write what no step could.
func TestRemoteWritesAreChecked(t *testing.T) {
	good, _ := sealJSON("a/b", 1)
	for _, p := range []record{
		{Key: "a/b", Frame: good[1:]}, {Key: "a/c", Frame: good}, {Key: "a//b", Gone: true}, {Key: "store/id", Gone: true},
		{Key: "a/", Gone: true}, {Key: "", Gone: true}, {Key: "a b", Gone: true},
	} {
		w := newOverlay(nil)
		if err := p.put(w); err == nil || len(w.keys) > 0 {
			t.Errorf("%q was taken", p.Key)
		}
	}
}

// impatient opens an owner and a store that works through it; snapshots and
// turns without a request are taken away at once.
func impatient(t *testing.T) (owner, s *Store) {
	t.Helper()
	dir := t.TempDir()
	lim := defaultLimits()
	lim.idle, lim.alone = 20*time.Millisecond, 20*time.Millisecond
	owner = openTest(t, Options{Dir: dir, limits: lim})
	if err := owner.Update(t.Context(), count("a")); err != nil {
		t.Fatal(err)
	}
	return owner, openTest(t, Options{Dir: dir, limits: lim})
}

// A snapshot, or a turn, in which nothing happens is taken away.
func TestSilentSnapshot(t *testing.T) {
	owner, s := impatient(t)
	r := s.way.(*remote)
	for _, alone := range []bool{false, true} {
		state, err := r.begin(t.Context(), true, alone)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := state.lane.Read(make([]byte, 1)); err == nil {
			t.Errorf("alone %v: the owner did not hang up", alone)
		}
		if _, err := state.get("count/a"); !errors.Is(err, errLost) {
			t.Errorf("alone %v: got %v", alone, err)
		}
	}
	if err := owner.Update(t.Context(), count("a")); err != nil {
		t.Fatal(err)
	}
}

// A slow view is tried a few times and then given up, with a clear error.
func TestSlowView(t *testing.T) {
	_, s := impatient(t)
	n := 0
	err := s.View(t.Context(), func(tx *Tx) error {
		n++
		_, _ = tx.state.(*remoteState).lane.Read(make([]byte, 1)) // until it is taken away
		var v int
		return tx.Get(counterKey("a"), &v)
	})
	if err == nil || !strings.Contains(err.Error(), "too long") || n < 2 {
		t.Errorf("%v after %d attempts", err, n)
	}
}

// An owner can close though another process holds a snapshot.
func TestCloseUnderASnapshot(t *testing.T) {
	dir := t.TempDir()
	owner, s := openTest(t, Options{Dir: dir}), openTest(t, Options{Dir: dir})
	if err := s.Update(t.Context(), count("a")); err != nil {
		t.Fatal(err)
	}
	held, err := s.way.(*remote).begin(t.Context(), true, false)
	if err != nil {
		t.Fatal(err)
	}
	closeTest(t, owner)
	if _, err := held.get("count/a"); err == nil {
		t.Error("a snapshot outlived its owner")
	}
	if n := counter(t, s, "a"); n != 1 {
		t.Errorf("counter %d, want 1", n)
	}
}

func TestRemoteCancelled(t *testing.T) {
	dir := t.TempDir()
	openTest(t, Options{Dir: dir})
	s := openTest(t, Options{Dir: dir})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Update(ctx, func(tx *Tx) error {
		cancel()
		return count("a")(tx)
	})
	if n := counter(t, s, "a"); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("got %v, counted %d", err, n)
	}
	if err := s.View(ctx, func(*Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
}

func TestRemoteErrors(t *testing.T) {
	for _, want := range []error{
		&DamagedError{Path: "a", What: "b"}, &VersionError{Path: "c", Have: 3, Know: 2}, &DiskFullError{Dir: "d", Free: 7},
	} {
		if got := toWire(fmt.Errorf("around: %w", want)).error(); got.Error() != want.Error() {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := toWire(fmt.Errorf("%w: x", ErrFailed)).error(); !errors.Is(got, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", got)
	}
	if got := toWire(ErrClosed).error(); !errors.Is(got, errLost) {
		t.Errorf("got %v, want errLost", got)
	}
}

func TestLongDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 25), strings.Repeat("way", 30))
	a := startChild(t, "hold", dir, "a")
	s := openTest(t, Options{Dir: dir})
	if err := s.Update(t.Context(), count("b")); err != nil {
		t.Fatal(err)
	}
	if _, _, self := s.Owner(); self {
		t.Error("two owners")
	}
	a.finish()
	if n := counter(t, s, "b"); n != 1 {
		t.Errorf("counter %d, want 1", n)
	}
}

func TestAlive(t *testing.T) {
	dir := t.TempDir()
	a, b := openTest(t, Options{Dir: dir}), openTest(t, Options{Dir: dir})
	for _, c := range []struct {
		name string
		got  bool
		want bool
	}{
		{"itself", a.Alive(a.Instance()), true},
		{"the other", a.Alive(b.Instance()), true},
		{"its owner", b.Alive(a.Instance()), true},
		{"nobody", a.Alive("0123456789abcdef"), false},
		{"no id", a.Alive("../store"), false},
		{"empty", a.Alive(""), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if a.Instance() == b.Instance() {
		t.Error("two stores of one name")
	}
	closeTest(t, b)
	if a.Alive(b.Instance()) {
		t.Error("alive after close")
	}
}

func TestAliveAfterAKill(t *testing.T) {
	dir := t.TempDir()
	a := openTest(t, Options{Dir: dir})
	c := startChild(t, "hold", dir, "c")
	names, err := filepath.Glob(filepath.Join(dir, instancesName, "*"+lockSuffix))
	if err != nil || len(names) != 2 {
		t.Fatalf("instances %v, %v, want 2", names, err)
	}
	c.kill()
	for _, n := range names {
		name := strings.TrimSuffix(filepath.Base(n), lockSuffix)
		if got, want := a.Alive(name), name == a.Instance(); got != want {
			t.Errorf("after the kill %s is alive: %v, want %v", name, got, want)
		}
	}
	closeTest(t, a)
	openTest(t, Options{Dir: dir})
	if names, _ := filepath.Glob(filepath.Join(dir, instancesName, "*")); len(names) != 1 {
		t.Errorf("instances left: %v", names)
	}
}
