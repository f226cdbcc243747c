//go:build linux

package runstore

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk is a mount of n bytes, or "" where none is permitted.
func smallDisk(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprint("size=", n)); err != nil {
		t.Logf("no mount here: %v", err)
		return ""
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// ballast fills the disk up to left bytes.
func ballast(t *testing.T, dir string, left uint64) (remove func()) {
	t.Helper()
	free, err := freeBytes(dir)
	if err != nil || free < left {
		t.Fatalf("%d bytes free, %v", free, err)
	}
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err == nil {
		err = syscall.Fallocate(int(f.Fd()), 0, 0, int64(free-left))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// diskTest writes records until the disk is full.
type diskTest struct {
	*testing.T
	disk, dir string
	store     *Store
	acked     int
}

func (d *diskTest) write() error {
	err := d.store.Update(d.Context(), func(tx *Tx) error {
		return errors.Join(bump(tx, "all"), tx.Put(NewKey("rec", Seq(d.acked)), text(60000)))
	})
	if err == nil {
		d.acked++
	}
	return err
}

func (d *diskTest) wantFull(err error) {
	d.Helper()
	var full *DiskFullError
	if !errors.As(err, &full) || full.Dir != d.dir {
		d.Fatalf("got %v, want a DiskFullError", err)
	}
}

// wantAll finds everything that was acknowledged.
func (d *diskTest) wantAll() {
	d.Helper()
	if got := counter(d.T, d.store, "all"); got != d.acked {
		d.Errorf("%d there, %d acknowledged", got, d.acked)
	}
	err := d.store.View(d.Context(), func(tx *Tx) error {
		for i := range d.acked {
			var v string
			if err := tx.Get(NewKey("rec", Seq(i)), &v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.Error(err)
	}
}

func TestFullDisk(t *testing.T) {
	disk := smallDisk(t, 224<<20)
	if disk == "" {
		fullByOption(t)
		return
	}
	dir := filepath.Join(disk, "store")
	d := &diskTest{T: t, disk: disk, dir: dir, store: openTest(t, Options{Dir: dir})}
	for _, left := range []uint64{DefaultMinFree + 10<<20, DefaultMinFree / 2, 0} {
		for range 30 {
			if err := d.write(); err != nil {
				t.Fatal(err)
			}
		}
		remove := ballast(t, disk, left)
		var err error
		for err == nil {
			err = d.write()
		}
		d.wantFull(err)
		d.wantAll()
		remove()
	}
	closeTest(t, d.store)
	d.endOnFullDisk()
	d.wantAll()
}

// endOnFullDisk lets a process end on a full disk: it keeps its log, and the
// store opens once there is space.
func (d *diskTest) endOnFullDisk() {
	d.Helper()
	c := startChild(d.T, "hold", d.dir, "a")
	d.store = openTest(d.T, Options{Dir: d.dir})
	if err := d.write(); err != nil {
		d.Fatal(err)
	}
	closeTest(d.T, d.store)
	remove := ballast(d.T, d.disk, 0)
	c.in.Close()
	if c.line(); !strings.HasPrefix(c.last, "error disk full") {
		d.Errorf("the child said %q", c.last)
	}
	c.kill()
	_, err := Open(d.Context(), Options{Dir: d.dir})
	d.wantFull(err)
	remove()
	d.store = openTest(d.T, Options{Dir: d.dir})
}

// fullByOption asks for more free bytes than any disk has.
func fullByOption(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, Options{Dir: dir})
	if err := s.Update(t.Context(), count("a")); err != nil {
		t.Fatal(err)
	}
	closeTest(t, s)
	s = openTest(t, Options{Dir: dir, MinFree: math.MaxUint64 / 2})
	var full *DiskFullError
	if err := s.Update(t.Context(), count("a")); !errors.As(err, &full) {
		t.Fatalf("got %v, want a DiskFullError", err)
	}
	if got := counter(t, s, "a"); got != 1 {
		t.Errorf("counter %d, want 1", got)
	}
}

func TestFullByOption(t *testing.T) { fullByOption(t) }

// TestViewAfterAFailedSync: views go on and show what is durable, not what may
// have become so.
func TestViewAfterAFailedSync(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()})
	if err := s.Update(t.Context(), count("a")); err != nil {
		t.Fatal(err)
	}
	w := s.way.(*host).engine.wal
	good := w.file
	bad, err := os.OpenFile("/dev/null", os.O_RDWR, 0) // it cannot be synced
	if err != nil {
		t.Fatal(err)
	}
	w.file, w.ready = bad, walSize
	if err := s.Update(t.Context(), count("a")); err == nil {
		t.Fatal("a step whose sync failed is recorded")
	}
	shown := -1
	err = s.View(t.Context(), func(tx *Tx) error { return tx.Get(counterKey("a"), &shown) })
	if err != nil || shown != 1 {
		t.Errorf("a view shows %d, %v; want 1", shown, err)
	}
	w.file = good
	_ = bad.Close()
}
