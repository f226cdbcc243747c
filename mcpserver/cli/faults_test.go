//go:build unix

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"orderdesk/runstore"
)

// contents are the SHA-256 of every file below dir, but for lock files and
// owner.json: they say who has the store open, not what is in it.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "instances" {
			return skipped(err)
		}
		if d.Type().IsRegular() && !slices.Contains([]string{"owner.lock", "owner.json", "LOCK"}, d.Name()) {
			raw, err := os.ReadFile(path)
			sum := sha256.Sum256(raw)
			sums[strings.TrimPrefix(path, dir)] = hex.EncodeToString(sum[:4])
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func skipped(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// change rewrites the first file that matches.
func change(t testing.TB, pattern string, edit func([]byte) []byte) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	raw, err := os.ReadFile(paths[0])
	if err == nil {
		err = os.WriteFile(paths[0], edit(raw), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// flipped changes a byte in the middle of what is not zero.
func flipped(raw []byte) []byte {
	end := len(raw)
	for end > 0 && raw[end-1] == 0 {
		end--
	}
	raw[end/2] ^= 0xff
	return raw
}

func half(raw []byte) []byte { return raw[:len(raw)/2] }

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// TestUnfitStores gives every kind of unfit store to commands: one clear
// sentence with the path, the right exit code, and not one byte changed.
func TestUnfitStores(t *testing.T) {
	p, after := newPlace(t), newPlace(t)
	p.ok("run")
	after.ok("run")
	r := after.start("run", "--data", after.list(20)) // a store nobody closed
	r.line("    9  ")
	r.kill()
	other := newPlace(t)
	other.ok("agent", "add", "a")
	file := func(name string, edit func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) { change(t, filepath.Join(dir, name), edit) }
	}
	tests := []struct {
		name string
		from *place
		harm func(t *testing.T, dir string)
		code int
		says string // beside the path
	}{
		{"a table with a flipped byte", p, file("db/*.sst", flipped), ExitStore, ".sst"},
		{"half a table", p, file("db/*.sst", half), ExitStore, ".sst"},
		{"an emptied table", p, file("db/*.sst", func([]byte) []byte { return nil }), ExitStore, ".sst"},
		{"a log with a flipped byte", after, file("db/*.mem", flipped), ExitStore, ".mem"},
		{"a manifest with a flipped byte", p, file("db/MANIFEST", flipped), ExitStore, "MANIFEST"},
		{"half a manifest", after, file("db/MANIFEST", half), ExitStore, "MANIFEST"},
		{"no manifest", p, func(t *testing.T, dir string) { remove(t, dir+"/db/MANIFEST") }, ExitStore, "MANIFEST"},
		{"an emptied database", p, func(t *testing.T, dir string) { remove(t, dir+"/db"); _ = os.Mkdir(dir+"/db", 0o700) }, ExitStore, "MANIFEST"},
		{"no database", p, func(t *testing.T, dir string) { remove(t, dir+"/db") }, ExitStore, "MANIFEST"},
		{"the database of another store", p, func(t *testing.T, dir string) {
			remove(t, dir+"/db")
			if err := exec.Command("cp", "-r", other.dir+"/db", dir+"/db").Run(); err != nil {
				t.Fatal(err)
			}
		}, ExitStore, "MANIFEST"},
		{"no sentinel", p, func(t *testing.T, dir string) { remove(t, dir+"/store.json") }, ExitStore, "store.json"},
		{"an emptied sentinel", p, file("store.json", func([]byte) []byte { return nil }), ExitStore, "store.json"},
		{"half a sentinel", p, file("store.json", half), ExitStore, "store.json"},
		{"a newer store", p, file("store.json", func(raw []byte) []byte {
			return []byte(strings.Replace(string(raw), `"format": 2`, `"format": 99`, 1))
		}), ExitStore, "format 99"},
		{"a folder of somebody else's", p, func(t *testing.T, dir string) {
			remove(t, dir)
			if err := exec.Command("mkdir", "-p", dir+"/src/db").Run(); err != nil {
				t.Fatal(err)
			}
		}, ExitUsage, "cannot use data directory"},
		{"a file", p, func(t *testing.T, dir string) {
			remove(t, dir)
			_ = os.WriteFile(dir, []byte("mine"), 0o600)
		}, ExitUsage, "cannot use data directory"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(p.home, fmt.Sprint("unfit", i))
			tt.from.copyTo(dir)
			tt.harm(t, dir)
			before := contents(t, dir)
			for _, args := range [][]string{{"run"}, {"doctor", "--json"}} {
				got := p.do(append(args, "--data-dir", dir)...)
				if got.code != tt.code || !strings.Contains(got.stderr+got.stdout, dir) || !strings.Contains(got.stderr+got.stdout, tt.says) {
					t.Errorf("want exit %d, %s and %q: %s", tt.code, dir, tt.says, got)
				}
				if args[0] == "run" && (strings.Count(got.stderr, "\n") != 2 || !strings.Contains(got.stderr, "\nhint: ")) {
					t.Errorf("want one sentence and a hint: %s", got)
				}
				if args[0] == "doctor" && !json.Valid([]byte(got.stdout)) {
					t.Errorf("no JSON: %s", got)
				}
			}
			if now := contents(t, dir); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Errorf("changed:\n%v\n%v", before, now)
			}
		})
	}
}

// TestEveryCommandOnADamagedStore: none is surprised, none changes a thing.
func TestEveryCommandOnADamagedStore(t *testing.T) {
	p := newPlace(t)
	p.ok("run")
	change(t, filepath.Join(p.dir, "db/*.sst"), flipped)
	before := contents(t, p.dir)
	for _, args := range [][]string{{"resume"}, {"status"}, {"runs"}, {"trace"}, {"notes", "list"}, {"notes", "delete", "N1"},
		{"approve", "A1", "--as", "Maria Weber"}, {"approve", "--all", "--as", "Maria Weber"}, {"approver", "list"},
		{"approver", "add", "Eva", "--role", "CLERK"}} {
		p.wants(ExitStore, args...).says(t, "store damaged: "+p.dir+"/db/", "; nothing was changed", "hint: orderdesk doctor --data-dir "+p.dir)
	}
	p.wants(ExitStore, "doctor").says(t, p.dir)
	if now := contents(t, p.dir); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("changed:\n%v\n%v", before, now)
	}
	p.ok("reset", "--yes")
	p.ok("run")
}

// TestSTA04_DoctorsChildDies: the database may end the process that reads a
// damaged block. That is a finding, exit code 5, not a crash of the doctor.
func TestSTA04_DoctorsChildDies(t *testing.T) {
	tests := []struct {
		name, script string
		code         int
		says         string
	}{
		{"by a panic", "echo 'panic: runtime error: slice bounds out of range' >&2; echo 'goroutine 9 [running]:' >&2; exit 2", ExitStore, "panic: runtime error: slice bounds"},
		{"by a fault", "kill -SEGV $$", ExitStore, "segmentation fault"},
		{"by a fault of a mapped file", "echo 'unexpected fault address 0x7f00' >&2; echo 'fatal error: fault' >&2; exit 2", ExitStore, "unexpected fault address"},
		{"killed", "kill -KILL $$", ExitStore, "killed"},
		{"silent", "exit 0", ExitStore, "it cannot be read to its end"},
		{"its answer counts", `echo '{"sound":false,"store_id":"ab","problems":[{"where":"run/x","what":"broken"}]}'; exit 5`, ExitStore, "run/x: broken"},
		{"its error counts", `echo '{"error":{"code":"store_newer","message":"newer","hint":"h"},"exit":5}'; exit 5`, ExitStore, "orderdesk: newer"},
		{"not there", "", ExitOK, "Everything is sound."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := invocation{env: map[string]string{"ORDERDESK_DATA_DIR": t.TempDir()}}
			store, err := runstore.Open(t.Context(), runstore.Options{Dir: s.env["ORDERDESK_DATA_DIR"]})
			if err == nil {
				err = store.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			self := filepath.Join(t.TempDir(), "self")
			if tt.script != "" {
				if err := os.WriteFile(self, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			p := s.process(t, "doctor")
			p.Self = func() (string, error) { return self, nil }
			code := Main(t.Context(), p)
			if out := s.stdout.String() + s.stderr.String(); code != tt.code || !strings.Contains(out, tt.says) {
				t.Errorf("exit %d, want %d and %q:\n%s", code, tt.code, tt.says, out)
			}
		})
	}
}
