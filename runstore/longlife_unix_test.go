//go:build unix

package runstore

import (
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
		if err := e.put(o); err != nil {
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
