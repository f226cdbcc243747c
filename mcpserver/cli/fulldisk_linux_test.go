package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk is a place whose data directory lies on a file system of 256 MB of
// its own; nil where this process may not mount one.
func smallDisk(t *testing.T) (p *place, disk string) {
	t.Helper()
	p = newPlace(t)
	disk = filepath.Join(p.home, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", 0, fmt.Sprint("size=", 256<<20)); err != nil {
		t.Logf("no mount here: %v", err)
		return nil, ""
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	return placeAt(t, p.home, filepath.Join(disk, "data")), disk
}

// fillUp leaves left bytes of the disk.
func fillUp(t *testing.T, disk string, left int64) (makeRoom func()) {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(disk, &st); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(disk, "ballast")
	f, err := os.Create(path)
	if err == nil {
		err = syscall.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize-left)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return func() { remove(t, path) }
}

// TestFullDisk fills the disk beside a run, beside an approval and beside a
// resume that would create requests: exit 5, one clear sentence, nothing lost,
// and it goes on once there is room.
func TestFullDisk(t *testing.T) {
	p, disk := smallDisk(t)
	if p == nil {
		return
	}
	p.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER", "HEAD_OF_FINANCE")
	r := p.start("run", "--data", p.list(240), "--json")
	run := r.runID()
	r.line("   20  ")
	makeRoom := fillUp(t, disk, 8<<20)
	got := r.end()
	wantFull(t, got)
	saved := calls(r.seen.String())
	for _, args := range [][]string{{"resume", "--json"}, {"approve", "A1", "--as", "Maria Weber", "--json"}, {"run", "--json"}, {"status", "--json"}} {
		wantFull(t, p.do(args...))
	}
	makeRoom()
	p.ok("doctor")
	if v := p.status(run); v.Used.ToolCalls < saved[len(saved)-1].call || len(saved) < 20 {
		t.Errorf("%d calls saved, %d reported", v.Used.ToolCalls, len(saved))
	}
	p.ok("resume", run)
	p.ok("approve", "--all", "--as", "Maria Weber")
	makeRoom = fillUp(t, disk, 8<<20)
	wantFull(t, p.do("resume", run, "--json"))
	makeRoom()
	p.ok("resume", run)
	if v := p.status(run); v.Status != "done" || len(p.register()) != 120 {
		t.Errorf("the run is %s with %d requests, want done with 120", v.Status, len(p.register()))
	}
	p.ok("doctor")
}

func wantFull(t *testing.T, got result) {
	t.Helper()
	if got.code != ExitStore || !strings.Contains(got.stdout, `"code": "disk_full"`) || !strings.Contains(got.stdout, "disk full: ") ||
		!strings.Contains(got.stdout, `"hint": "make room, then orderdesk resume"`) {
		t.Errorf("want exit 5 and a full disk: %s", got)
	}
}
