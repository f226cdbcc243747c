package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestStatusContract holds the JSON of run, status, approve and resume to the
// members that scripts depend on.
func TestStatusContract(t *testing.T) {
	s := newSession(t)
	for _, args := range [][]string{{"run", "--json"}, {"status", "--json"}, {"approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER", "--json"},
		{"approve", "A1", "--as", "Maria Weber", "--json"}, {"resume", "--json"}} {
		code, stdout, stderr := s.main(args...)
		if code != 0 {
			t.Fatalf("%q: exit %d: %s", args, code, stderr)
		}
		var v map[string]json.RawMessage
		if err := json.Unmarshal([]byte(stdout), &v); err != nil {
			t.Fatalf("%q: standard output is not one JSON value: %v\n%s", args, err, stdout)
		}
		if args[0] == "approver" {
			continue
		}
		for _, name := range []string{"run_id", "status", "stop_reason", "plan", "actions", "used", "budget", "counts", "final_answer"} {
			if v[name] == nil {
				t.Errorf("%q: no member %s", args, name)
			}
		}
		members(t, args, v["plan"], "sales_order", "status", "note")
		members(t, args, v["actions"], "id", "run_id", "sales_order", "required_role", "status", "envelope_hash", "approval", "outcome")
		members(t, args, append(append([]byte("["), v["used"]...), ']'), "model_calls", "tool_calls", "retries", "segments", "chars_sent", "seconds")
	}
	_, stdout, _ := s.main("status", "--json")
	var v struct {
		Status  string
		Actions []struct {
			Status   string
			Outcome  string
			Approval *struct{ By, Role, At, Comment string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatal(err)
	}
	if a := v.Actions[0]; a.Status != "executed" || a.Outcome != "REQ-0001" || a.Approval == nil || a.Approval.By != "Maria Weber" {
		t.Errorf("A1: %+v, want executed as REQ-0001, approved by Maria Weber", a)
	}
}

func members(t *testing.T, args []string, list json.RawMessage, names ...string) {
	t.Helper()
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil || len(items) == 0 {
		t.Fatalf("%q: %s: %v", args, list, err)
	}
	for _, n := range names {
		if _, ok := items[0][n]; !ok {
			t.Errorf("%q: an item has no member %s: %s", args, n, list)
		}
	}
}

// TestExitCodes runs what ends in each of the codes that need no fault from
// outside.
func TestExitCodes(t *testing.T) {
	tests := []struct {
		args []string
		want int
	}{
		{[]string{"status"}, ExitUsage}, // no run yet
		{[]string{"run", "--max-model-calls", "5"}, ExitStopped},
		{[]string{"resume"}, ExitStopped}, // still out of budget
		{[]string{"resume", "--max-model-calls", "25"}, ExitOK},
		{[]string{"resume"}, ExitOK}, // still waiting
		{[]string{"run", "--max-model-calls", "0"}, ExitStopped},
		{[]string{"run", "--max-model-calls", "-1"}, ExitUsage},
		{[]string{"run", "--data", "no-such-file.json"}, ExitUsage},
		{[]string{"approver", "add", "Jon Berg", "--role", "HEAD_OF_FINANCE"}, ExitOK},
		{[]string{"approve", "A1", "--as", "Jon Berg"}, ExitRefused}, // the wrong role
		{[]string{"approve", "A1", "--as", "Nobody"}, ExitRefused},
		{[]string{"resume", "20260101-000000-00000000"}, ExitUsage},
		{[]string{"doctor"}, ExitOK},
		{[]string{"notes", "list"}, ExitOK},
		{[]string{"notes", "delete", "N99"}, ExitUsage},
		{[]string{"reset"}, ExitUsage},
		{[]string{"reset", "--yes"}, ExitOK},
		{[]string{"status"}, ExitUsage},
	}
	s := newSession(t)
	for _, tt := range tests {
		code, stdout, stderr := s.main(tt.args...)
		if code != tt.want {
			t.Errorf("orderdesk %q: exit %d, want %d\n%s%s", tt.args, code, tt.want, stdout, stderr)
		}
	}
}

// TestReadingMakesNoStore runs every command that only reads where there is no
// store yet: none of them leaves one behind.
func TestReadingMakesNoStore(t *testing.T) {
	tests := []struct {
		args   []string
		exit   int
		stdout string
	}{
		{[]string{"status", "--json"}, ExitUsage, `"no_run"`},
		{[]string{"trace", "--json"}, ExitUsage, `"no_run"`},
		{[]string{"runs", "--json"}, ExitOK, `"runs": []`},
		{[]string{"notes", "list", "--json"}, ExitOK, `"notes": []`},
		{[]string{"approver", "list", "--json"}, ExitOK, `"approvers": []`},
		{[]string{"agent", "list", "--json"}, ExitOK, `"agents": []`},
		{[]string{"doctor", "--json"}, ExitOK, `"sound": true`},
	}
	s := newSession(t)
	for _, tt := range tests {
		code, stdout, stderr := s.main(tt.args...)
		if code != tt.exit || !strings.Contains(stdout, tt.stdout) {
			t.Errorf("orderdesk %q: exit %d, want %d with %s\n%s%s", tt.args, code, tt.exit, tt.stdout, stdout, stderr)
		}
		if _, err := os.Stat(s.env["ORDERDESK_DATA_DIR"]); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("orderdesk %q has made a data directory (%v)", tt.args, err)
		}
	}
}
