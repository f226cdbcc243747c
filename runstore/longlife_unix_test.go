//go:build unix

package runstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestManyDeadLanes: what thousands of processes that are gone have left is
// removed in several transactions; it never keeps the store from opening.
func TestManyDeadLanes(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, Options{Dir: dir, NoSync: true})
	e := s.way.(*host).engine
	for range 14 {
		o := newOverlay(nil)
		for j := range 1000 {
			if err := putLast(o, laneName(randomID(), int64(j)), 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(e.put(o), e.sync()); err != nil {
			t.Fatal(err)
		}
	}
	closeTest(t, s)
	s = openTest(t, Options{Dir: dir, NoSync: true})
	left := 0
	err := s.read(t.Context(), func(r reader, _ time.Time) error {
		left = 0
		return r.scan(lanePrefix, lanePrefix, func(string, func() ([]byte, error)) (bool, error) { left++; return true, nil })
	})
	if err != nil || left != 0 {
		t.Errorf("%d lanes left, %v", left, err)
	}
}

// TestClockSetBack: time stands still for no longer than the jump takes; it
// never goes back, and it goes on.
func TestClockSetBack(t *testing.T) {
	at := time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC)
	c := clock{source: func() time.Time { return at }}
	first := c.now()
	at = at.Add(-24 * time.Hour)
	if got := c.now(); !got.Equal(first) {
		t.Errorf("after the jump %s, want %s", got, first)
	}
	at = at.Add(time.Hour)
	if got, want := c.now(), first.Add(time.Hour); !got.Equal(want) {
		t.Errorf("an hour later %s, want %s", got, want)
	}
	at = first.Add(48 * time.Hour)
	if got := c.now(); !got.Equal(at) {
		t.Errorf("ahead again %s, want %s", got, at)
	}
}

// TestSocketIsTheOwners: whatever the umask and the directory's rights, nobody
// else may connect.
func TestSocketIsTheOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	old := syscall.Umask(0o002)
	defer syscall.Umask(old)
	if err := os.Mkdir(dir, 0o775); err != nil {
		t.Fatal(err)
	}
	openTest(t, Options{Dir: dir, NoSync: true})
	info, err := os.Stat(filepath.Join(dir, socketName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestDamageShowsNoGoType: people read what is wrong with a record.
func TestDamageShowsNoGoType(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	id := "20261006-004349-d40a1b2c"
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(runKey(id), map[string]any{"seq": "x"}) }); err != nil {
		t.Fatal(err)
	}
	err := s.View(t.Context(), func(tx *Tx) error { _, err := tx.Run(id); return err })
	want := "store damaged: run/" + id + ": record does not decode: field seq has the wrong type; restore it from a backup"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestLoserHeedsItsContext: a step that lost a race waits for the others no
// longer than its caller wants.
func TestLoserHeedsItsContext(t *testing.T) {
	dir := t.TempDir()
	owner := openTest(t, Options{Dir: dir, NoSync: true})
	other := openTest(t, Options{Dir: dir, NoSync: true})
	r := other.way.(*remote)
	r.losers <- struct{}{} // another step is at its second try, and stays there
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := other.Update(ctx, func(tx *Tx) error {
		runs++
		err := owner.Update(t.Context(), count("owner")) // somebody else is first
		cancel()
		return errors.Join(err, count("other")(tx))
	})
	if !errors.Is(err, context.Canceled) || runs != 1 || counter(t, owner, "other") != 0 {
		t.Errorf("got %v after %d tries, want canceled after one", err, runs)
	}
	<-r.losers
}
