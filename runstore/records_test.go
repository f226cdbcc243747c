package runstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"orderdesk/runstore"
)

// book is a store in memory with one run, whose clock the test sets.
type book struct {
	t     testing.TB
	store *runstore.Store
	id    string
	now   time.Time
}

func newBook(t testing.TB) *book {
	t.Helper()
	b := &book{t: t, now: time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC)}
	var err error
	if b.store, err = runstore.Open(context.Background(), runstore.Options{InMemory: true, Clock: func() time.Time { return b.now }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.store.Close() })
	b.id = b.newRun()
	return b
}

func (b *book) newRun() string {
	b.t.Helper()
	var id string
	err := b.store.Update(context.Background(), func(tx *runstore.Tx) error {
		r, err := tx.NewRun(runstore.Run{Owner: "os:ann", Scope: "1010"})
		if err == nil {
			id = r.ID
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *book) step(fn func(*runstore.Tx, *runstore.Run) error) {
	b.t.Helper()
	if err := b.store.Step(context.Background(), b.id, fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *book) consistent(ids ...string) {
	b.t.Helper()
	for _, id := range append(ids, b.id) {
		err := b.store.Look(context.Background(), id, func(tx *runstore.Tx, r *runstore.Run) error {
			wrong, err := tx.Consistent(r)
			for _, w := range wrong {
				b.t.Errorf("run %s: %s", id, w)
			}
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// model is what the records of a run must come to, kept in the simplest way.
type model struct {
	items   []runstore.Item
	action  map[string]string // item to action
	actions []runstore.ActionStatus
	decided map[string]bool
}

var actionStatuses = []runstore.ActionStatus{runstore.Pending, runstore.Approved, runstore.Executing, runstore.Executed, runstore.Failed,
	runstore.Unknown, runstore.Rejected, runstore.Expired, runstore.Withdrawn, runstore.Refused}

// TestRecordsAgainstModel plays random operations on plan, actions and
// decisions and holds every look-up against a simple model.
func TestRecordsAgainstModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			b, r := newBook(t), rand.New(rand.NewPCG(seed, 7))
			m := &model{action: map[string]string{}, decided: map[string]bool{}}
			for range 600 {
				switch r.IntN(6) {
				case 0:
					m.add(b, fmt.Sprint(r.IntN(80)))
				case 1, 2:
					m.set(b, r)
				case 3:
					m.queue(b, r)
				default:
					m.settle(b, r)
				}
				m.compare(b, 1+r.IntN(9))
			}
			b.consistent()
		})
	}
}

func (m *model) find(id string) *runstore.Item {
	i := slices.IndexFunc(m.items, func(it runstore.Item) bool { return it.ID == id })
	if i < 0 {
		return nil
	}
	return &m.items[i]
}

func (m *model) add(b *book, id string) {
	known := m.find(id) != nil
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		it, added, err := tx.AddItem(run, id)
		if added == known || it.ID != id {
			b.t.Errorf("AddItem(%s) = %+v, %v; want added %v", id, it, added, !known)
		}
		return err
	})
	if !known {
		m.items = append(m.items, runstore.Item{Pos: len(m.items) + 1, ID: id, Status: runstore.Todo})
	}
}

func (m *model) set(b *book, r *rand.Rand) {
	if len(m.items) == 0 {
		return
	}
	it := &m.items[r.IntN(len(m.items))]
	it.Status, it.Note, it.Gone = runstore.ItemStatuses[r.IntN(4)], fmt.Sprint("n", r.IntN(3)), r.IntN(9) == 0
	if it.Status != runstore.WaitingApproval {
		delete(m.decided, it.ID)
	}
	b.step(func(tx *runstore.Tx, run *runstore.Run) error { return tx.SetItem(run, *it) })
}

// queue gives an item a new action, which is pending.
func (m *model) queue(b *book, r *rand.Rand) {
	if len(m.items) == 0 {
		return
	}
	it := m.items[r.IntN(len(m.items))]
	m.actions = append(m.actions, runstore.Pending)
	m.action[it.ID] = fmt.Sprint("A", len(m.actions))
	delete(m.decided, it.ID)
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		a := &runstore.Action{ID: run.NewActionID(), Run: run.ID, Status: runstore.Pending, Target: runstore.Target{Kind: "thing", ID: it.ID}}
		if a.ID != m.action[it.ID] {
			b.t.Errorf("new action is %s, want %s", a.ID, m.action[it.ID])
		}
		if err := tx.PutAction(run, a); err != nil {
			return err
		}
		return tx.SetItemAction(run, it.ID, runstore.ActionRef{Run: run.ID, Action: a.ID})
	})
}

// settle gives the action of an item a random status, and settles it if that
// is the end of it.
func (m *model) settle(b *book, r *rand.Rand) {
	if len(m.actions) == 0 {
		return
	}
	n, status := r.IntN(len(m.actions)), actionStatuses[r.IntN(len(actionStatuses))]
	m.actions[n] = status
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		a, err := tx.Action(runstore.ActionRef{Run: run.ID, Action: fmt.Sprint("A", n+1)})
		if err != nil {
			return err
		}
		if a.Status = status; !status.Open() && m.action[a.Target.ID] == a.ID {
			if it := m.find(a.Target.ID); it.Status == runstore.WaitingApproval {
				m.decided[it.ID] = true
			}
		}
		if err := tx.PutAction(run, a); err != nil || status.Open() || m.action[a.Target.ID] != a.ID {
			return err
		}
		return tx.Settle(run, a)
	})
}

// compare holds the look-ups for the first n of each kind against the model.
func (m *model) compare(b *book, n int) {
	b.t.Helper()
	first := func(is func(runstore.Item) bool) []string {
		ids := []string{}
		for _, it := range m.items {
			if is(it) && len(ids) < n {
				ids = append(ids, it.ID)
			}
		}
		return ids
	}
	firstActions := func(is func(runstore.ActionStatus) bool) []string {
		ids := []string{}
		for i, s := range m.actions {
			if is(s) && len(ids) < n {
				ids = append(ids, fmt.Sprint("A", i+1))
			}
		}
		return ids
	}
	err := b.store.Look(context.Background(), b.id, func(tx *runstore.Tx, run *runstore.Run) error {
		open, err1 := tx.OpenItems(run, n)
		attention, err2 := tx.AttentionItems(run, n)
		decided, err3 := tx.DecidedItems(run, n)
		pending, err4 := tx.PendingActions(run, n)
		approved, err5 := tx.ApprovedActions(run, n)
		for _, c := range []struct {
			what      string
			got, want []string
		}{
			{"open", itemIDs(open), first(func(it runstore.Item) bool { return it.Status == runstore.Todo })},
			{"attention", itemIDs(attention), first(func(it runstore.Item) bool { return it.Status == runstore.NeedsAttention })},
			{"decided", itemIDs(decided), first(func(it runstore.Item) bool { return m.decided[it.ID] })},
			{"pending", actionIDs(pending), firstActions(func(s runstore.ActionStatus) bool { return s == runstore.Pending })},
			{"approved", actionIDs(approved), firstActions(func(s runstore.ActionStatus) bool { return s.Open() && s != runstore.Pending })},
		} {
			if !slices.Equal(c.got, c.want) {
				b.t.Errorf("first %d %s: %v, want %v", n, c.what, c.got, c.want)
			}
		}
		wrong, err := tx.Consistent(run)
		if len(wrong) > 0 || run.Plan.Decided != len(m.decided) || run.Plan.Total != len(m.items) {
			b.t.Errorf("%v; %d decided of %d, want %d of %d", wrong, run.Plan.Decided, run.Plan.Total, len(m.decided), len(m.items))
		}
		return errors.Join(err, err1, err2, err3, err4, err5)
	})
	if err != nil || b.t.Failed() {
		b.t.Fatal(err)
	}
}

func itemIDs(items []runstore.Item) []string {
	ids := []string{}
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	return ids
}

func actionIDs(actions []*runstore.Action) []string {
	ids := []string{}
	for _, a := range actions {
		ids = append(ids, a.ID)
	}
	return ids
}

// TestLowWaterMarks: the marks move with the work, so that a look-up does not
// start at the first record of a long run.
func TestLowWaterMarks(t *testing.T) {
	const n = 500
	b := newBook(t)
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		for i := 1; i <= n; i++ {
			if _, _, err := tx.AddItem(run, fmt.Sprint(i)); err != nil {
				return err
			}
			a := &runstore.Action{ID: run.NewActionID(), Run: run.ID, Status: runstore.Pending}
			if err := tx.PutAction(run, a); err != nil {
				return err
			}
		}
		return nil
	})
	for i := 1; i <= n-1; i++ {
		b.step(func(tx *runstore.Tx, run *runstore.Run) error {
			it, err := tx.Item(run, fmt.Sprint(i))
			if err != nil {
				return err
			}
			it.Status = runstore.ItemDone
			a := &runstore.Action{ID: fmt.Sprint("A", i), Run: run.ID, Status: runstore.Executed}
			return errors.Join(tx.SetItem(run, it), tx.PutAction(run, a))
		})
	}
	b.step(func(_ *runstore.Tx, run *runstore.Run) error {
		if run.Plan.FirstTodo != n || run.FirstPending != n || run.FirstApproved != n+1 {
			t.Errorf("marks: todo %d, pending %d, approved %d; want %d, %d, %d", run.Plan.FirstTodo, run.FirstPending, run.FirstApproved, n, n, n+1)
		}
		return nil
	})
	b.step(func(tx *runstore.Tx, run *runstore.Run) error { // and back
		return errors.Join(tx.SetItem(run, runstore.Item{Pos: 3, ID: "3", Status: runstore.Todo}),
			tx.PutAction(run, &runstore.Action{ID: "A7", Run: run.ID, Status: runstore.Unknown}))
	})
	b.step(func(_ *runstore.Tx, run *runstore.Run) error {
		if run.Plan.FirstTodo != 3 || run.FirstApproved != 7 {
			t.Errorf("marks: todo %d, approved %d; want 3 and 7", run.Plan.FirstTodo, run.FirstApproved)
		}
		return nil
	})
	b.consistent()
}

// TestSettleTellsLinkedRuns: a run that waits on another run's action hears of
// its end, and only if its plan says that it waits.
func TestSettleTellsLinkedRuns(t *testing.T) {
	b := newBook(t)
	other, idle := b.newRun(), b.newRun()
	ref := runstore.ActionRef{Run: b.id, Action: "A1"}
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		_, _, err := tx.AddItem(run, "7")
		a := &runstore.Action{ID: "A1", Run: run.ID, Status: runstore.Pending, Target: runstore.Target{Kind: "thing", ID: "7"}}
		return errors.Join(err, tx.PutAction(run, a), tx.SetItemAction(run, "7", ref))
	})
	for id, status := range map[string]runstore.ItemStatus{other: runstore.WaitingApproval, idle: runstore.Todo} {
		err := b.store.Step(context.Background(), id, func(tx *runstore.Tx, run *runstore.Run) error {
			it, _, err := tx.AddItem(run, "7")
			it.Status = status
			return errors.Join(err, tx.LinkItem(run, "7", ref), tx.SetItem(run, it))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		a, err := tx.Action(ref)
		if err != nil {
			return err
		}
		a.Status = runstore.Rejected
		return errors.Join(tx.PutAction(run, a), tx.Settle(run, a), tx.Settle(run, a)) // telling twice is telling once
	})
	for id, want := range map[string]int{b.id: 0, other: 1, idle: 0} {
		err := b.store.Look(context.Background(), id, func(_ *runstore.Tx, run *runstore.Run) error {
			if run.Plan.Decided != want {
				t.Errorf("run %s: %d decided, want %d", id, run.Plan.Decided, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.consistent(other, idle)
}

func TestActionIDs(t *testing.T) {
	b := newBook(t)
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		return tx.PutAction(run, &runstore.Action{ID: "A1", Run: run.ID, Status: runstore.Pending})
	})
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		for id, want := range map[string]error{"A1": nil, "A2": runstore.ErrNotFound, "A01": runstore.ErrNotFound, "a1": runstore.ErrNotFound,
			"A": runstore.ErrNotFound, "": runstore.ErrNotFound, "A-1": runstore.ErrNotFound, "A99999999999999999999": runstore.ErrNotFound} {
			if _, err := tx.Action(runstore.ActionRef{Run: run.ID, Action: id}); !errors.Is(err, want) {
				t.Errorf("Action(%q): %v, want %v", id, err, want)
			}
		}
		if _, err := tx.Action(runstore.ActionRef{Run: "nonsense", Action: "A1"}); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("action of a malformed run: %v, want not found", err)
		}
		if err := tx.PutAction(run, &runstore.Action{ID: "A2", Run: "another", Status: runstore.Pending}); err == nil {
			t.Error("an action of another run was saved")
		}
		return nil
	})
}

func TestNotes(t *testing.T) {
	b := newBook(t)
	sub := runstore.Subject{Kind: "thing", ID: "7", Text: "thing 7"}
	states := []runstore.NoteState{runstore.NoteValid, runstore.NoteCorrected, runstore.NoteDisputed, runstore.NoteDeleted}
	b.step(func(tx *runstore.Tx, _ *runstore.Run) error {
		for i, s := range states {
			n, err := tx.AddNote(runstore.Note{Subject: sub, Text: fmt.Sprint("note ", i+1), Expires: tx.Now().Add(time.Hour), State: "ignored"})
			if err != nil {
				return err
			}
			if n.ID != fmt.Sprint("N", i+1) || n.State != runstore.NoteValid || n.Created != tx.Now() {
				t.Errorf("new note: %+v, want N%d, valid, now", n, i+1)
			}
			n.State = s
			if err := tx.PutNote(n); err != nil {
				return err
			}
		}
		_, err := tx.AddNote(runstore.Note{Subject: runstore.Subject{Kind: "thing", ID: "8"}, Text: "another's", Expires: tx.Now().Add(time.Hour)})
		return err
	})
	about := func(limit int) []string {
		var ids []string
		b.step(func(tx *runstore.Tx, _ *runstore.Run) error {
			notes, err := tx.NotesAbout("thing", "7", limit)
			for _, n := range notes {
				ids = append(ids, n.ID)
			}
			return err
		})
		return ids
	}
	if got := about(5); !slices.Equal(got, []string{"N1", "N2"}) {
		t.Errorf("notes about thing 7: %v, want the valid and the corrected one", got)
	}
	if got := about(1); !slices.Equal(got, []string{"N2"}) {
		t.Errorf("the last note about thing 7: %v, want N2", got)
	}
	b.now = b.now.Add(time.Hour)
	if got := about(5); len(got) != 0 {
		t.Errorf("expired notes are shown: %v", got)
	}
	b.step(func(tx *runstore.Tx, _ *runstore.Run) error {
		for _, id := range []string{"N0", "N9", "n1", "N01", "", "A1"} {
			if _, err := tx.Note(id); !errors.Is(err, runstore.ErrNotFound) {
				t.Errorf("Note(%q): %v, want not found", id, err)
			}
		}
		if err := tx.PutNote(runstore.Note{ID: "x"}); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("PutNote with a bad id: %v, want not found", err)
		}
		return nil
	})
}

func TestFacts(t *testing.T) {
	b := newBook(t)
	args, result := json.RawMessage(`{"id":"7"}`), json.RawMessage(`{"v":1}`)
	look := func(fact, failure bool) {
		t.Helper()
		b.step(func(tx *runstore.Tx, run *runstore.Run) error {
			f, ok, err := tx.Fact(run, "read", "7")
			_, bad, err2 := tx.Failure(run, "read", "7")
			if ok != fact || bad != failure || ok && f.ReadAt.IsZero() {
				t.Errorf("fact %v (%+v), failure %v; want %v and %v", ok, f, bad, fact, failure)
			}
			return errors.Join(err, err2)
		})
	}
	look(false, false)
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		return tx.PutFailure(run, runstore.Failure{Tool: "read", Args: args, Text: "down"}, "7")
	})
	look(false, true)
	asked := b.now.Add(-time.Minute)
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		return tx.PutFact(run, runstore.Fact{Tool: "read", Args: args, Result: result, ReadAt: asked}, "7")
	})
	look(true, false)
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		f, _, err := tx.Fact(run, "read", "7")
		if !f.ReadAt.Equal(asked) {
			t.Errorf("read at %v, want %v: a fact is as old as its question", f.ReadAt, asked)
		}
		return errors.Join(err, tx.DropFact(run, "read", "7"), tx.DropFact(run, "read", "7"))
	})
	look(false, false)
}

func TestRunsAndTrace(t *testing.T) {
	b := newBook(t)
	second := b.newRun()
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		return errors.Join(tx.Trace(run, runstore.TraceStarted, map[string]int{"n": 1}), tx.Trace(run, runstore.TraceStopped, nil),
			tx.Audit(runstore.AuditEntry{What: "one"}, nil), tx.Audit(runstore.AuditEntry{What: "two"}, map[string]string{"a": "b"}))
	})
	b.step(func(tx *runstore.Tx, run *runstore.Run) error {
		latest, err := tx.LatestRun()
		if err != nil || latest.ID != second || latest.Seq != 2 || latest.Status != runstore.Running {
			t.Errorf("latest run: %+v, %v; want the second", latest, err)
		}
		var ids []string
		err = tx.Runs(func(r *runstore.Run) bool { ids = append(ids, r.ID); return true })
		if !slices.Equal(ids, []string{second, b.id}) {
			t.Errorf("runs: %v, want the newest first", ids)
		}
		var kinds []string
		err2 := tx.TraceEntries(run.ID, 1, func(e runstore.TraceEntry) bool { kinds = append(kinds, e.Kind); return true })
		if !slices.Equal(kinds, []string{runstore.TraceStopped}) {
			t.Errorf("trace after the first entry: %v", kinds)
		}
		var whats []string
		err3 := tx.AuditEntries(0, func(e runstore.AuditEntry) bool {
			whats = append(whats, fmt.Sprint(e.Seq, e.What))
			return len(whats) < 2
		})
		if !slices.Equal(whats, []string{"1one", "2two"}) {
			t.Errorf("audit: %v", whats)
		}
		if _, err := tx.Run("../x"); !errors.Is(err, runstore.ErrRunNotFound) {
			t.Errorf("malformed run id: %v, want ErrRunNotFound", err)
		}
		return errors.Join(err, err2, err3)
	})
	failed := errors.New("no")
	err := b.store.Step(context.Background(), b.id, func(tx *runstore.Tx, run *runstore.Run) error {
		run.Answer = "half"
		_, _, err := tx.AddItem(run, "9")
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("a failed step: %v, want its error", err)
	}
	b.step(func(_ *runstore.Tx, run *runstore.Run) error {
		if run.Answer != "" || run.Plan.Total != 0 {
			t.Errorf("a failed step left %q and %d items", run.Answer, run.Plan.Total)
		}
		return nil
	})
	b.consistent(second)
}
