package driver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderdesk/runstore"
)

// listFile writes a list of blocked orders of one customer.
func listFile(t *testing.T, limit, open float64, values ...float64) string {
	t.Helper()
	var orders []string
	for i, v := range values {
		orders = append(orders, fmt.Sprintf(`{"sales_order":"%d","customer":"1","net_value":%.2f,"blocked":true,"block_reason":"Blocked by the credit check."}`, 100+i, v))
	}
	text := fmt.Sprintf(`{"sales_organization":"1010","orders":[%s],"customers":[{"customer":"1","name":"A","street":"B","postal_code":"1","city":"C","country":"DE","credit_limit":%.2f,"open_items":%.2f}]}`,
		strings.Join(orders, ","), limit, open)
	path := filepath.Join(t.TempDir(), "list.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCreditLowersNoRole: a credit among a customer's requests may be rejected;
// it must not bring the role of another one down.
func TestCreditLowersNoRole(t *testing.T) {
	d := newDesk(t, deskOptions{source: listFile(t, 50000, 52000, 400, -1900, 400)})
	run := d.start(runstore.Budget{}, sample, 0)
	want := map[string]string{"100": "CREDIT_MANAGER", "101": "CREDIT_MANAGER", "102": "HEAD_OF_FINANCE"}
	for order, role := range want {
		if got := d.roleOf(run, order); got != role {
			t.Errorf("%s needs %s, want %s", order, got, role)
		}
	}
}

// TestAnswerCountsLinkedRequests: requests of another run wait too, and are
// named as its own, also when the briefing has no room for them all.
func TestAnswerCountsLinkedRequests(t *testing.T) {
	d := newDesk(t, deskOptions{source: listFile(t, 50000, 52000, 400, 10, 10, 10, 10)})
	first := d.start(runstore.Budget{}, sample, 0)
	for _, compact := range []int{2200, 2400, 3500, 4500, 20000} {
		run := d.start(runstore.Budget{CompactAt: limit(compact)}, sample, 0)
		if run.Plan.Count(runstore.WaitingApproval) != 5 {
			t.Fatalf("%d wait, want 5 (%+v)", run.Plan.Count(runstore.WaitingApproval), run.Stop)
		}
		if strings.Contains(run.Answer, "Nothing is waiting") || !strings.Contains(run.Answer, "5 requests") && strings.Count(run.Answer, first.ID+"/A") < 5 {
			t.Errorf("compacted at %d:\n%s", compact, run.Answer)
		}
		if note := d.note(run, "100"); !strings.Contains(note, "Request "+first.ID+"/A1 waits") {
			t.Errorf("the plan says %q", note)
		}
	}
}
