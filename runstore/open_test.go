package runstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func open(dir string) error {
	s, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		return err
	}
	return s.Close()
}

func manifest(dir string) string { return filepath.Join(dir, dbName, manifestName) }

// cutManifest takes n bytes off its end.
func cutManifest(n int64) func(*testing.T, string) error {
	return func(_ *testing.T, dir string) error {
		info, err := os.Stat(manifest(dir))
		if err != nil {
			return err
		}
		return os.Truncate(manifest(dir), info.Size()-n)
	}
}

func TestSTA01_LostOrTornManifest(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string) error
	}{
		{"deleted", func(_ *testing.T, dir string) error { return os.Remove(manifest(dir)) }},
		{"last 3 bytes cut", cutManifest(3)},
		{"last entry cut", cutManifest(22)},
		{"emptied", func(_ *testing.T, dir string) error { return os.Truncate(manifest(dir), 0) }},
		{"a byte changed", func(t *testing.T, dir string) error { flip(t, manifest(dir), -1); return nil }},
		{"database emptied", func(_ *testing.T, dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, dbName)), os.Mkdir(filepath.Join(dir, dbName), 0o700))
		}},
		{"database removed", func(_ *testing.T, dir string) error { return os.RemoveAll(filepath.Join(dir, dbName)) }},
		{"a table removed", func(_ *testing.T, dir string) error { return os.Remove(tables(t, dir)[0]) }},
		{"a table cut", func(_ *testing.T, dir string) error { return os.Truncate(tables(t, dir)[0], 1000) }},
		{"sentinel removed", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, sentinelName)) }},
		{"sentinel emptied", func(_ *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, sentinelName), 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, 500)
			if err := c.damage(t, dir); err != nil {
				t.Fatal(err)
			}
			before := files(t, dir)
			wantDamaged(t, open(dir))
			sameFiles(t, before, files(t, dir))
		})
	}
}

// The MANIFEST of a store that was killed is checked too.
func TestSTA01_TornManifestAfterAKill(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 500)
	startChild(t, "hold", dir, "a").kill()
	if err := cutManifest(3)(t, dir); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	wantDamaged(t, open(dir))
	sameFiles(t, before, files(t, dir))
}

func tables(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, dbName, "*.sst"))
	if err != nil || len(names) == 0 {
		t.Fatalf("tables: %v, %v", names, err)
	}
	return names
}

// flip changes the byte at an offset, from the end if it is negative.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(raw)
	}
	raw[at] ^= 0x40
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDatabaseOfAnotherStore(t *testing.T) {
	ours, other := t.TempDir(), t.TempDir()
	fill(t, ours, 10)
	fill(t, other, 10)
	if err := os.RemoveAll(filepath.Join(ours, dbName)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(other, dbName), filepath.Join(ours, dbName)); err != nil {
		t.Fatal(err)
	}
	before := files(t, ours)
	wantDamaged(t, open(ours))
	sameFiles(t, before, files(t, ours))
}

// The damage of a value log costs nothing: no record is ever in it.
func TestSTA03_DamagedValueLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(path string) error
	}{
		{"truncated", func(p string) error { return os.Truncate(p, 0) }},
		{"deleted", os.Remove},
		{"a byte changed", func(p string) error { flip(t, p, -1); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, 500)
			logs, err := filepath.Glob(filepath.Join(dir, dbName, "*.vlog"))
			if err != nil || len(logs) == 0 {
				t.Fatal(logs, err)
			}
			for _, l := range logs {
				if err := c.damage(l); err != nil {
					t.Fatal(err)
				}
			}
			s := openTest(t, Options{Dir: dir})
			r, err := s.Check(t.Context(), func(p Problem) { t.Errorf("problem: %v", p) })
			if err != nil || r.Records < 500 {
				t.Errorf("check: %+v, %v", r, err)
			}
		})
	}
}

// A damaged record is damage, never an empty or missing one.
func TestSTA03_DamagedRecord(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	k := NewKey("run", "a")
	good, _ := sealJSON(k.path, "text")
	for _, raw := range [][]byte{{}, good[:3], append([]byte{good[0] ^ 1}, good[1:]...)} {
		if err := errors.Join(s.way.(*engine).put(oneRecord(k.path, raw)), s.way.(*engine).sync()); err != nil {
			t.Fatal(err)
		}
		var v string
		wantDamaged(t, s.View(t.Context(), func(tx *Tx) error { return tx.Get(k, &v) }))
		wantDamaged(t, s.Update(t.Context(), func(tx *Tx) error { return tx.Get(k, &v) }))
		wantDamaged(t, s.View(t.Context(), func(tx *Tx) error {
			return tx.Scan(NewKey("run"), "", func(_ string, get func(any) error) (bool, error) { return true, get(&v) })
		}))
		s.way.(*engine).cache = cache{}
	}
	r, err := s.Check(t.Context(), func(p Problem) {
		if p.Key != k.path {
			t.Errorf("problem: %v", p)
		}
	})
	if err != nil || r.Problems != 1 {
		t.Errorf("check: %+v, %v", r, err)
	}
}

// A zeroed block is found before Badger meets it; and where the damage comes
// while the store is open, Check tells of every table and survives.
func TestSTA04_ChecksumAtOpen(t *testing.T) {
	zero := func(t *testing.T, path string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(make([]byte, 4096), 4096)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("closed", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 500)
		for _, p := range tables(t, dir) {
			zero(t, p)
		}
		before := files(t, dir)
		wantDamaged(t, open(dir))
		sameFiles(t, before, files(t, dir))
	})
	t.Run("open", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 500)
		s := openTest(t, Options{Dir: dir})
		remote := openTest(t, Options{Dir: dir})
		zero(t, tables(t, dir)[0])
		for name, s := range map[string]*Store{"owner": s, "remote": remote} {
			var found []Problem
			r, err := s.Check(t.Context(), func(p Problem) { found = append(found, p) })
			if err != nil || r.Problems == 0 || len(found) != r.Problems {
				t.Errorf("%s: %+v, %v, %v", name, r, found, err)
			}
			if len(found) > 0 && found[0].Key != tables(t, dir)[0] {
				t.Errorf("%s: first problem %v, want the table", name, found[0])
			}
		}
	})
}

// A log damaged amid recorded steps is refused; its torn end is cut.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "count", dir, "a")
	for c.line() && c.acked() < 50 {
	}
	c.kill()
	acked := c.acked()
	logs, _ := filepath.Glob(filepath.Join(dir, dbName, "*.mem"))
	raw, err := os.ReadFile(logs[len(logs)-1])
	if err != nil {
		t.Fatal(err)
	}
	end := logValid(raw)
	t.Run("amid", func(t *testing.T) {
		damaged := filepath.Join(t.TempDir(), "store")
		copyTree(t, damaged, dir)
		flip(t, filepath.Join(damaged, dbName, filepath.Base(logs[len(logs)-1])), end/2)
		before := files(t, damaged)
		wantDamaged(t, open(damaged))
		sameFiles(t, before, files(t, damaged))
	})
	t.Run("torn", func(t *testing.T) {
		f, err := os.OpenFile(logs[len(logs)-1], os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt([]byte("\x40\x00\x10half of an entry"), int64(end))
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if got := counter(t, openTest(t, Options{Dir: dir}), "all"); got < acked {
			t.Errorf("counter %d, %d were acknowledged", got, acked)
		}
	})
}

func TestSTA06_ReadOnlyOrWrongPath(t *testing.T) {
	tmp := t.TempDir()
	file := filepath.Join(tmp, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(tmp, "foreign")
	if err := errors.Join(os.Mkdir(foreign, 0o700), os.WriteFile(filepath.Join(foreign, "thesis.tex"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{
		"empty path": "", "a file": file, "below a file": filepath.Join(file, "x"), "foreign": foreign, "read-only": readOnly(t),
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			err := open(dir)
			var d *DirError
			if !errors.As(err, &d) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want a DirError in one line", err)
			}
		})
	}
	left, err := os.ReadDir(foreign)
	if err != nil || len(left) != 1 {
		t.Errorf("the foreign directory now holds %v, %v", left, err)
	}
}

// readOnly is a directory this process cannot write to.
func readOnly(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ro")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 { // rights do not keep root out, a mount does
		return filepath.Join(dir, "store")
	}
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_RDONLY, "size=1m"); err != nil {
		t.Logf("no mount here (%v): a file in the way instead", err)
		return filepath.Join(os.Args[0], "store")
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	return filepath.Join(dir, "store")
}

func TestSTA17_NewerStore(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 10)
	changeSentinel(t, dir, func(m map[string]any) { m["format"] = CurrentFormat + 1 })
	before := files(t, dir)
	var v *VersionError
	if err := open(dir); !errors.As(err, &v) || v.Have != CurrentFormat+1 || v.Know != CurrentFormat {
		t.Fatalf("got %v, want a VersionError", err)
	}
	sameFiles(t, before, files(t, dir))
}

func changeSentinel(t *testing.T, dir string, change func(map[string]any)) {
	t.Helper()
	path := filepath.Join(dir, sentinelName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	change(m)
	if raw, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// makeV1 makes a store of format 1, as its program left it: runs without index.
func makeV1(t *testing.T, dir string, runs int) {
	t.Helper()
	s := openTest(t, Options{Dir: dir, NoSync: true})
	h := s.way.(*host)
	err := s.Update(t.Context(), func(tx *Tx) error {
		for i := 1; i <= runs; i++ {
			id := fmt.Sprintf("20261006-004349-%08x", i*2654435761%(1<<32))
			if err := tx.Put(NewKey("run", id), map[string]any{"id": id, "seq": i, "status": "done"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.sentinel.Format = 1
	if err := h.identify(h.sentinel); err != nil {
		t.Fatal(err)
	}
	closeTest(t, s)
}

// indexed follows the index of runs to each of n runs.
func indexed(n int) func(*Tx) error {
	return func(tx *Tx) error {
		for i := 1; i <= n; i++ {
			var id string
			var run struct{ Seq int }
			if err := tx.Get(NewKey("runs", Seq(i)), &id); err != nil {
				return err
			}
			if err := tx.Get(NewKey("run", id), &run); err != nil || run.Seq != i {
				return fmt.Errorf("index %d leads to run %d, %v", i, run.Seq, err)
			}
		}
		return nil
	}
}

func TestSTA17_OlderStoreIsMigrated(t *testing.T) {
	const runs = 2500
	dir := t.TempDir()
	makeV1(t, dir, runs)
	before := files(t, dir)

	s := openTest(t, Options{Dir: dir, NoSync: true})
	if err := s.View(t.Context(), indexed(runs)); err != nil {
		t.Error(err)
	}
	closeTest(t, s)
	sen, err := readSentinel(dir)
	if err != nil || sen.Format != CurrentFormat {
		t.Errorf("format %+v, %v", sen, err)
	}

	backups, err := filepath.Glob(filepath.Join(dir, backupPrefix+"v1-*"))
	if err != nil || len(backups) != 1 {
		t.Fatalf("backups: %v, %v", backups, err)
	}
	for path, content := range before {
		rel, _ := filepath.Rel(dir, path)
		if raw, err := os.ReadFile(filepath.Join(backups[0], rel)); err != nil || string(raw) != content {
			t.Errorf("%s is not in the backup as it was: %v", rel, err)
		}
	}
	// The backup is a store of format 1: it can be put back.
	if err := open(backups[0]); err != nil {
		t.Errorf("opening the backup: %v", err)
	}
	if err := open(dir); err != nil {
		t.Errorf("opening again: %v", err)
	}
	if again, _ := filepath.Glob(filepath.Join(dir, backupPrefix+"*")); len(again) != 1 {
		t.Errorf("backups after opening again: %v", again)
	}
}

// A migration that a crash interrupted is done again.
func TestMigrationInterrupted(t *testing.T) {
	dir := t.TempDir()
	makeV1(t, dir, 3)
	if err := open(dir); err != nil {
		t.Fatal(err)
	}
	changeSentinel(t, dir, func(m map[string]any) { m["format"] = 1; delete(m, "clean") })
	s := openTest(t, Options{Dir: dir})
	n := 0
	err := s.View(t.Context(), func(tx *Tx) error {
		return tx.Scan(NewKey("runs"), "", func(string, func(any) error) (bool, error) { n++; return true, nil })
	})
	if err != nil || n != 3 {
		t.Errorf("%d runs in the index, %v, want 3", n, err)
	}
}

// A crash between sentinel and database, or before the sentinel says that the
// database is there, leaves a store that opens.
func TestCreationInterrupted(t *testing.T) {
	for _, c := range []struct {
		name  string
		crash func(t *testing.T, dir string)
	}{
		{"before the database", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, dbName)); err != nil {
				t.Fatal(err)
			}
		}},
		{"within the database", func(t *testing.T, dir string) {
			for path := range files(t, filepath.Join(dir, dbName)) {
				if filepath.Ext(path) == ".sst" || filepath.Base(path) == manifestName {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := open(dir); err != nil {
				t.Fatal(err)
			}
			changeSentinel(t, dir, func(m map[string]any) { m["initialized"] = false; delete(m, "clean"); delete(m, "place") })
			c.crash(t, dir)
			s := openTest(t, Options{Dir: dir})
			if err := s.Update(t.Context(), count("a")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSTA13_EmptyStoreIsSmall(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, Options{Dir: dir})
	if err := s.Update(t.Context(), count("a")); err != nil {
		t.Fatal(err)
	}
	size := apparent(t, dir)
	t.Logf("apparent size open: %d KiB", size>>10)
	if size > 64<<20 {
		t.Errorf("a new store is %d MiB", size>>20)
	}
	closeTest(t, s)
	size = apparent(t, dir)
	t.Logf("apparent size closed: %d KiB", size>>10)
	if size > 4<<20 {
		t.Errorf("a new store, closed, is %d MiB", size>>20)
	}
}

func apparent(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // merged away meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSTA12_RewritingIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, Options{Dir: dir, NoSync: true})
	k, state := NewKey("state"), text(50<<10)
	most := int64(0)
	for i := range 10000 {
		if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(k, state) }); err != nil {
			t.Fatal(err)
		}
		if i%500 == 0 {
			most = max(most, apparent(t, dir))
		}
	}
	t.Logf("at most %d MiB while writing %d MiB", most>>20, 10000*len(state)>>20)
	if most > 300<<20 {
		t.Errorf("up to %d MiB on disk", most>>20)
	}
}

func TestSTA08_LeftOverLock(t *testing.T) {
	dir := t.TempDir()
	startChild(t, "hold", dir, "a").kill()
	lock := filepath.Join(dir, dbName, "LOCK")
	if _, err := os.Stat(lock); err != nil {
		t.Fatalf("nothing is left over: %v", err)
	}
	s := openTest(t, Options{Dir: dir})
	if _, _, self := s.Owner(); !self {
		t.Error("a dead process owns the store")
	}
}

// keepWriting runs steps until it is stopped.
func keepWriting(t *testing.T, s *Store) (stop func()) {
	quit, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			err := s.Update(context.Background(), func(tx *Tx) error {
				return errors.Join(bump(tx, "all"), tx.Put(NewKey("rec", Seq(i%300)), text(10000)))
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

func TestSTA14_CopyOfALiveStore(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, Options{Dir: dir, NoSync: true})
	stop := keepWriting(t, s)
	defer stop()
	opened, refused := 0, 0
	for range 8 {
		acked := counter(t, s, "all")
		to := filepath.Join(t.TempDir(), "copy")
		copyTree(t, to, dir)
		c, err := Open(t.Context(), Options{Dir: to})
		if err != nil {
			wantDamaged(t, err)
			refused++
			continue
		}
		opened++
		if got := counter(t, c, "all"); got < acked {
			t.Errorf("the copy has counted to %d, the store was at %d before", got, acked)
		}
		if _, err := c.Check(t.Context(), func(p Problem) { t.Errorf("problem: %v", p) }); err != nil {
			t.Error(err)
		}
		closeTest(t, c)
	}
	t.Logf("%d copies opened, %d refused", opened, refused)
}

// A copy is read whole before it is opened, however large it is.
func TestSTA14_CopyIsChecked(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 500)
	s, err := readSentinel(dir)
	if err != nil {
		t.Fatal(err)
	}
	place := s.Place
	s.Place++
	if err := s.save(dir); err != nil {
		t.Fatal(err)
	}
	openTest(t, Options{Dir: dir}).Close()
	if s, err = readSentinel(dir); err != nil || s.Place != place {
		t.Errorf("place %d, %v, want %d", s.Place, err, place)
	}
	all, err := liveTables(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	flip(t, tables(t, dir)[0], 2000)
	for whole, want := range map[bool]bool{true: false, false: true} {
		if err := verifyTables(all, whole); (err == nil) != want {
			t.Errorf("whole %v: %v", whole, err)
		}
	}
}
