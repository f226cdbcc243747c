package runstore_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"orderdesk/runstore"
)

func TestFit(t *testing.T) {
	tests := []struct {
		items                             int
		models, tools, chars, sec, compat int
	}{
		{0, 25, 30, 150_000, 300, 4000},
		{4, 25, 30, 150_000, 300, 4000},
		{5, 30, 36, 187_500, 375, 4000},
		{40, 205, 246, 1_500_000, 3_000, 4000},
		{40_000, 200_005, 240_006, 1_500_000_000, 3_000_000, 4000},
		{100_000, 500_005, 600_006, runstore.MaxLimit, 7_500_000, 4000},
	}
	for _, tt := range tests {
		var b runstore.Budget
		b.Fit(tt.items)
		got := []int{b.ModelCalls.Max, b.ToolCalls.Max, b.Chars.Max, b.Seconds.Max, b.CompactAt.Max}
		if want := []int{tt.models, tt.tools, tt.chars, tt.sec, tt.compat}; !reflect.DeepEqual(got, want) {
			t.Errorf("Fit(%d) = %v, want %v", tt.items, got, want)
		}
	}
	set := runstore.Budget{ModelCalls: runstore.Limit{Max: 7, Set: true}, Seconds: runstore.Limit{Max: 0, Set: true}}
	set.Fit(400)
	if set.ModelCalls.Max != 7 || set.Seconds.Max != 0 || set.ToolCalls.Max != 2406 {
		t.Errorf("Fit over explicit limits: %+v; want 7 and 0 kept, the others fitted", set)
	}
}

func TestBudgetCheck(t *testing.T) {
	l := func(n int) runstore.Limit { return runstore.Limit{Max: n, Set: true} }
	tests := []struct {
		budget runstore.Budget
		wrong  []string
	}{
		{runstore.Budget{}, nil},
		{runstore.Budget{ModelCalls: l(0), Chars: l(runstore.MaxLimit)}, nil},
		{runstore.Budget{ModelCalls: l(-1), CompactAt: l(runstore.MaxLimit + 1)}, []string{"model calls", "characters of context"}},
	}
	for _, tt := range tests {
		err := tt.budget.Check()
		if (err != nil) != (tt.wrong != nil) {
			t.Errorf("Check(%+v) = %v, want an error: %v", tt.budget, err, tt.wrong != nil)
		}
		for _, w := range tt.wrong {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("Check(%+v) = %v, want every bad limit named, %q too", tt.budget, err, w)
			}
		}
	}
}

func TestCharge(t *testing.T) {
	limits := runstore.Budget{ModelCalls: runstore.Limit{Max: 3}, ToolCalls: runstore.Limit{Max: 2}, Chars: runstore.Limit{Max: 100}, Seconds: runstore.Limit{Max: 10}}
	tests := []struct {
		name string
		used runstore.Usage
		add  runstore.Usage
		code string // "": allowed
	}{
		{"up to the limit", runstore.Usage{ModelCalls: 2, Chars: 60}, runstore.Usage{ModelCalls: 1, Chars: 40}, ""},
		{"one model call too many", runstore.Usage{ModelCalls: 3}, runstore.Usage{ModelCalls: 1}, runstore.StopModelCalls},
		{"one tool call too many", runstore.Usage{ToolCalls: 2}, runstore.Usage{ToolCalls: 1}, runstore.StopToolCalls},
		{"would pass the characters", runstore.Usage{Chars: 99}, runstore.Usage{ModelCalls: 1, Chars: 2}, runstore.StopChars},
		{"time is over", runstore.Usage{Millis: 10_000}, runstore.Usage{ModelCalls: 1}, runstore.StopSeconds},
		{"time is nearly over", runstore.Usage{Millis: 9_999}, runstore.Usage{ToolCalls: 1}, ""},
		{"over in one kind, asking for another", runstore.Usage{ModelCalls: 9}, runstore.Usage{ToolCalls: 1}, ""},
		{"segments are not limited", runstore.Usage{ModelCalls: 3, ToolCalls: 2, Chars: 100, Millis: 10_000}, runstore.Usage{Segments: 1, Retries: 1}, ""},
		{"many at once", runstore.Usage{}, runstore.Usage{ToolCalls: 3}, runstore.StopToolCalls},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := runstore.Run{Used: tt.used, Budget: limits}
			err := r.Charge(tt.add)
			want := tt.used
			if tt.code == "" {
				want = tt.used.Plus(tt.add)
			}
			if r.Used != want {
				t.Errorf("used %+v, want %+v", r.Used, want)
			}
			var over *runstore.BudgetError
			switch {
			case tt.code == "" && err != nil:
				t.Errorf("Charge = %v, want nil", err)
			case tt.code != "" && (!errors.As(err, &over) || over.Code != tt.code || over.StopReason().Code != tt.code):
				t.Errorf("Charge = %v, want %s", err, tt.code)
			}
		})
	}
}

func TestRefundSpendTimeLeft(t *testing.T) {
	r := runstore.Run{Budget: runstore.Budget{Seconds: runstore.Limit{Max: 2}, ModelCalls: runstore.Limit{Max: 9}, Chars: runstore.Limit{Max: 9}, ToolCalls: runstore.Limit{Max: 9}}}
	before := r.Used
	u := runstore.Usage{ModelCalls: 1, Chars: 9, Segments: 1}
	if err := r.Charge(u); err != nil {
		t.Fatal(err)
	}
	if r.Refund(u); r.Used != before {
		t.Errorf("after a refund: %+v, want %+v", r.Used, before)
	}
	r.Spend(1500 * time.Millisecond)
	r.Spend(-time.Hour) // a clock that was set back books nothing and gives nothing back
	if r.Used.Millis != 1500 || r.TimeLeft() != 500*time.Millisecond {
		t.Errorf("%d ms spent, %v left; want 1500 and 500ms", r.Used.Millis, r.TimeLeft())
	}
	if r.Spend(time.Hour); r.TimeLeft() != 0 {
		t.Errorf("%v left, want none", r.TimeLeft())
	}
}

func TestExhausted(t *testing.T) {
	full := runstore.Budget{ModelCalls: runstore.Limit{Max: 1}, ToolCalls: runstore.Limit{Max: 1}, Chars: runstore.Limit{Max: 1}, Seconds: runstore.Limit{Max: 1}}
	tests := []struct {
		used runstore.Usage
		code string
	}{
		{runstore.Usage{}, ""},
		{runstore.Usage{ModelCalls: 1}, runstore.StopModelCalls},
		{runstore.Usage{ToolCalls: 1}, runstore.StopToolCalls},
		{runstore.Usage{Chars: 1}, runstore.StopChars},
		{runstore.Usage{Millis: 1000}, runstore.StopSeconds},
		{runstore.Usage{ModelCalls: 5, ToolCalls: 5}, runstore.StopModelCalls}, // lowered since
	}
	for _, tt := range tests {
		r := runstore.Run{Used: tt.used, Budget: full}
		over := r.Exhausted()
		if (over == nil) != (tt.code == "") || over != nil && over.Code != tt.code {
			t.Errorf("Exhausted with %+v used = %v, want %q", tt.used, over, tt.code)
		}
		if r.Used != tt.used {
			t.Errorf("Exhausted charged something: %+v", r.Used)
		}
	}
}

func TestGuardObserve(t *testing.T) {
	type call struct {
		name             string
		failed, progress bool
	}
	repeat := func(n int, cs ...call) []call {
		var all []call
		for range n {
			all = append(all, cs...)
		}
		return all
	}
	a, b, bad, good := call{"a", false, false}, call{"b", false, false}, call{"x", true, false}, call{"g", false, true}
	different := func(n int) []call {
		var all []call
		for i := range n {
			all = append(all, call{fmt.Sprint(i), false, false})
		}
		return all
	}
	tests := []struct {
		name  string
		calls []call
		code  string
		at    int // the call, from 1, that stops
	}{
		{"three identical calls", repeat(4, a), runstore.StopRepeated, 3},
		{"two, another, two", append(repeat(2, a), append([]call{b}, repeat(2, a)...)...), "", 0},
		{"identical with progress", repeat(9, good), "", 0},
		{"three different failures", []call{{"1", true, false}, {"2", true, false}, {"3", true, false}}, runstore.StopErrors, 3},
		{"three identical failures", repeat(3, bad), runstore.StopRepeated, 3},
		{"failures with a success between", []call{{"1", true, false}, {"2", true, false}, a, {"3", true, false}, {"4", true, false}}, "", 0},
		{"two alternating", repeat(9, a, b), runstore.StopNoProgress, runstore.MaxNoProgress},
		{"different without progress", different(20), runstore.StopNoProgress, runstore.MaxNoProgress},
		{"progress in time", repeat(5, append(different(7), good)...), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var g runstore.Guard
			for i, c := range tt.calls {
				why := g.Observe(c.name, c.failed, c.progress)
				if why == nil {
					continue
				}
				if why.Code != tt.code || i+1 != tt.at || why.Message == "" {
					t.Errorf("stopped at call %d: %+v; want %q at %d", i+1, why, tt.code, tt.at)
				}
				return
			}
			if tt.code != "" {
				t.Errorf("not stopped, want %s at call %d", tt.code, tt.at)
			}
		})
	}
}

func TestLease(t *testing.T) {
	now := time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC)
	alive := func(names string) func(string) bool { return func(n string) bool { return strings.Contains(names, n) } }
	r := runstore.Run{ID: "20261006-080000-00000000", Status: runstore.Running}
	if !r.Interrupted(now, alive("one")) {
		t.Error("a running run that nobody holds does not show as interrupted")
	}
	if err := r.Acquire("one", "orderdesk run (process 1)", now, alive("one two")); err != nil {
		t.Fatal(err)
	}
	var held *runstore.HeldError
	for _, who := range []string{"two", "one"} {
		if err := r.Acquire(who, "another", now, alive("one two")); !errors.As(err, &held) || held.Worker != "orderdesk run (process 1)" || held.Run != r.ID {
			t.Errorf("%s acquires a held lease: %v, want a HeldError that names the worker", who, err)
		}
	}
	if r.Interrupted(now, alive("one")) || !r.Interrupted(now, alive("two")) || !r.Interrupted(now.Add(runstore.LeaseTime), alive("one")) {
		t.Error("interrupted must show when the holder is gone or the lease has run out, and not before")
	}
	later := now.Add(runstore.LeaseTime - time.Second)
	if err := r.Renew("one", later); err != nil || r.Interrupted(now.Add(runstore.LeaseTime), alive("one")) {
		t.Errorf("Renew = %v, interrupted %v; want nil and false", err, r.Interrupted(now.Add(runstore.LeaseTime), alive("one")))
	}
	if err := r.Acquire("two", "orderdesk resume", now, alive("two")); err != nil {
		t.Errorf("a dead holder's lease: %v, want it taken over", err)
	}
	if err := r.Renew("one", now); !errors.Is(err, runstore.ErrLeaseLost) {
		t.Errorf("the old holder renews: %v, want ErrLeaseLost", err)
	}
	if r.Release("one"); r.Lease.Holder != "two" {
		t.Error("the old holder gave back a lease that is not its own")
	}
	if r.Release("two"); r.Lease != (runstore.Lease{}) {
		t.Errorf("released: %+v, want none", r.Lease)
	}
	done := runstore.Run{Status: runstore.Done}
	if done.Interrupted(now, alive("")) {
		t.Error("a done run shows as interrupted")
	}
}

func TestValidRunID(t *testing.T) {
	for id, want := range map[string]bool{
		"20261006-004349-d40a1b2c": true, "20261006-004349-D40A1B2C": false, "20261006-004349-d40a1b2": false, "": false,
		"../20261006-004349-d40a1b2c": false, "20261006-004349-d40a1b2c\n": false, "٢0261006-004349-d40a1b2c": false,
	} {
		if got := runstore.ValidRunID(id); got != want {
			t.Errorf("ValidRunID(%q) = %v, want %v", id, got, want)
		}
	}
}
