package approvalgate

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"orderdesk/runstore"
)

func TestAddPersonRules(t *testing.T) {
	d := newDesk(t)
	people := NewPeople(d.store).WithCost(cheap())
	role := []string{manager}
	for _, c := range []struct {
		what, name, login, pass string
		roles                   []string
		field                   string // "" : accepted
	}{
		{"plain", "Ida Moe", "ida", pw, role, ""},
		{"80 characters", strings.Repeat("\u00f8", 80), "", pw, role, ""},
		{"81 characters", strings.Repeat("\u00f8", 81), "", pw, role, "name"},
		{"empty", "  ", "", pw, role, "name"},
		{"control", "Ida\tMoe2", "", pw, role, "name"},
		{"line break", "Ida\nMoe2", "", pw, role, "name"},
		{"bidi", "Ida \u202eoM", "", pw, role, "name"},
		{"zero width", "Ida\u200b Moe", "", pw, role, "name"},
		{"blank letter", "Ida\u3164", "", pw, role, "name"},
		{"bad UTF-8", "Ida\xff", "", pw, role, "name"},
		{"taken", "Maria Weber", "", pw, role, "name"},
		{"taken, other case and blanks", "  MARIA   weber ", "", pw, role, "name"},
		{"login with blank", "Ida Moe3", "i da", pw, role, "login"},
		{"short passphrase", "Ida Moe4", "", "1234567", role, "passphrase"},
		{"8 characters of 2 bytes", "Ida Moe5", "", "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", role, ""},
		{"huge passphrase", "Ida Moe6", "", strings.Repeat("x", 1025), role, "passphrase"},
		{"no role", "Ida Moe7", "", pw, nil, "role"},
		{"role form", "Ida Moe8", "", pw, []string{"credit_manager"}, "role"},
		{"role too long", "Ida Moe9", "", pw, []string{strings.Repeat("A", 41)}, "role"},
	} {
		t.Run(c.what, func(t *testing.T) {
			err := people.Add(d.ctx, c.name, c.roles, c.login, c.pass, "os:root")
			var no *InputError
			switch {
			case c.field == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case c.field != "" && (!errors.As(err, &no) || no.Field != c.field || no.Hint() == ""):
				t.Fatalf("got %v, want an InputError of %s", err, c.field)
			case err != nil && strings.Contains(err.Error()+no.Hint(), c.pass):
				t.Error("the error shows the passphrase")
			}
		})
	}
}

func TestPeopleListAndChange(t *testing.T) {
	d := newDesk(t)
	people := NewPeople(d.store).WithCost(cheap())
	d.must(people.SetRoles(d.ctx, "maria weber", []string{head, manager, head}, "os:root"))
	d.must(people.Remove(d.ctx, " JON BERG", "os:root"))
	all, err := people.List(d.ctx)
	d.must(err)
	got := ""
	for _, p := range all {
		got += fmt.Sprintf("%s %v %s; ", p.Name, p.Roles, p.Login)
	}
	want := "Anna Lind [CREDIT_MANAGER HEAD_OF_FINANCE] anna; Maria Weber [CREDIT_MANAGER HEAD_OF_FINANCE] mweber; "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var no *NotFoundError
	if err := people.Remove(d.ctx, "Jon Berg", "os:root"); !errors.As(err, &no) {
		t.Errorf("removing twice: %v", err)
	}
	want = "[approver_added os:root approver_added os:root approver_added os:root approver_roles os:root approver_removed os:root]"
	if got := fmt.Sprint(d.audit("")); got != want {
		t.Errorf("audit: got %s\nwant %s", got, want)
	}
}

// Nothing that is stored holds a passphrase, and no two secrets are alike.
func TestPassphraseIsNowhere(t *testing.T) {
	d := newDesk(t)
	keys := map[string]bool{}
	d.must(d.store.View(d.ctx, func(tx *runstore.Tx) error {
		for _, kind := range []string{"person", "audit"} {
			err := tx.Scan(runstore.NewKey(kind), "", func(rest string, get func(any) error) (bool, error) {
				var rec map[string]any
				err := get(&rec)
				if text := fmt.Sprint(rec); strings.Contains(text, pw) {
					t.Errorf("%s/%s holds the passphrase", kind, rest)
				}
				if kind == "person" {
					keys[fmt.Sprint(rec["secret"])] = true
				}
				return true, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	if len(keys) != 3 {
		t.Errorf("%d different secrets of 3", len(keys))
	}
}

func TestAuthenticate(t *testing.T) {
	d := newDesk(t)
	who := d.login("  maria WEBER")
	if who.Name != "Maria Weber" || who.Auth != AuthPassphrase || who.Login != "mweber" || fmt.Sprint(who.Roles) != "[CREDIT_MANAGER]" {
		t.Errorf("got %+v", who)
	}
}

// The delays after wrong attempts are 1, 2, 4, ... 60 s, the same for a name
// that nobody has.
func TestDelayGrows(t *testing.T) {
	for _, name := range []string{"Maria Weber", "Nobody"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			people := NewPeople(d.store).WithCost(cheap())
			for i, secs := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
				wait := time.Duration(secs) * time.Second
				no := wrong(t, d, people, name, "wrong passphrase")
				if no.RetryIn != wait || no.Waiting {
					t.Fatalf("attempt %d: got %+v, want %v", i+1, no, wait)
				}
				d.clock.Add(wait - time.Millisecond)
				if no = wrong(t, d, people, name, pw); !no.Waiting || no.RetryIn != time.Millisecond {
					t.Fatalf("within the delay after attempt %d: got %+v", i+1, no)
				}
				d.clock.Add(time.Millisecond)
			}
			if name == "Nobody" {
				return
			}
			d.login(name) // resets
			if no := wrong(t, d, people, name, "wrong passphrase"); no.RetryIn != time.Second {
				t.Errorf("after a success: %v", no.RetryIn)
			}
		})
	}
}

func wrong(t *testing.T, d *desk, p *People, name, pass string) *WrongPassphraseError {
	t.Helper()
	_, err := p.Authenticate(d.ctx, name, pass)
	var no *WrongPassphraseError
	if !errors.As(err, &no) {
		t.Fatalf("got %v, want a WrongPassphraseError", err)
	}
	if no.Name != name || strings.Contains(err.Error()+no.Hint(), pass) {
		t.Errorf("error text: %v", err)
	}
	return no
}

func TestSTA18_DelayOutlivesProcessAndClock(t *testing.T) {
	d := &desk{t: t, ctx: t.Context(), clock: newClock(), recv: newReceiver()}
	dir := t.TempDir()
	d.open(runstore.Options{Dir: dir, NoSync: true})
	d.people()
	for range 3 {
		wrong(t, d, NewPeople(d.store).WithCost(cheap()), "Jon Berg", "wrong passphrase")
		d.clock.Add(4 * time.Second)
	}
	d.clock.Add(-4 * time.Second)
	d.must(d.store.Close())
	d.clock.Add(-2 * time.Hour)
	d.open(runstore.Options{Dir: dir, NoSync: true})
	no := wrong(t, d, NewPeople(d.store).WithCost(cheap()), "Jon Berg", pw)
	if !no.Waiting || no.RetryIn != 4*time.Second {
		t.Errorf("after a restart with the clock set back: %+v", no)
	}
}

// A right guess among many at once counts only if it comes before the wrong ones.
func TestGuessesSideBySide(t *testing.T) {
	d := newDesk(t)
	people := NewPeople(d.store).WithCost(cheap())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := people.Authenticate(d.ctx, "Jon Berg", fmt.Sprintf("guess number %d", i))
			var no *WrongPassphraseError
			if !errors.As(err, &no) {
				t.Errorf("guess %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	d.must(d.store.View(d.ctx, func(tx *runstore.Tx) error {
		var a attempts
		err := tx.Get(attemptKey("Jon Berg"), &a)
		if a.Wrong != 1 {
			t.Errorf("%d guesses were looked at within one delay, want 1", a.Wrong)
		}
		return err
	}))
}

// Wrong names cannot fill the store: the counters share 65,536 records.
func TestAttemptKeysAreBounded(t *testing.T) {
	if got := len(attemptKey("Nobody").String()); got != len("attempt/abcd") {
		t.Errorf("attempt key %s", attemptKey("Nobody"))
	}
}

func TestDamagedSecret(t *testing.T) {
	d := newDesk(t)
	d.must(d.store.Update(d.ctx, func(tx *runstore.Tx) error {
		var rec personRecord
		if err := tx.Get(personKey("Jon Berg"), &rec); err != nil {
			return err
		}
		rec.Secret.Cost.MemoryKiB = 1 << 31
		return tx.Put(personKey("Jon Berg"), rec)
	}))
	if _, err := NewPeople(d.store).WithCost(cheap()).Authenticate(d.ctx, "Jon Berg", pw); !errors.Is(err, errDamagedSecret) {
		t.Errorf("got %v", err)
	}
}
