package runstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Random steps, some of which fail, are held against a map: what they read and
// scan while they run, and what is there afterwards.
func TestStepsAgainstModel(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(t *testing.T) *Store
	}{
		{"memory", func(t *testing.T) *Store { return openTest(t, Options{InMemory: true}) }},
		{"disk", func(t *testing.T) *Store { return openTest(t, Options{Dir: t.TempDir(), NoSync: true}) }},
		{"remote", func(t *testing.T) *Store {
			dir := t.TempDir()
			openTest(t, Options{Dir: dir, NoSync: true})
			return openTest(t, Options{Dir: dir})
		}},
	} {
		t.Run(c.name, func(t *testing.T) { modelTest(t, c.open(t)) })
	}
}

var errOnPurpose = errors.New("on purpose")

func modelTest(t *testing.T, s *Store) {
	r := rand.New(rand.NewPCG(1, 2))
	model := map[string]int{}
	for i := range 200 {
		mine := maps.Clone(model)
		fail := r.IntN(4) == 0
		err := s.Update(t.Context(), func(tx *Tx) error {
			for range r.IntN(12) {
				if err := randomStep(tx, r, mine); err != nil {
					return err
				}
			}
			if fail {
				return errOnPurpose
			}
			return nil
		})
		switch {
		case fail && !errors.Is(err, errOnPurpose), !fail && err != nil:
			t.Fatalf("step %d: %v", i, err)
		case !fail:
			model = mine
		}
		if err := s.View(t.Context(), func(tx *Tx) error { return agree(tx, model) }); err != nil {
			t.Fatalf("after step %d: %v", i, err)
		}
	}
}

func randomStep(tx *Tx, r *rand.Rand, model map[string]int) error {
	name := fmt.Sprint("k", r.IntN(20))
	k := NewKey("m", name)
	switch r.IntN(4) {
	case 0:
		delete(model, name)
		return tx.Delete(k)
	case 1:
		return agree(tx, model)
	default:
		model[name] = r.IntN(1000)
		return tx.Put(k, model[name])
	}
}

// agree reads every record one by one and by scans.
func agree(tx *Tx, model map[string]int) error {
	for i := range 20 {
		name, n := fmt.Sprint("k", i), 0
		err := tx.Get(NewKey("m", name), &n)
		want, ok := model[name]
		if errors.Is(err, ErrNotFound) == ok || n != want {
			return fmt.Errorf("get %s: %d, %v, want %d, %v", name, n, err, want, ok)
		}
	}
	names := slices.Sorted(maps.Keys(model))
	for from := -1; from < len(names); from++ {
		after := ""
		if from >= 0 {
			after = names[from]
		}
		var got []string
		err := tx.Scan(NewKey("m"), after, func(rest string, get func(any) error) (bool, error) {
			var n int
			got = append(got, rest)
			if err := get(&n); err != nil || n != model[rest] {
				return false, fmt.Errorf("scan %s: %d, %v, want %d", rest, n, err, model[rest])
			}
			return true, nil
		})
		if err != nil || !slices.Equal(got, names[from+1:]) {
			return fmt.Errorf("scan after %q: %v, %v, want %v", after, got, err, names[from+1:])
		}
	}
	return nil
}

func TestScanSeesItsOwnWrites(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	put := func(tx *Tx, names ...string) error {
		for _, n := range names {
			if err := tx.Put(NewKey("q", n), n); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.Update(t.Context(), func(tx *Tx) error { return put(tx, "b", "d", "f") }); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(tx *Tx) error {
		if err := put(tx, "a", "e"); err != nil {
			return err
		}
		var got []string
		err := tx.Scan(NewKey("q"), "", func(rest string, _ func(any) error) (bool, error) {
			got = append(got, rest)
			if rest == "b" { // behind: not met; ahead: met; ahead and deleted: not met
				return true, errors.Join(put(tx, "aa", "c", "g"), tx.Delete(NewKey("q", "d")))
			}
			return true, nil
		})
		if want := "a b c e f g"; strings.Join(got, " ") != want {
			t.Errorf("scan met %v, want %s", got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestScanStops(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	err := s.Update(t.Context(), func(tx *Tx) error {
		for i := range 5 {
			if err := tx.Put(NewKey("q", Seq(i)), i); err != nil {
				return err
			}
		}
		n := 0
		err := tx.Scan(NewKey("q"), "", func(string, func(any) error) (bool, error) { n++; return n < 3, nil })
		if err != nil || n != 3 {
			t.Errorf("met %d, %v, want 3", n, err)
		}
		err = tx.Scan(NewKey("q"), "", func(string, func(any) error) (bool, error) { return true, errOnPurpose })
		if !errors.Is(err, errOnPurpose) {
			t.Errorf("got %v, want the function's error", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
