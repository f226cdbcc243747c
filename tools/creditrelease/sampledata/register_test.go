package sampledata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"orderdesk/tools/upstream"
)

func openRegister(t testing.TB, dir string) *Register {
	t.Helper()
	r, err := OpenRegister(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func request(order string) Request {
	return Request{SalesOrder: order, Justification: "5.0% over; \u00e9 \u202e \x1b[2K\n\"q\"", ApprovedBy: "Maria Weber", Role: "CREDIT_MANAGER"}
}

// create creates a request and checks its reference.
func create(t testing.TB, r *Register, key, order, want string) {
	t.Helper()
	if got, err := r.Create(t.Context(), key, request(order)); err != nil || got.Reference != want {
		t.Fatalf("Create(%s) = %v, %v, want %s", key, got, err, want)
	}
}

func lookup(t testing.TB, r *Register, key, want string) {
	t.Helper()
	got, ok, err := r.Lookup(t.Context(), key)
	if err != nil || ok != (want != "") || got.Reference != want {
		t.Errorf("Lookup(%s) = %v, %v, %v, want %q", key, got, ok, err, want)
	}
}

func TestRegister(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := openRegister(t, dir)
	at := time.Date(2026, 10, 6, 14, 0, 0, 0, time.FixedZone("CEST", 7200))
	r.Clock = func() time.Time { return at }
	lookup(t, r, "r1/A1", "")
	create(t, r, "r1/A1", "4711", "REQ-0001")
	create(t, r, "r1/A2", "4740", "REQ-0002")
	create(t, r, "r1/A1", "4711", "REQ-0001") // the same again
	for _, r := range []*Register{r, openRegister(t, dir)} {
		lookup(t, r, "r1/A1", "REQ-0001")
		lookup(t, r, "r1/A2", "REQ-0002")
		lookup(t, r, "r1/A3", "")
		want := []Entry{{"r1/A1", Receipt{"REQ-0001"}, request("4711"), at.UTC()}, {"r1/A2", Receipt{"REQ-0002"}, request("4740"), at.UTC()}}
		if got := r.All(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("All = %v, want %v", got, want)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "requests.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestRegisterConflict(t *testing.T) {
	dir := t.TempDir()
	create(t, openRegister(t, dir), "r1/A1", "4711", "REQ-0001")
	r := openRegister(t, dir)
	got, err := r.Create(t.Context(), "r1/A1", request("4740"))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Reference != "REQ-0001" || got != (Receipt{}) || !strings.Contains(err.Error(), "conflict") {
		t.Errorf("the key with another request: %v, %v", got, err)
	}
	if n := len(r.All()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestRegisterRefuses(t *testing.T) {
	r := openRegister(t, t.TempDir())
	for _, key := range []string{"", strings.Repeat("k", maxKey+1), "a\xff"} {
		if _, err := r.Create(t.Context(), key, request("1")); err == nil {
			t.Errorf("key %q was taken", key)
		}
	}
	if _, err := r.Create(t.Context(), "k", Request{Justification: "\xff"}); err == nil {
		t.Error("a text that is no UTF-8 was taken")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Create(ended, "k", request("1")); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if n := len(r.All()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestAPR12_CreatedButAnswerLost(t *testing.T) {
	r := openRegister(t, t.TempDir())
	r.LoseAnswer = func(key string) bool { return key == "r1/A1" }
	got, err := r.Create(t.Context(), "r1/A1", request("4711"))
	if !errors.Is(err, context.DeadlineExceeded) || upstream.ClassOf(err) != upstream.Transient || got != (Receipt{}) {
		t.Errorf("Create = %v, %v, want a timeout", got, err)
	}
	lookup(t, r, "r1/A1", "REQ-0001")
	create(t, r, "r1/A1", "4711", "REQ-0001") // a retry with the same key and body
	create(t, r, "r1/A2", "4740", "REQ-0002")
	if n := len(r.All()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// spoil rewrites a register's file.
func spoil(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, "requests.jsonl")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A crash may leave any part of the last line; what was answered for stays.
func TestRegisterTornLine(t *testing.T) {
	full := t.TempDir()
	r := openRegister(t, full)
	create(t, r, "r1/A1", "4711", "REQ-0001")
	one, _ := os.ReadFile(filepath.Join(full, "requests.jsonl"))
	create(t, r, "r1/A2", "4740", "REQ-0002")
	both, _ := os.ReadFile(filepath.Join(full, "requests.jsonl"))
	torn := map[string][]byte{"zeros": append(one[:len(one):len(one)], 0, 0, 0), "zeros in the line": nil}
	zeros := append([]byte{}, both...)
	clear(zeros[len(one)+5 : len(one)+50])
	torn["zeros in the line"] = zeros
	for n := len(one); n < len(both); n += 1 + (n-len(one))%7 {
		torn[fmt.Sprintf("cut at %d", n)] = both[:n]
	}
	torn["without line end"] = both[:len(both)-1]
	for name, data := range torn {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "requests.jsonl"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			r := openRegister(t, dir)
			lookup(t, r, "r1/A1", "REQ-0001")
			lookup(t, r, "r1/A2", "")
			create(t, r, "r2/A1", "4740", "REQ-0002")
			if n := len(openRegister(t, dir).All()); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
		})
	}
}

// A writer that dies while others have the register open leaves them nothing
// to clean up either.
func TestRegisterTornWhileOpen(t *testing.T) {
	dir := t.TempDir()
	r := openRegister(t, dir)
	create(t, r, "r1/A1", "4711", "REQ-0001")
	spoil(t, dir, func(b []byte) []byte { return append(b, `{"request":"REQ-00`...) })
	lookup(t, r, "r1/A1", "REQ-0001")
	create(t, r, "r1/A2", "4740", "REQ-0002")
	if n := len(openRegister(t, dir).All()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestRegisterDamaged(t *testing.T) {
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, new, 1)) }
	}
	tests := []struct {
		name   string
		change func([]byte) []byte
		line   int
	}{
		{"a line that is no JSON", replace(`"key"`, `"key`), 1},
		{"a number that does not fit", replace("REQ-0002", "REQ-0003"), 2},
		{"a line that is gone", func(b []byte) []byte { return b[strings.IndexByte(string(b), '\n')+1:] }, 1},
		{"a line twice", func(b []byte) []byte { return append(b, b...) }, 3},
		{"zeros in an earlier line", replace("4711", "\x00\x00\x00\x00"), 1},
		{"an empty key", replace(`"r1/A2"`, `""`), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			r := openRegister(t, dir)
			create(t, r, "r1/A1", "4711", "REQ-0001")
			create(t, r, "r1/A2", "4740", "REQ-0002")
			spoil(t, dir, tt.change)
			before, _ := os.ReadFile(filepath.Join(dir, "requests.jsonl"))
			_, err := OpenRegister(dir)
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.Line != tt.line {
				t.Errorf("open: %v, want damage in line %d", err, tt.line)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, "requests.jsonl")); string(after) != string(before) {
				t.Error("the damaged file was changed")
			}
		})
	}
}

func TestRegisterShorter(t *testing.T) {
	dir := t.TempDir()
	r := openRegister(t, dir)
	create(t, r, "r1/A1", "4711", "REQ-0001")
	spoil(t, dir, func([]byte) []byte { return nil })
	var damaged *DamagedError
	if _, err := r.Create(t.Context(), "r1/A2", request("4740")); !errors.As(err, &damaged) {
		t.Errorf("Create after the file was emptied: %v, want damage", err)
	}
	if _, _, err := r.Lookup(t.Context(), "r1/A1"); !errors.As(err, &damaged) {
		t.Errorf("Lookup after the file was emptied: %v, want damage", err)
	}
}

func TestRegisterUnusable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRegister(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as folder: %v", err)
	}
	r := openRegister(t, filepath.Join(dir, "r"))
	r.Close()
	if _, err := r.Create(t.Context(), "k", request("1")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed register: %v", err)
	}
}

// Several registers on one folder, each with several goroutines, all after the
// same keys.
func TestRegisterConcurrently(t *testing.T) {
	dir := t.TempDir()
	const registers, workers, keys = 4, 4, 25
	var mu sync.Mutex
	given := map[string]string{} // reference by key
	var wg sync.WaitGroup
	for range registers {
		r := openRegister(t, dir)
		for range workers {
			wg.Go(func() {
				for k := range keys {
					key := fmt.Sprintf("r1/A%d", k)
					got, err := r.Create(t.Context(), key, request(fmt.Sprint(k)))
					mu.Lock()
					if err != nil || given[key] != "" && given[key] != got.Reference {
						t.Errorf("Create(%s) = %v, %v, given before %s", key, got, err, given[key])
					}
					given[key] = got.Reference
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	checkEntries(t, openRegister(t, dir).All(), given)
}

// checkEntries checks that entries are numbered without gap, that no key is
// there twice, and that every receipt that was given is among them.
func checkEntries(t *testing.T, entries []Entry, given map[string]string) {
	t.Helper()
	byKey := map[string]string{}
	for i, e := range entries {
		if want := fmt.Sprintf("REQ-%04d", i+1); e.Receipt.Reference != want || byKey[e.Key] != "" {
			t.Fatalf("entry %d is %+v, want %s", i, e, want)
		}
		byKey[e.Key] = e.Receipt.Reference
	}
	for key, reference := range given {
		if byKey[key] != reference {
			t.Errorf("%s was given for %s, the register has %q", reference, key, byKey[key])
		}
	}
}

func TestRegisterWaitsForLock(t *testing.T) {
	dir := t.TempDir()
	r := openRegister(t, dir)
	unlock, err := tryLock(filepath.Join(dir, "requests.lock"))
	if err != nil || unlock == nil {
		t.Fatal("cannot lock", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Create(ctx, "k", request("1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("locked register: %v, want the deadline", err)
	}
	unlock()
	create(t, r, "k", "1", "REQ-0001")
}

func BenchmarkRegisterCreate(b *testing.B) {
	r := openRegister(b, b.TempDir())
	for i := 0; b.Loop(); i++ {
		if _, err := r.Create(b.Context(), fmt.Sprintf("r1/A%d", i), request("4711")); err != nil {
			b.Fatal(err)
		}
	}
}
