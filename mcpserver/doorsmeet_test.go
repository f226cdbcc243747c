package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"

	"orderdesk/runstore"
)

// eras are the revisions of the protocol, the newest without sessions.
var eras = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// TestDoorsMeet works the same list through the driver and through every
// transport in every era, with a client that goes away in the middle: the same
// plan, requests, sealed envelopes to the byte, notes and counters.
func TestDoorsMeet(t *testing.T) {
	driven := newDesk(t)
	want := driven.outcome(driven.drive(anna).ID)
	if want.Status != runstore.Waiting || len(want.Plan) != 4 || len(want.Actions) != 2 || len(want.Envelopes) != 2 || len(want.Notes) != 1 || want.ToolCalls < 10 {
		t.Fatalf("the driver came to %+v", want)
	}
	for _, how := range []string{"stdio", "http", "sse"} {
		for _, era := range eras {
			t.Run(how+" "+era, func(t *testing.T) {
				s := newSite(t)
				open, owner := func() *host { return s.open(how, era, s.annas) }, "agent:anna"
				if how == "stdio" {
					open, owner = func() *host { return s.connect(client.WithProtocolVersion(era)) }, anna.Name
				}
				s.meets(open, owner, want)
				if raw, refused := s.open("http", era, s.bens).call("run_status", `{"run_id":"`+s.latest()+`"}`); !refused || !strings.Contains(string(raw), "There is no run") {
					t.Errorf("ben sees %s", raw)
				}
			})
		}
	}
}

// meets works the list with two clients, one after the other.
func (s *site) meets(open func() *host, owner string, want outcome) {
	s.t.Helper()
	first := open()
	var st said
	raw, _ := first.call("run_start", `{}`)
	if err := json.Unmarshal(raw, &st); err != nil {
		s.t.Fatal(err)
	}
	first.call(list, `{"sales_organization":"1010"}`)
	first.end()
	again := open()
	s.work(again.call, st.Run)
	again.end()
	got := s.outcome(st.Run)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("got %+v\nwant %+v", got, want)
	}
	err := s.store.Look(s.t.Context(), st.Run, func(_ *runstore.Tx, r *runstore.Run) error {
		if r.Owner != owner {
			s.t.Errorf("the run is %s's", r.Owner)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// latest is the run that was started last.
func (d *desk) latest() (id string) {
	d.t.Helper()
	err := d.store.View(d.t.Context(), func(tx *runstore.Tx) error {
		run, err := tx.LatestRun()
		if err == nil {
			id = run.ID
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}
