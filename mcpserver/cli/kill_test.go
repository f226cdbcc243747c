//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKill kills processes with SIGKILL at random moments: runs, resumes,
// approvals and looks, several at once on one data directory. After each round
// everything is resumed to its end, and then: what any command reported is
// there, nothing was done twice, one request was created per approved action,
// and the store is sound.
//
// ORDERDESK_TEST_KILLS says how many kills, ORDERDESK_TEST_SEED which ones.
func TestKill(t *testing.T) {
	kills, seed := numberFrom(t, "ORDERDESK_TEST_KILLS", 40), numberFrom(t, "ORDERDESK_TEST_SEED", 1)
	const perRound = 20
	var sum tally
	for round := uint64(0); sum.kills < kills; round++ {
		k := newKilling(t, rand.New(rand.NewPCG(uint64(seed), round)), min(perRound, kills-sum.kills))
		k.play()
		k.check()
		sum.add(k.tally)
		if t.Failed() {
			t.Fatalf("round %d of seed %d; what was killed last:\n%s", round, seed, k.lastKilled())
		}
	}
	t.Logf("%s", sum)
}

func numberFrom(t *testing.T, name string, preset int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return preset
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a number", name, text)
	}
	return n
}

// tally counts what a test of kills saw.
type tally struct {
	rounds, kills, commands           int
	killed                            map[string]int // by command
	calls, decisions, requests, items int            // acknowledged, and found
	again                             int            // reads made again: their answer was lost
	refused                           int            // calls that were refused
}

func (a *tally) add(b tally) {
	a.rounds++
	a.kills += b.kills
	a.commands += b.commands
	a.calls += b.calls
	a.decisions += b.decisions
	a.requests += b.requests
	a.items += b.items
	a.again += b.again
	a.refused += b.refused
	if a.killed == nil {
		a.killed = map[string]int{}
	}
	for name, n := range b.killed {
		a.killed[name] += n
	}
}

func (a tally) String() string {
	return fmt.Sprintf("%d kills %v in %d rounds (%d commands); %d reported calls, %d decisions, %d requests, %d items: all there, none twice; %d reads made again, %d calls refused",
		a.kills, a.killed, a.rounds, a.commands, a.calls, a.decisions, a.requests, a.items, a.again, a.refused)
}

// killing is one round: a store, commands at work on it, and what they said.
type killing struct {
	*place
	tally
	quota int
	list  string
	pace  time.Duration // between two kills, on average
	rng   *rand.Rand    // the killer's
	seeds []uint64      // of the actors
	quit  chan struct{}

	mu    sync.Mutex
	live  []*exec.Cmd
	known []string // runs
	said  []result // of every command that has ended
}

func newKilling(t *testing.T, rng *rand.Rand, quota int) *killing {
	k := &killing{place: newPlace(t), quota: quota, rng: rng, quit: make(chan struct{}), tally: tally{killed: map[string]int{}}}
	k.list = k.place.list(16 + 8*rng.IntN(3))
	for range 5 {
		k.seeds = append(k.seeds, rng.Uint64())
	}
	k.ok("approver", "add", "Maria Weber", "--role", "CREDIT_MANAGER,HEAD_OF_FINANCE")
	began := time.Now()
	k.ok("runs")
	k.pace = time.Since(began) * 2 / 3 // fits the machine: how long it takes to open a store
	if rng.IntN(3) > 0 {               // else what makes the first run is killed too
		k.known = []string{startedRun(k.do("run", "--data", k.list, "--max-model-calls", "9"))}
	}
	return k
}

// play lets the actors work until enough of them were killed.
func (k *killing) play() {
	actor := func(i int, next func(*rand.Rand, int) []string) func() {
		return func() {
			rng := rand.New(rand.NewPCG(k.seeds[i], 0))
			for n := 0; !k.over(); n++ {
				k.act(next(rng, n))
			}
		}
	}
	together(k.killer, actor(0, k.driving), actor(1, k.driving), actor(2, k.deciding), actor(3, k.deciding), actor(4, k.looking))
}

func (k *killing) over() bool {
	select {
	case <-k.quit:
		return true
	default:
		return false
	}
}

// killer kills one of the commands at work, again and again.
func (k *killing) killer() {
	defer close(k.quit)
	for {
		<-time.After(time.Duration(k.rng.ExpFloat64() * float64(k.pace)))
		k.mu.Lock()
		if k.kills >= k.quota {
			k.mu.Unlock()
			return
		}
		if n := len(k.live); n > 0 {
			_ = k.live[k.rng.IntN(n)].Process.Kill() // it may have ended by itself
		}
		k.mu.Unlock()
	}
}

// act runs one command and keeps what it said.
func (k *killing) act(args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := k.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		k.t.Error(err)
		return
	}
	k.mu.Lock()
	k.live = append(k.live, cmd)
	k.mu.Unlock()
	err := cmd.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.live = slices.DeleteFunc(k.live, func(c *exec.Cmd) bool { return c == cmd })
	r := resultOf(args, err, &out, &errs)
	k.said = append(k.said, r)
	k.commands++
	switch {
	case r.killed:
		k.kills++
		k.killed[args[0]]++
	case ctx.Err() != nil:
		k.t.Errorf("did not end: %s", r)
	case !slices.Contains(fine(args[0]), r.code):
		k.t.Errorf("must not end so: %s", r)
	}
	if id := startedRun(r); id != "" {
		k.known = append(k.known, id)
	}
}

// fine are the exit codes that a command may have beside others.
func fine(command string) []int {
	switch command {
	case "run":
		return []int{ExitOK}
	case "resume": // of a run that another one drives
		return []int{ExitOK, ExitRefused}
	case "approve": // nothing is pending, or somebody else was first
		return []int{ExitOK, ExitRefused}
	}
	return []int{ExitOK}
}

// startedRun is the run that a command says it has started.
func startedRun(r result) string {
	id, ok := strings.CutPrefix(r.stderr, "Run ")
	id, _, whole := strings.Cut(id, " started.\n")
	if !ok || !whole {
		return ""
	}
	return id
}

// anyRun is one of the runs that were started, "" if there is none.
func (k *killing) anyRun(rng *rand.Rand) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) == 0 {
		return ""
	}
	return k.known[rng.IntN(len(k.known))]
}

// driving starts a run or two and resumes them.
func (k *killing) driving(rng *rand.Rand, n int) []string {
	run := k.anyRun(rng)
	if run == "" || n > 0 && rng.IntN(12) == 0 {
		return []string{"run", "--data", k.list, "--simulate", []string{"none", "none", "flaky"}[rng.IntN(3)], "--json"}
	}
	return []string{"resume", run, "--max-model-calls", "500", "--json"}
}

// deciding approves or rejects whatever waits. Its comment names the decision.
func (k *killing) deciding(rng *rand.Rand, n int) []string {
	run := k.anyRun(rng)
	if run == "" {
		return []string{"approver", "list", "--json"}
	}
	args := []string{"approve", "--all", "--run", run, "--as", "Maria Weber", "--comment", fmt.Sprintf("c%x-%d", rng.Uint32(), n), "--json"}
	if rng.IntN(3) == 0 {
		args = append(args, "--reject")
	}
	return args
}

// looking only reads.
func (k *killing) looking(rng *rand.Rand, _ int) []string {
	run := k.anyRun(rng)
	if run == "" {
		return []string{"notes", "list", "--json"}
	}
	return [][]string{{"status", run, "--json"}, {"trace", run, "--json"}, {"runs", "--json"}, {"doctor", "--json"}}[rng.IntN(4)]
}

func (k *killing) lastKilled() string {
	for _, r := range slices.Backward(k.said) {
		if r.killed {
			return r.String()
		}
	}
	return ""
}

// check ends the round: everything to its end, and held against what was said.
func (k *killing) check() {
	k.t.Helper()
	final := k.finish()
	if r := k.do("doctor", "--json"); r.code != ExitOK {
		k.t.Errorf("not sound: %s", r)
	}
	k.checkSaid(final)
	k.checkTraces(final)
	k.checkRequests(final)
}

// finish resumes the runs and decides in them until all are done. A run may
// wait for what another one asks for.
func (k *killing) finish() []seenRun {
	k.t.Helper()
	for range 20 {
		open := false
		for _, run := range slices.Backward(k.runs()) {
			var v seenRun
			k.ok("resume", run.RunID, "--max-model-calls", "500", "--json").decode(k.t, &v)
			if v.Status != "done" {
				open = true
				k.do("approve", "--all", "--run", run.RunID, "--as", "Maria Weber", "--comment", "end", "--json")
			}
		}
		if !open {
			break
		}
	}
	var final []seenRun
	for _, run := range k.runs() {
		v := k.status(run.RunID)
		if final = append(final, v); v.Status != "done" {
			k.t.Errorf("run %s is %s (%+v) after all decisions: %v", v.RunID, v.Status, v.StopReason, v.Counts)
		}
	}
	return final
}

// checkSaid finds everything that was acknowledged.
func (k *killing) checkSaid(final []seenRun) {
	k.t.Helper()
	runs, actions := map[string]seenRun{}, map[string]seenAction{}
	called := map[string]map[reported]bool{}
	for _, run := range final {
		runs[run.RunID], called[run.RunID] = run, map[reported]bool{}
		for _, e := range k.trace(run.RunID) {
			if e.Kind == "tool_call" {
				called[run.RunID][reported{e.Call, e.Data.Refused, e.Data.Tool}] = true
			}
		}
		for _, a := range run.Actions {
			actions[a.name()] = a
		}
	}
	for _, r := range k.said {
		id := startedRun(r)
		if r.args[0] == "resume" {
			id = r.args[1]
		}
		if _, there := runs[id]; id != "" && !there {
			k.t.Errorf("run %s was reported and is not there: %s", id, r)
		}
		for _, c := range calls(r.stderr) {
			k.calls++
			if !called[id][c] {
				k.t.Errorf("call %+v was reported and is not in the trace of %s: %s", c, id, r)
			}
		}
		k.checkView(r, runs, actions)
	}
}

// checkView holds a run as it was printed against how it ended: counters only
// grow, and a decision stays what it was.
func (k *killing) checkView(r result, runs map[string]seenRun, actions map[string]seenAction) {
	var v seenRun
	if r.code != ExitOK || r.killed && !json.Valid([]byte(r.stdout)) || json.Unmarshal([]byte(r.stdout), &v) != nil || v.RunID == "" {
		return
	}
	end := runs[v.RunID]
	if end.Used.ModelCalls < v.Used.ModelCalls || end.Used.ToolCalls < v.Used.ToolCalls || end.Counts["total"] < v.Counts["total"] {
		k.t.Errorf("went back: %+v was printed, it ended as %+v", v, end)
	}
	for _, was := range v.Actions {
		is, there := actions[was.name()]
		if !there {
			k.t.Errorf("action %s was printed and is gone: %s", was.name(), r)
		}
		if was.Approval == nil {
			continue
		}
		k.decisions++
		if is.Approval == nil || *is.Approval != *was.Approval {
			k.t.Errorf("decision %+v on %s was printed; it ended as %+v", *was.Approval, was.name(), is.Approval)
		}
	}
}

// checkTraces wants events without a gap, and every effect once.
func (k *killing) checkTraces(final []seenRun) {
	k.t.Helper()
	for _, run := range final {
		k.items += run.Counts["total"]
		once, reads := map[string]bool{}, map[string]bool{}
		for i, e := range k.trace(run.RunID) {
			if e.Seq != i+1 {
				k.t.Errorf("run %s: event %d has number %d", run.RunID, i+1, e.Seq)
			}
			key := ""
			switch call := e.Data.Tool + string(e.Data.Args); {
			case e.Kind == "queued" || e.Kind == "execution" || e.Kind == "approval":
				key = strings.Join([]string{e.Kind, e.Data.Linked, e.Data.Action, e.Data.Status}, " ")
			case e.Kind == "tool_call" && e.Data.Refused:
				k.refused++
			case e.Kind == "tool_call" && strings.Contains(e.Data.Tool, "_get_"):
				if reads[call] {
					k.again++
				}
				reads[call] = true
			case e.Kind == "tool_call":
				key = call
			}
			if key != "" && once[key] {
				k.t.Errorf("run %s: event %d is there twice: %s", run.RunID, e.Seq, key)
			}
			once[key] = true
		}
	}
}

// checkRequests wants one request per approved action and per item.
func (k *killing) checkRequests(final []seenRun) {
	k.t.Helper()
	byKey, byItem := map[string]createdRequest{}, map[string]bool{}
	for _, c := range k.register() {
		if _, twice := byKey[c.Key]; twice || byItem[c.Item] {
			k.t.Errorf("created twice: %+v", c)
		}
		byKey[c.Key], byItem[c.Item] = c, true
		k.requests++
	}
	for _, run := range final {
		for _, a := range run.Actions {
			made, is := byKey[a.name()]
			approved := a.Approval != nil && a.Approval.Verdict == "approved"
			if is != approved || is && (a.Status != "executed" || a.Outcome != made.Request || a.Item != made.Item) {
				k.t.Errorf("action %+v (%+v), request %+v", a, a.Approval, made)
			}
		}
	}
}
