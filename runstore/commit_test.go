package runstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestFailedStepsLeaveNoTrace(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	k := NewKey("k")
	write := func(tx *Tx) error {
		return errors.Join(tx.Put(k, "mine"), tx.Delete(counterKey("all")), tx.Put(NewKey("other"), 1))
	}
	for _, c := range []struct {
		name string
		fn   func(*Tx) error
		want any
	}{
		{"error", func(tx *Tx) error { return errors.Join(write(tx), errOnPurpose) }, nil},
		{"panic", func(tx *Tx) error { _ = write(tx); panic("on purpose") }, new(*PanicError)},
		{"too large", func(tx *Tx) error {
			return errors.Join(write(tx), tx.Put(NewKey("large"), strings.Repeat("x", MaxRecord)))
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := s.Update(t.Context(), count("me")); err != nil {
				t.Fatal(err)
			}
			before := counter(t, s, "all")
			err := s.Update(t.Context(), c.fn)
			if err == nil || c.want != nil && !errors.As(err, c.want) {
				t.Fatalf("got %v", err)
			}
			var text string
			err = s.View(t.Context(), func(tx *Tx) error { return tx.Get(k, &text) })
			if !errors.Is(err, ErrNotFound) || counter(t, s, "all") != before {
				t.Errorf("left %q (%v) and counter %d, want nothing and %d", text, err, counter(t, s, "all"), before)
			}
		})
	}
}

// A step that ends its goroutine, as t.Fatal does, blocks nobody.
func TestStepThatEndsItsGoroutine(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	done := make(chan bool)
	go func() {
		defer close(done)
		_ = s.Update(context.Background(), func(tx *Tx) error {
			_ = tx.Put(NewKey("k"), 1)
			runtime.Goexit()
			return nil
		})
	}()
	<-done
	if err := s.Update(t.Context(), count("me")); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := s.View(t.Context(), func(tx *Tx) error { return tx.Get(NewKey("k"), &n) }); !errors.Is(err, ErrNotFound) {
		t.Errorf("its write is there: %v", err)
	}
}

func TestViewIsReadOnly(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	err := s.View(t.Context(), func(tx *Tx) error {
		put, del := tx.Put(NewKey("k"), 1), tx.Delete(NewKey("k"))
		if !errors.Is(put, ErrReadOnlyTx) || !errors.Is(del, ErrReadOnlyTx) {
			t.Errorf("put: %v, delete: %v", put, del)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// 64 writers share commits and count without a gap, though every third step fails.
func TestWritersShareCommits(t *testing.T) {
	const writers, each = 64, 30
	s := openTest(t, Options{Dir: t.TempDir()})
	var wg sync.WaitGroup
	var failed atomic.Int64
	for range writers {
		wg.Go(func() {
			for i := range each {
				err := s.Update(t.Context(), func(tx *Tx) error {
					if err := bump(tx, "all"); err != nil || i%3 > 0 {
						return err
					}
					return errOnPurpose
				})
				if errors.Is(err, errOnPurpose) {
					failed.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, want := failed.Load(), int64(writers*each/3); got != want {
		t.Errorf("%d steps failed, want %d", got, want)
	}
	steps := writers * each * 2 / 3
	if got := counter(t, s, "all"); got != steps {
		t.Errorf("counter %d, want %d", got, steps)
	}
	if s.Commits() >= int64(steps) {
		t.Errorf("%d commits for %d steps: none shared", s.Commits(), steps)
	}
}

// What a step has seen of another's is durable before it hears of its end.
func TestStepsFallWithTheBatchTheyReadFrom(t *testing.T) {
	holding, release := make(chan bool), make(chan bool)
	s := openTest(t, Options{InMemory: true, OnCommit: func(n int) error {
		if n == 1 {
			close(holding)
			<-release
			return errOnPurpose
		}
		return nil
	}})
	first := make(chan error, 1)
	go func() { first <- s.Update(context.Background(), count("a")) }()
	<-holding // the first commit is on its way
	saw := make(chan int, 1)
	second := make(chan error, 1)
	go func() {
		second <- s.Update(context.Background(), func(tx *Tx) error {
			var n int
			err := tx.Get(counterKey("a"), &n)
			saw <- n
			return errors.Join(err, errors.New("a refusal that rests on it"))
		})
	}()
	if n := <-saw; n != 1 {
		t.Fatalf("the second step saw %d, want the first one's 1", n)
	}
	close(release)
	for i, c := range []chan error{first, second} {
		if err := <-c; !errors.Is(err, errOnPurpose) {
			t.Errorf("step %d: got %v, want the lost commit", i+1, err)
		}
	}
}

func TestCancelledUpdate(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	t.Run("before its turn", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		waiting, goOn, done := make(chan bool), make(chan bool), make(chan error, 1)
		go s.Update(context.Background(), func(*Tx) error { close(waiting); <-goOn; return nil })
		<-waiting
		go func() { done <- s.Update(ctx, count("late")) }()
		cancel()
		err := <-done
		close(goOn)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing recorded") {
			t.Errorf("got %v", err)
		}
		if n := counter(t, s, "late"); n != 0 {
			t.Errorf("counted %d", n)
		}
	})
	t.Run("once it has run", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Update(ctx, func(tx *Tx) error { cancel(); return count("early")(tx) })
		if n := counter(t, s, "early"); (err == nil) != (n == 1) {
			t.Errorf("got %v, counted %d", err, n)
		}
	})
}

// A step far larger than a Badger transaction is all or nothing, at every
// commit record that a crash can hit.
func TestLargeStep(t *testing.T) {
	const n = 30000
	put := func(tx *Tx) error {
		for i := range n {
			if err := tx.Put(NewKey("rec", Seq(i)), text(200)); err != nil {
				return err
			}
		}
		return tx.Delete(NewKey("rec", "old"))
	}
	dir := t.TempDir()
	s := openTest(t, Options{Dir: dir, NoSync: true})
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(NewKey("rec", "old"), 1) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	closeTest(t, s)
	s = openTest(t, Options{Dir: dir, NoSync: true})
	got := 0
	err := s.View(t.Context(), func(tx *Tx) error {
		return tx.Scan(NewKey("rec"), "", func(rest string, get func(any) error) (bool, error) {
			var v string
			got++
			return true, get(&v)
		})
	})
	if err != nil || got != n {
		t.Errorf("%d records, %v, want %d", got, err, n)
	}
	r, err := s.Check(t.Context(), func(p Problem) { t.Errorf("problem: %v", p) })
	if err != nil || r.Records < n || r.Records > n+10 {
		t.Errorf("check: %+v, %v", r, err)
	}
}

// A crash within a large step: before its redo records are valid nothing is
// there, after it everything.
func TestLargeStepInterrupted(t *testing.T) {
	o := newOverlay(nil)
	for i := range 20000 {
		frame, _ := sealJSON("rec/"+Seq(i), text(100))
		o.put("rec/"+Seq(i), frame)
	}
	for _, valid := range []bool{false, true} {
		t.Run(fmt.Sprint("valid ", valid), func(t *testing.T) {
			dir := t.TempDir()
			s := openTest(t, Options{Dir: dir, NoSync: true})
			e := s.way.(*host).engine
			chunks := redoChunks(o)
			for i, c := range chunks {
				k := redoPrefix + Seq(i)
				if err := errors.Join(e.put(oneRecord(k, seal(k, append(make([]byte, frameHead), c...)))), e.sync()); err != nil {
					t.Fatal(err)
				}
			}
			want := 0
			if valid {
				frame, _ := sealJSON(redoValid, len(chunks))
				if err := e.put(oneRecord(redoValid, frame)); err != nil {
					t.Fatal(err)
				}
				want = len(o.keys)
			}
			closeTest(t, s)
			if got := afterRedo(t, openTest(t, Options{Dir: dir, NoSync: true})); got != want {
				t.Errorf("%d records, want %d", got, want)
			}
		})
	}
}

// afterRedo counts the records of a large step; none of its redo records may
// be left.
func afterRedo(t *testing.T, s *Store) (n int) {
	t.Helper()
	err := s.way.read(t.Context(), func(r reader, _ time.Time) error {
		return r.scan("", "", func(k string, _ func() ([]byte, error)) (bool, error) {
			if strings.HasPrefix(k, "rec/") {
				n++
			} else if strings.HasPrefix(k, redoPrefix) || k == redoValid {
				t.Errorf("%s is left", k)
			}
			return true, nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestStepOverItsLimit(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	err := s.Update(t.Context(), func(tx *Tx) error {
		for i := 0; ; i++ {
			if err := tx.Put(NewKey("rec", Seq(i)), text(60000)); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestIOErrorStopsTheStore(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()})
	if err := s.Update(t.Context(), count("me")); err != nil {
		t.Fatal(err)
	}
	s.way.(*host).wal.file.Close() // the next sync fails
	err := s.Update(t.Context(), count("me"))
	if err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("the failing step: %v", err)
	}
	if err := s.Update(t.Context(), count("me")); !errors.Is(err, ErrFailed) {
		t.Errorf("the next step: %v, want ErrFailed", err)
	}
	if n := counter(t, s, "me"); n == 0 {
		t.Error("reads fail too")
	}
}

func TestSTA25_ShutdownSequence(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()})
	running, goOn, done := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		done <- s.Update(context.Background(), func(tx *Tx) error { close(running); <-goOn; return bump(tx, "all") })
	}()
	<-running
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	view := func() error { return s.View(t.Context(), func(*Tx) error { return nil }) }
	err := view()
	for err == nil { // until Close has begun
		err = view()
	}
	if !errors.Is(err, ErrClosed) {
		t.Errorf("late view: %v, want ErrClosed", err)
	}
	if err := s.Update(t.Context(), count("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("late step: %v, want ErrClosed", err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Errorf("step under way: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	s = openTest(t, Options{Dir: s.Dir()})
	if n := counter(t, s, "all"); n != 1 {
		t.Errorf("counter %d, want 1", n)
	}
}

func TestSTA18_ClockGoesBack(t *testing.T) {
	at := time.Date(2026, 10, 6, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return at }
	dir := t.TempDir()
	s := openTest(t, Options{Dir: dir, Clock: clock})
	var queued time.Time
	if err := s.Update(t.Context(), func(tx *Tx) error { queued = tx.Now(); return tx.Put(NewKey("k"), 1) }); err != nil {
		t.Fatal(err)
	}
	now := func() (now time.Time) {
		t.Helper()
		if err := s.View(t.Context(), func(tx *Tx) error { now = tx.Now(); return nil }); err != nil {
			t.Fatal(err)
		}
		return now
	}
	at = at.Add(-2 * time.Hour)
	if got := now(); got.Before(queued) {
		t.Errorf("two hours back: %v, before %v", got, queued)
	}
	closeTest(t, s)
	s = openTest(t, Options{Dir: dir, Clock: clock})
	if got := now(); got.Before(queued) {
		t.Errorf("after a restart: %v, before %v", got, queued)
	}
	at = at.Add(10 * time.Hour) // asleep
	if got := now(); !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("eight hours on: %v, want %v", got, at)
	}
}
