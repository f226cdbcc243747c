package runstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func inc(tx *Tx) error {
	var n int
	if err := tx.Get(NewKey("n"), &n); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return tx.Put(NewKey("n"), n+1)
}
func get(t *testing.T, s *Store) (n int) {
	if err := s.View(t.Context(), func(tx *Tx) error { return tx.Get(NewKey("n"), &n) }); err != nil {
		t.Fatal(err)
	}
	return n
}
func TestX(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(context.Background(), Options{Dir: dir, Command: "a"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(context.Background(), Options{Dir: dir, Command: "b"})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(a.Owner())
	t.Log(b.Owner())
	t.Log(a.ID(), b.ID(), a.Alive(b.Instance()), b.Alive(a.Instance()), b.Alive("abc"))
	var wg sync.WaitGroup
	t0 := time.Now()
	for i := 0; i < 32; i++ {
		wg.Go(func() {
			for j := 0; j < 50; j++ {
				s := a
				if i%2 == 1 {
					s = b
				}
				if err := s.Update(t.Context(), inc); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Log(get(t, a), get(t, b), a.Commits(), time.Since(t0))
	for i := 0; i < 16; i++ {
		wg.Go(func() {
			for j := 0; j < 50; j++ {
				if err := b.Update(t.Context(), inc); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	t0 = time.Now()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	t.Log("closed", time.Since(t0))
	wg.Wait()
	t.Log(get(t, b))
	t.Log(b.Owner())
	r, err := b.Check(t.Context(), func(p Problem) { t.Log(p) })
	t.Log(r, err)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	x, _ := os.ReadFile(filepath.Join(dir, "store.json"))
	t.Log(string(x))
	es, _ := filepath.Glob(dir + "/*")
	t.Log(es)
	es, _ = filepath.Glob(dir + "/db/*")
	t.Log(es)
}
