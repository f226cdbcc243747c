package driver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/tools"
)

var errLost = errors.New("the process died")

// life is a run with decisions, worked by processes that die: each opens the
// store anew and goes on from what it finds there.
type life struct {
	t        *testing.T
	dir      string // of the store
	register string
	world    string
	models   int // model calls that were really made
	fetches  atomic.Int64
	lose     func(key string) bool // see sampledata.Register
	run      *runstore.Run
	commits  int64  // of the last process
	told     string // the story of a life that has ended well
}

// newLife is a life that has not begun.
func newLife(t *testing.T, world string) *life {
	return &life{t: t, dir: t.TempDir(), register: t.TempDir(), world: world}
}

// process is one process's part: it works until the run is done, or dies.
func (l *life) process(o runstore.Options) (err error) {
	o.Dir, o.NoSync = l.dir, true
	store, err := runstore.Open(context.Background(), o)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { l.commits = store.Commits(); err = errors.Join(err, store.Close()) }()
	d := newDesk(l.t, deskOptions{store: store, source: l.world, register: l.register})
	defer d.register.Close()
	d.register.LoseAnswer = l.lose
	l.count(d)
	if err := l.work(d); err != nil {
		return err
	}
	l.run = d.run(l.run.ID)
	l.check(d)
	l.told = l.story(d)
	return nil
}

// count counts the calls that really leave the process.
func (l *life) count(d *desk) {
	for _, tool := range d.set.Domain().Tools {
		if tool.Read == nil {
			continue
		}
		read := *tool.Read
		fetch := read.Fetch
		read.Fetch = func(ctx context.Context, ids []string) (tools.Found, error) {
			l.fetches.Add(1)
			return fetch(ctx, ids)
		}
		tool.Read = &read
	}
}

// work does what is still to be done: the run, the decisions, the resume.
func (l *life) work(d *desk) error {
	ctx := context.Background()
	if err := l.people(d); err != nil {
		return err
	}
	run, err := l.find(d)
	if err != nil {
		return err
	}
	l.run = run
	model := &counted{driver.Rules(d.set.Domain()), &l.models}
	for range 5 {
		if run.Status == runstore.Waiting {
			if err := l.decide(d, run); err != nil {
				return err
			}
		}
		if run, _, _, err = d.driver(model, driver.Options{}).Resume(ctx, l.run.ID, driver.Changes{}); err != nil {
			return err
		}
		if run.Status == runstore.Done {
			return nil
		}
	}
	return fmt.Errorf("the run does not end: %s %+v", run.Status, run.Stop)
}

func (l *life) people(d *desk) error {
	for name, role := range map[string]string{"Maria Weber": "CREDIT_MANAGER", "Jon Berg": "HEAD_OF_FINANCE"} {
		known, err := d.people.List(context.Background())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(known, func(p approvalgate.PersonInfo) bool { return p.Name == name }) {
			if err := d.people.Add(context.Background(), name, []string{role}, "", "a long passphrase", "test"); err != nil {
				return err
			}
		}
		if d.persons[name], err = d.people.Authenticate(context.Background(), name, "a long passphrase"); err != nil {
			return err
		}
	}
	return nil
}

// find returns the one run, which is started if there is none.
func (l *life) find(d *desk) (*runstore.Run, error) {
	var run *runstore.Run
	err := d.store.View(context.Background(), func(tx *runstore.Tx) (err error) {
		run, err = tx.LatestRun()
		return err
	})
	if errors.Is(err, runstore.ErrRunNotFound) {
		return d.set.Start(context.Background(), me, "1010", sample, runstore.Budget{})
	}
	return run, err
}

// decide approves A1 and A3 and rejects A2, if that is still to be done.
func (l *life) decide(d *desk, run *runstore.Run) error {
	var open []runstore.Action
	err := d.store.View(context.Background(), func(tx *runstore.Tx) error {
		return tx.Actions(run.ID, 1, func(a *runstore.Action) bool {
			if a.Status == runstore.Pending {
				open = append(open, *a)
			}
			return true
		})
	})
	if err != nil {
		return err
	}
	for _, a := range open {
		who := d.persons["Maria Weber"]
		if a.Role == "HEAD_OF_FINANCE" {
			who = d.persons["Jon Berg"]
		}
		_, err := d.gate.Decide(context.Background(), who, approvalgate.Ref{Run: a.Run, Action: a.ID},
			approvalgate.Decision{Approve: a.Seq != 2, Hash: a.Hash, Comment: "seen"})
		if err != nil {
			return err
		}
	}
	return nil
}

// counted is a model that counts the calls made to it.
type counted struct {
	driver.Model
	n *int
}

func (c *counted) Next(ctx context.Context, conv driver.Conversation) (driver.Reply, error) {
	*c.n++
	return c.Model.Next(ctx, conv)
}

// check holds a finished life against what must be true of every one.
func (l *life) check(d *desk) {
	d.consistent(l.run.ID)
	if l.run.Used.ModelCalls < l.models || int64(l.run.Used.ToolCalls) < l.fetches.Load() {
		l.t.Errorf("%d model and %d tool calls counted, %d and %d made", l.run.Used.ModelCalls, l.run.Used.ToolCalls, l.models, l.fetches.Load())
	}
	report, err := d.store.Check(context.Background(), func(p runstore.Problem) { l.t.Errorf("%+v", p) })
	if err != nil {
		l.t.Errorf("check: %+v, %v", report, err)
	}
}

// story is what a finished life comes to: plan, actions, requests, and the tool
// calls in their sequence.
func (l *life) story(d *desk) string {
	var b strings.Builder
	for _, it := range d.plan(l.run) {
		fmt.Fprintln(&b, it.ID, it.Status, it.Note)
	}
	for n := 1; n <= l.run.ActionSeq; n++ {
		a := d.action(l.run.ID, fmt.Sprintf("A%d", n))
		fmt.Fprintln(&b, a.ID, a.Target.ID, a.Status, a.Role)
	}
	for _, e := range d.register.All() {
		fmt.Fprintln(&b, e.Receipt.Reference, strings.TrimPrefix(e.Key, l.run.ID), e.Request)
	}
	for _, e := range d.trace(l.run.ID) {
		var c struct {
			Tool string
			Args json.RawMessage
		}
		if e.Kind == runstore.TraceToolCall && json.Unmarshal(e.Data, &c) == nil {
			fmt.Fprintf(&b, "%s %s\n", c.Tool, c.Args)
		}
	}
	return b.String()
}

// TestCrashAtEveryCommit loses the n-th commit, for every n of a run with
// decisions; and then lets it become durable while nobody hears of it. Each
// time the process is gone. The next one ends the run as if nothing had been:
// the same plan, the same tool calls, one request per approval, no counter
// behind.
func TestCrashAtEveryCommit(t *testing.T) {
	world := altered(t, func(w *genWorld) {
		o := w.order("4730")
		o.Blocked, o.BlockReason = true, "Blocked by the credit check."
	})
	undisturbed := newLife(t, world)
	if err := undisturbed.process(runstore.Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(undisturbed.told, "REQ-0002 /A3") || strings.Contains(undisturbed.told, "REQ-0003") {
		t.Fatalf("the undisturbed run:\n%s\nwant two requests", undisturbed.told)
	}
	for name, hook := range map[string]func(func(int) error) runstore.Options{
		"lost":    func(at func(int) error) runstore.Options { return runstore.Options{OnCommit: at} },
		"unheard": func(at func(int) error) runstore.Options { return runstore.Options{AfterCommit: at} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= int(undisturbed.commits); n++ {
				l := newLife(t, world)
				err := l.process(hook(func(i int) error {
					if i == n {
						return errLost
					}
					return nil
				}))
				if !errors.Is(err, errLost) {
					t.Fatalf("commit %d: %v, want the process to die", n, err)
				}
				if err := l.process(runstore.Options{}); err != nil {
					t.Errorf("commit %d: the next process: %v", n, err)
				}
				if l.told != undisturbed.told {
					t.Errorf("commit %d:\n%s\nundisturbed:\n%s", n, l.told, undisturbed.told)
				}
			}
			t.Logf("%d commits", undisturbed.commits)
		})
	}
}

// TestAnswerOfTheReceiverLost reaches the receiver, whose answer is lost, and
// then loses each of the commits that follow.
func TestAnswerOfTheReceiverLost(t *testing.T) {
	for after := range 4 {
		l := newLife(t, "")
		n, lost := 0, false
		l.lose = func(string) bool { lost = true; return true }
		err := l.process(runstore.Options{OnCommit: func(int) error {
			if !lost {
				return nil
			}
			if n++; n > after {
				return errLost
			}
			return nil
		}})
		if !lost || err != nil && !errors.Is(err, errLost) {
			t.Fatalf("after %d commits: %v, receiver reached %v", after, err, lost)
		}
		l.lose = nil
		if err := l.process(runstore.Options{}); err != nil {
			t.Errorf("after %d commits: the next process: %v", after, err)
		}
		if got := strings.Count(l.told, "REQ-0"); got < 2 || strings.Contains(l.told, "REQ-0002") {
			t.Errorf("after %d commits: want one request, in the register and in the plan:\n%s", after, l.told)
		}
	}
}
