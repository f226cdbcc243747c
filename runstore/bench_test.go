package runstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// benchDir is on the disk of the repository: the default temporary directory
// may be in memory, where a sync costs nothing.
func benchDir(b *testing.B) string {
	b.Helper()
	wd, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp(wd, ".bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func benchStore(b *testing.B, o Options) *Store {
	b.Helper()
	s, err := Open(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// fsyncLoop is the yardstick: n appends of 4 KiB, each made durable.
func fsyncLoop(b *testing.B, f *os.File, n int) time.Duration {
	page := make([]byte, 4096)
	start := time.Now()
	for range n {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

type benchHeader struct {
	ID     string    `json:"id"`
	Steps  int       `json:"steps"`
	At     time.Time `json:"at"`
	Counts [24]int   `json:"counts"`
	Text   string    `json:"text"`
}

type benchEntry struct {
	Seq    int               `json:"seq"`
	At     time.Time         `json:"at"`
	Args   map[string]string `json:"args"`
	Result string            `json:"result"`
}

// benchStep is a typical step: it reads a header, a plan item and a fact and
// writes header, item and a trace entry; 0.3 to 1.2 KB each.
func benchStep(run string, n int) func(*Tx) error {
	return func(tx *Tx) error {
		var h benchHeader
		var item, fact benchEntry
		keys := [3]Key{NewKey("bench", run), NewKey("item", run, Seq(n%500)), NewKey("fact", run, Seq(n%500))}
		for i, v := range [3]any{&h, &item, &fact} {
			if err := tx.Get(keys[i], v); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		h.ID, h.At, h.Text = run, tx.Now(), text(600)
		h.Steps++
		item = benchEntry{Seq: n, At: tx.Now(), Result: text(200)}
		trace := benchEntry{Seq: n, At: tx.Now(), Args: map[string]string{"a": "4711", "b": "note"}, Result: text(900)}
		return errors.Join(tx.Put(keys[0], h), tx.Put(keys[1], item), tx.Put(NewKey("trace", run, Seq(n)), trace))
	}
}

func text(n int) string {
	const s = "Exposure over the limit; one sentence as a tool result would have it, with numbers 1234567890 in it. "
	b := make([]byte, 0, n+len(s))
	for len(b) < n {
		b = append(b, s...)
	}
	return string(b[:n])
}

func steps(b *testing.B, s *Store, writers, n int, from *atomic.Int64) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	last := from.Load() + int64(n)
	for w := range writers {
		wg.Go(func() {
			run := "run-" + Seq(w)
			for i := from.Add(1); i <= last; i = from.Add(1) {
				if err := s.Update(context.Background(), benchStep(run, int(i))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	from.Store(last)
	return time.Since(start)
}

// BenchmarkFsyncLoop is what the disk gives a program that appends 4 KiB and
// syncs, over and over.
func BenchmarkFsyncLoop(b *testing.B) {
	f, err := os.Create(filepath.Join(benchDir(b), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ResetTimer()
	fsyncLoop(b, f, b.N)
}

// BenchmarkDurableSteps measures durable steps of 1 and of 64 writers. Each
// round of it runs the fsync loop, the 1 and the 64 writers in turn, so that
// the ratios hold though the machine drifts: x_fsync is steps per turn of the
// fsync loop, x_one is steps per step of one writer.
func BenchmarkDurableSteps(b *testing.B) {
	for _, c := range []struct {
		name    string
		writers int
	}{{"writers=1", 1}, {"writers=64", 64}} {
		b.Run(c.name, func(b *testing.B) { benchDurable(b, c.writers) })
	}
}

func benchDurable(b *testing.B, writers int) {
	dir := benchDir(b)
	s := benchStore(b, Options{Dir: filepath.Join(dir, "store")})
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var loop, one, many time.Duration
	var from atomic.Int64
	const round = 64
	done, rounds := 0, 0
	for ; done < b.N; rounds++ {
		loop += fsyncLoop(b, f, round)
		one += steps(b, s, 1, round, &from)
		n := round * writers
		many += steps(b, s, writers, n, &from)
		done += n
	}
	perStep := many.Seconds() / float64(done)
	b.ReportMetric(1/perStep, "steps/s")
	b.ReportMetric(loop.Seconds()/float64(rounds*round)/perStep, "x_fsync")
	b.ReportMetric(one.Seconds()/float64(rounds*round)/perStep, "x_one")
	b.ReportMetric(float64(s.Commits())/float64(done+rounds*round), "syncs/step")
}
