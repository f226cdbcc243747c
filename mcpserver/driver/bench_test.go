package driver_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
)

// memoryGoal is what the program asks of the garbage collector; without it the
// heap grows to twice what is in use.
const memoryGoal = 224 << 20

// big is the longest list the benchmarks work.
const big = 40_000

// onDisk is a desk whose store is a directory.
func onDisk(b testing.TB, dir, source string, noSync bool) *desk {
	b.Helper()
	store, err := runstore.Open(context.Background(), runstore.Options{Dir: dir, NoSync: noSync})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	return newDesk(b, deskOptions{store: store, source: source})
}

// part drives a run for at most n more model calls and returns how long that
// took and how many calls were made.
func (d *desk) part(id string, n int) (time.Duration, int) {
	d.t.Helper()
	before := d.run(id).Used.ModelCalls
	most := before + n
	began := time.Now()
	run, _ := d.resume(id, driver.Changes{ModelCalls: &most})
	return time.Since(began), run.Used.ModelCalls - before
}

// BenchmarkStep drives runs of 10 and of 40,000 listed orders side by side and
// reports what one model call with all that hangs on it costs in each.
func BenchmarkStep(b *testing.B) {
	const chunk = 45 // a list of 10 is worked in about so many calls
	small := onDisk(b, b.TempDir(), generate(b, 10), true)
	large := onDisk(b, b.TempDir(), generate(b, big), true)
	long := large.begin(runstore.Budget{})
	large.part(long, 2)
	var took [2]time.Duration
	var calls [2]int
	for b.Loop() {
		short := small.begin(runstore.Budget{})
		small.part(short, 2)
		for i, p := range []struct {
			*desk
			id string
		}{{small, short}, {large, long}} {
			d, n := p.part(p.id, chunk)
			took[i], calls[i] = took[i]+d, calls[i]+n
		}
	}
	at10, at40000 := float64(took[0].Nanoseconds())/float64(calls[0]), float64(took[1].Nanoseconds())/float64(calls[1])
	b.ReportMetric(at10, "ns/step-of-10")
	b.ReportMetric(at40000, "ns/step-of-40000")
	b.ReportMetric(at40000/at10, "ratio")
}

// BenchmarkCommits reports the synced commits of a headless step: a model call
// and the tool call it asks for.
func BenchmarkCommits(b *testing.B) {
	d := onDisk(b, b.TempDir(), "testdata/worlds/world_40.json", false)
	var commits, steps int64
	for b.Loop() {
		before := d.store.Commits()
		run := d.start(runstore.Budget{}, sample, 0)
		commits, steps = commits+d.store.Commits()-before, steps+int64(run.Used.ModelCalls)
	}
	b.ReportMetric(float64(commits)/float64(steps), "commits/step")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(steps), "µs/step")
}

// BenchmarkColdStart opens a store and drives a run up to its first call: a
// new one on the sample list, and a half-done one of 40,000 orders.
func BenchmarkColdStart(b *testing.B) {
	first := func(dir, source string, drive func(context.Context, *desk, *driver.Driver)) time.Duration {
		var reached time.Duration
		began := time.Now()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		d := onDisk(b, dir, source, false)
		defer d.store.Close()
		drive(ctx, d, d.driver(nil, driver.Options{Observe: func(e driver.Event, _ *runstore.Run) {
			if e.Kind == driver.CallMade && reached == 0 {
				reached = time.Since(began)
				cancel()
			}
		}}))
		return reached
	}
	b.Run("new", func(b *testing.B) {
		dir, total := b.TempDir(), time.Duration(0)
		for b.Loop() {
			total += first(dir, "", func(ctx context.Context, d *desk, dr *driver.Driver) {
				if _, err := dr.Start(ctx, d.begin(runstore.Budget{})); err != nil {
					b.Fatal(err)
				}
			})
		}
		b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/first-call")
	})
	b.Run("resume40000", func(b *testing.B) {
		dir, source := b.TempDir(), generate(b, big)
		half := onDisk(b, dir, source, true)
		id := half.begin(runstore.Budget{})
		half.part(id, 2*big)
		if err := half.store.Close(); err != nil {
			b.Fatal(err)
		}
		most, total := 2*big, time.Duration(0)
		for b.Loop() {
			most += 10
			total += first(dir, source, func(ctx context.Context, _ *desk, dr *driver.Driver) {
				if _, _, _, err := dr.Resume(ctx, id, driver.Changes{ModelCalls: &most}); err != nil {
					b.Fatal(err)
				}
			})
		}
		b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/first-call")
	})
}

// BenchmarkDisk reports what a step leaves on the disk once the store is
// closed.
func BenchmarkDisk(b *testing.B) {
	dir, source := b.TempDir(), generate(b, 400)
	var bytes, steps int64
	for b.Loop() {
		before := size(b, dir)
		d := onDisk(b, dir, source, false)
		run := d.start(runstore.Budget{}, sample, 0)
		if err := d.store.Close(); err != nil {
			b.Fatal(err)
		}
		bytes, steps = bytes+size(b, dir)-before, steps+int64(run.Used.ModelCalls)
	}
	b.ReportMetric(float64(bytes)/float64(steps), "B/step")
}

func size(b testing.TB, dir string) int64 {
	b.Helper()
	var n int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkWorld works lists of 400 and of 40,000 orders to their end and
// reports the time per order and the peak of the heap.
func BenchmarkWorld(b *testing.B) {
	short, long := generate(b, 400), generate(b, big)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryGoal))
	for b.Loop() {
		var at400, cpu400 float64
		for range 5 {
			wall, cpu, _ := work(b, short, 400)
			at400, cpu400 = at400+wall/5, cpu400+cpu/5
		}
		runtime.GC()
		at40000, cpu40000, peak := work(b, long, big)
		b.ReportMetric(at400*1e6, "µs/order-of-400")
		b.ReportMetric(at40000*1e6, "µs/order-of-40000")
		b.ReportMetric(at40000/at400, "ratio")
		b.ReportMetric(cpu40000/cpu400, "cpu-ratio") // which other work on the machine does not change
		b.ReportMetric(float64(peak)/(1<<20), "MiB-peak-heap")
		b.ReportMetric(peakMemory()/(1<<10), "MiB-peak-process")
	}
}

// work drives a run to its end and returns the seconds per order, by the clock
// and of the processor, and the peak of the heap, looked at now and then.
func work(b testing.TB, source string, n int) (perOrder, cpu float64, peak uint64) {
	b.Helper()
	d := onDisk(b, b.TempDir(), source, true)
	defer d.store.Close()
	events := 0
	o := driver.Options{Observe: func(driver.Event, *runstore.Run) {
		if events++; events%2000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
	}}
	began, before := time.Now(), processor()
	run, err := d.driver(nil, o).Start(context.Background(), d.begin(runstore.Budget{}))
	if err != nil {
		b.Fatal(err)
	}
	if run.Plan.Total != n || run.Plan.Count(runstore.Todo) != 0 || run.Status == runstore.Stopped {
		b.Fatalf("%d planned, %d todo, %s %+v", run.Plan.Total, run.Plan.Count(runstore.Todo), run.Status, run.Stop)
	}
	return time.Since(began).Seconds() / float64(n), (processor() - before) / float64(n), peak
}

// processor is the processor time this process has used, in the system's
// ticks; 0 where the system does not say.
func processor() float64 {
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(after)
	var ticks float64
	for _, i := range []int{11, 12} { // user and system
		if i < len(fields) {
			n, _ := strconv.ParseFloat(fields[i], 64)
			ticks += n
		}
	}
	return ticks
}

// peakMemory is the process's largest resident size in KiB; 0 where the system
// does not say.
func peakMemory() float64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(raw), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, err := strconv.ParseFloat(kib, 64)
	if err != nil {
		return 0
	}
	return n
}
