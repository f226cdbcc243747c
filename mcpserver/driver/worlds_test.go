package driver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
)

// TestWorlds works whole lists with the default budgets and holds every order
// against the oracle; then every request is decided and the run resumed.
func TestWorlds(t *testing.T) {
	perOrder := map[int]float64{}
	for _, n := range []int{4, 40, 400, 4000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			path := fmt.Sprintf("testdata/worlds/world_%d.json", n)
			if n > 400 {
				path = generate(t, n)
			}
			d := newDesk(t, deskOptions{source: path})
			run := d.start(runstore.Budget{}, runstore.Source{Data: path, Model: "sample", Simulate: "none"}, 0)
			oracle := readOracle(t, path)
			d.checkOracle(run, oracle)
			perOrder[n] = float64(run.Used.Chars) / float64(run.Plan.Total)
			t.Logf("%d orders: %d model calls, %d tool calls, %.0f characters per order, %d segments",
				run.Plan.Total, run.Used.ModelCalls, run.Used.ToolCalls, perOrder[n], run.Used.Segments)
			d.decideAll(run)
			run, _ = d.resume(run.ID, driver.Changes{})
			if run.Status != runstore.Done {
				t.Errorf("after all decisions: %s (%v), want done", run.Status, run.Stop)
			}
		})
	}
	if got := perOrder[4000] / perOrder[40]; got > 1.2 {
		t.Errorf("characters per order: %.0f at 4,000, %.0f at 40: ratio %.2f, want at most 1.2", perOrder[4000], perOrder[40], got)
	}
}

func readOracle(t testing.TB, path string) map[string]verdict {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var w struct{ Oracle map[string]verdict }
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	return w.Oracle
}

func (d *desk) checkOracle(run *runstore.Run, oracle map[string]verdict) {
	d.t.Helper()
	items := d.plan(run)
	if len(items) != len(oracle) {
		d.t.Errorf("plan has %d orders, the oracle %d", len(items), len(oracle))
	}
	wrong := 0
	for _, it := range items {
		want, ok := oracle[it.ID]
		role := ""
		if it.Status == runstore.WaitingApproval {
			role = d.roleOf(run, it.ID)
		}
		if ok && string(it.Status) == want.Status && role == want.Role {
			continue
		}
		if wrong++; wrong <= 10 {
			d.t.Errorf("%s: %s %s (%q), want %+v", it.ID, it.Status, role, it.Note, want)
		}
	}
	if wrong > 10 {
		d.t.Errorf("%d orders in all end wrong", wrong)
	}
	want := runstore.Done
	if run.Pending > 0 {
		want = runstore.Waiting
	}
	if run.Status != want {
		d.t.Errorf("run: %s (%v), want %s", run.Status, run.Stop, want)
	}
}

func (d *desk) roleOf(run *runstore.Run, item string) string {
	d.t.Helper()
	role := ""
	err := d.store.View(context.Background(), func(tx *runstore.Tx) error {
		ref, ok, err := tx.ItemAction(run, item)
		if err != nil || !ok {
			return err
		}
		a, err := tx.Action(ref)
		if err == nil {
			role = a.Role
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return role
}

// decideAll approves two of three requests and rejects the third.
func (d *desk) decideAll(run *runstore.Run) {
	d.t.Helper()
	byRole := map[string][]approvalgate.RefDecision{}
	err := d.store.View(context.Background(), func(tx *runstore.Tx) error {
		return tx.Actions(run.ID, 1, func(a *runstore.Action) bool {
			byRole[a.Role] = append(byRole[a.Role], approvalgate.RefDecision{
				Ref:      approvalgate.Ref{Run: a.Run, Action: a.ID},
				Decision: approvalgate.Decision{Approve: a.Seq%3 != 0, Hash: a.Hash, Comment: "reviewed"}})
			return true
		})
	})
	if err != nil {
		d.t.Fatal(err)
	}
	for role, decisions := range byRole {
		decided, err := d.gate.DecideMany(context.Background(), d.person("Person of "+role, role), decisions)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, x := range decided {
			if x.Err != nil {
				d.t.Fatal(x.Err)
			}
		}
	}
}
