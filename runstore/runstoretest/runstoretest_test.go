package runstoretest_test

import (
	"errors"
	"testing"
	"time"

	"orderdesk/runstore"
	"orderdesk/runstore/runstoretest"
)

func TestLostCommits(t *testing.T) {
	k := runstore.NewKey("k")
	put := func(tx *runstore.Tx) error { return tx.Put(k, 1) }
	for _, c := range []struct {
		name  string
		lose  runstoretest.Option
		there bool
	}{
		{"before", runstoretest.FailCommit(2), false},
		{"after", runstoretest.LoseAnswer(2), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := runstoretest.Dir(t, dir, c.lose)
			if err := s.Update(t.Context(), func(tx *runstore.Tx) error { return tx.Put(runstore.NewKey("first"), 1) }); err != nil {
				t.Fatal(err)
			}
			if err := s.Update(t.Context(), put); !errors.Is(err, runstoretest.ErrCommit) {
				t.Fatalf("second commit: %v", err)
			}
			if err := s.Update(t.Context(), put); !errors.Is(err, runstore.ErrFailed) {
				t.Fatalf("third commit: %v", err)
			}
			s.Close()
			var n int
			err := runstoretest.Dir(t, dir).View(t.Context(), func(tx *runstore.Tx) error { return tx.Get(k, &n) })
			if there := err == nil; there != c.there {
				t.Fatalf("record there: %v (%v), want %v", there, err, c.there)
			}
		})
	}
}

func TestClock(t *testing.T) {
	start := time.Date(2026, 10, 6, 0, 43, 49, 0, time.UTC)
	clock := runstoretest.NewClock(start)
	s := runstoretest.Memory(t, clock.Use())
	clock.Advance(time.Hour)
	err := s.View(t.Context(), func(tx *runstore.Tx) error {
		if got, want := tx.Now(), start.Add(time.Hour); !got.Equal(want) {
			t.Errorf("now %v, want %v", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
