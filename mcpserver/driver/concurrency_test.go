package driver_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"orderdesk/mcpserver/driver/drivertest"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// TestParallelCallsAgainstBudget makes 300 calls at once on one run with a
// tool budget of 290: exactly 10 are refused, and every counter is exact.
func TestParallelCallsAgainstBudget(t *testing.T) {
	const calls, budget = 300, 290
	note := func(i int) tools.Call {
		return drivertest.Call("memory_save_note", fmt.Sprintf(`{"subject":"customer 10051","note":"note %d"}`, i))
	}
	read := func(i int) tools.Call {
		return drivertest.Call(summary.Name, fmt.Sprintf(`{"sales_order":"%d"}`, 100001+i))
	}
	tests := []struct {
		name string
		call func(int) tools.Call
	}{
		{"writes", note}, {"reads", read},
		{"both", func(i int) tools.Call {
			if i%2 == 0 {
				return note(i)
			}
			return read(i)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, deskOptions{source: "testdata/worlds/world_400.json"})
			id := d.begin(runstore.Budget{ToolCalls: limit(budget)})
			var refused, failed atomic.Int64
			var wg sync.WaitGroup
			for i := range calls {
				c := tt.call(i)
				wg.Go(func() {
					res, err := d.set.Call(context.Background(), tools.Request{Who: me, Run: id, Name: c.Name, Args: c.Args})
					switch {
					case err != nil:
						t.Error(err)
					case res.Refused && strings.Contains(string(res.JSON), "budget: the limit of 290 tool calls is reached"):
						refused.Add(1)
					case res.Refused:
						failed.Add(1)
					}
				})
			}
			wg.Wait()
			run := d.run(id)
			if refused.Load() != calls-budget || failed.Load() != 0 || run.Used.ToolCalls != budget {
				t.Errorf("%d refused, %d failed, %d/%d used; want %d, 0, all", refused.Load(), failed.Load(), run.Used.ToolCalls, budget, calls-budget)
			}
			if run.Status != runstore.Stopped || run.Stop.Code != runstore.StopToolCalls {
				t.Errorf("run: %s %+v, want stopped", run.Status, run.Stop)
			}
			if n := len(d.toolCalls(id)); n != budget {
				t.Errorf("%d calls traced, want %d", n, budget)
			}
			if n := len(d.notes()) + int(d.backend.Counts().Orders); n != budget {
				t.Errorf("%d notes and reads, want %d", n, budget)
			}
			d.consistent(id)
		})
	}
}
