package runstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// benchHeader, benchItem and benchEntry have the sizes of what a run over 400
// items leaves in a store: header 1.2 KB, plan item 200 B, fact 360 B, trace
// entry 270 B.
type benchHeader struct {
	ID     string    `json:"id"`
	Steps  int       `json:"steps"`
	At     time.Time `json:"at"`
	Counts [24]int   `json:"counts"`
	Text   string    `json:"text"`
}

type benchItem struct {
	Pos    int    `json:"pos"`
	ID     string `json:"id"`
	Status string `json:"status"`
	Note   string `json:"note"`
}

type benchEntry struct {
	Seq    int               `json:"seq"`
	At     time.Time         `json:"at"`
	Args   map[string]string `json:"args"`
	Result string            `json:"result"`
}

const benchItems = 500 // of a run

// benchRun is a run whose plan is there.
func benchRun(b *testing.B, s *Store, run string) {
	err := s.Update(context.Background(), func(tx *Tx) error {
		for i := range benchItems {
			it := benchItem{Pos: i, ID: Seq(i), Status: "todo", Note: text(100)}
			if err := tx.Put(NewKey("item", run, Seq(i)), it); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// benchStep is a typical step, a tool call whose answer is recorded: it reads
// header, plan item and a fact that is not there yet, and writes header, fact
// and trace entry.
func benchStep(run string, n int) func(*Tx) error {
	return func(tx *Tx) error {
		var h benchHeader
		var item benchItem
		var fact benchEntry
		factKey := NewKey("fact", run, Seq(n))
		if err := tx.Get(NewKey("bench", run), &h); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := tx.Get(NewKey("item", run, Seq(n%benchItems)), &item); err != nil {
			return err
		}
		if err := tx.Get(factKey, &fact); !errors.Is(err, ErrNotFound) {
			return errors.Join(err, errors.New("the fact is there"))
		}
		h.ID, h.At, h.Text = run, tx.Now(), text(1000)
		h.Steps++
		fact = benchEntry{Seq: n, At: tx.Now(), Args: map[string]string{"id": item.ID}, Result: text(260)}
		trace := benchEntry{Seq: n, At: tx.Now(), Args: map[string]string{"id": item.ID}, Result: text(170)}
		return errors.Join(tx.Put(NewKey("bench", run), h), tx.Put(factKey, fact), tx.Put(NewKey("trace", run, Seq(n)), trace))
	}
}

// smallStep reads one record and writes two, of 300 B: a step without what a
// run makes of it.
func smallStep(run string, n int) func(*Tx) error {
	return func(tx *Tx) error {
		var last benchEntry
		if err := tx.Get(NewKey("bench", run), &last); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		next := benchEntry{Seq: last.Seq + 1, At: tx.Now(), Result: text(200)}
		return errors.Join(tx.Put(NewKey("bench", run), next), tx.Put(NewKey("trace", run, Seq(n)), next))
	}
}

// text is n bytes of text, at most 64 KiB.
func text(n int) string { return benchText[:n] }

var benchText = strings.Repeat("Exposure over the limit; a sentence as a tool result has it, with 1234567890 in it. ", 800)

// benchWork is a store and the steps its runs have made.
type benchWork struct {
	*testing.B
	store *Store
	step  func(run string, n int) func(*Tx) error
	at    []int // step of each run
}

func newBenchWork(b *testing.B, s *Store, runs int) *benchWork {
	for w := range runs {
		benchRun(b, s, benchName(w))
	}
	return &benchWork{B: b, store: s, step: benchStep, at: make([]int, runs)}
}

func benchName(w int) string { return "run-" + Seq(w) }

// steps makes n durable steps in all with several writers, each on its run.
func (b *benchWork) steps(writers, n int) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	var made atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for made.Add(1) <= int64(n) {
				if err := b.store.Update(context.Background(), b.step(benchName(w), b.at[w])); err != nil {
					b.Error(err)
					return
				}
				b.at[w]++
			}
		})
	}
	wg.Wait()
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
		step    func(run string, n int) func(*Tx) error
	}{{"writers=1", 1, benchStep}, {"writers=64", 64, benchStep}, {"small/writers=1", 1, smallStep}, {"small/writers=64", 64, smallStep}} {
		b.Run(c.name, func(b *testing.B) { benchDurable(b, c.writers, c.step) })
	}
}

func benchDurable(b *testing.B, writers int, step func(run string, n int) func(*Tx) error) {
	dir := benchDir(b)
	s := benchStore(b, Options{Dir: filepath.Join(dir, "store")})
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	work := newBenchWork(b, s, writers)
	work.step = step
	before := s.Commits()
	var loop, one, many time.Duration
	const round = 64
	done, rounds := 0, 0
	for ; done < b.N; rounds++ {
		loop += fsyncLoop(b, f, round)
		one += work.steps(1, round)
		n := round * writers
		many += work.steps(writers, n)
		done += n
	}
	perStep := many.Seconds() / float64(done)
	b.ReportMetric(1/perStep, "steps/s")
	b.ReportMetric(loop.Seconds()/float64(rounds*round)/perStep, "x_fsync")
	b.ReportMetric(one.Seconds()/float64(rounds*round)/perStep, "x_one")
	b.ReportMetric(float64(s.Commits()-before)/float64(done+rounds*round), "syncs/step")
}

// BenchmarkReopen is the time to the first durable step of a store of 2,000
// steps that was closed, and of one that was killed.
func BenchmarkReopen(b *testing.B) {
	dir := filepath.Join(benchDir(b), "store")
	killed := filepath.Join(filepath.Dir(dir), "killed")
	s := benchStore(b, Options{Dir: dir, NoSync: true})
	newBenchWork(b, s, 8).steps(8, 2000) // one log: a copy of a live store is not whole while a table is made
	copyTree(b, killed, dir)             // what a kill would leave
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("closed", func(b *testing.B) {
		for b.Loop() {
			benchOpen(b, dir)
		}
	})
	b.Run("killed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			at := filepath.Join(filepath.Dir(dir), Seq(i))
			copyTree(b, at, killed)
			b.StartTimer()
			benchOpen(b, at)
		}
	})
}

// benchOpen opens a store and makes one step.
func benchOpen(b *testing.B, dir string) {
	s, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Update(context.Background(), count("bench")); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

// BenchmarkRemoteSteps is one writer that works through another process's
// store, here within one process, against one that owns it.
func BenchmarkRemoteSteps(b *testing.B) {
	dir := filepath.Join(benchDir(b), "store")
	owner := newBenchWork(b, benchStore(b, Options{Dir: dir}), 1)
	other := &benchWork{B: b, store: benchStore(b, Options{Dir: dir}), step: benchStep, at: owner.at}
	var own, remote time.Duration
	const round = 64
	n := 0
	for ; n < b.N; n += round {
		own += owner.steps(1, round)
		remote += other.steps(1, round)
	}
	b.ReportMetric(float64(n)/remote.Seconds(), "steps/s")
	b.ReportMetric(own.Seconds()/remote.Seconds(), "x_owner")
}

// BenchmarkBytesPerStep is what a step leaves on disk, in tables and logs.
func BenchmarkBytesPerStep(b *testing.B) {
	dir := filepath.Join(benchDir(b), "store")
	s := benchStore(b, Options{Dir: dir, NoSync: true})
	n := max(b.N, 4000) // what a store has anyway must not count
	newBenchWork(b, s, 8).steps(8, n)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	size, err := dirSize(filepath.Join(dir, dbName))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(size)/float64(n), "B/step")
}
