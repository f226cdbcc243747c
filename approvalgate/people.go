package approvalgate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"orderdesk/runstore"
)

// Person is an authenticated approver. Only [People.Authenticate] makes one.
type Person struct {
	Name  string
	Roles []string
	Auth  string // how the person was authenticated: "passphrase", "test"
	Login string // operating-system login, "" if not known
}

// AuthPassphrase is the Auth of a person who gave a passphrase.
const AuthPassphrase = "passphrase"

// PersonInfo is what a list of approvers shows.
type PersonInfo struct {
	Name  string    `json:"name"`
	Roles []string  `json:"roles"`
	Login string    `json:"login,omitempty"`
	Added time.Time `json:"added"`
}

// personRecord is one approver, under person/<hex SHA-256 of the folded name>.
type personRecord struct {
	PersonInfo
	Secret secret `json:"secret"`
}

// People are the approvers kept in a store.
type People struct {
	store *runstore.Store
	cost  Cost
}

// NewPeople gives access to the approvers kept in store.
func NewPeople(store *runstore.Store) *People { return &People{store: store, cost: DefaultCost()} }

// WithCost returns the same people; passphrases given from now on cost c.
func (p *People) WithCost(c Cost) *People { return &People{store: p.store, cost: c} }

func nameHash(name string) string {
	sum := sha256.Sum256([]byte(fold(name)))
	return hex.EncodeToString(sum[:])
}

func personKey(name string) runstore.Key { return runstore.NewKey("person", nameHash(name)) }

// Add makes an approver. login is the person's operating-system login or "";
// by is the principal who adds. A bad value or a name that is taken is an
// [*InputError].
func (p *People) Add(ctx context.Context, name string, roles []string, login, passphrase, by string) error {
	name, login = strings.TrimSpace(name), strings.TrimSpace(login)
	if name == "" || lineProblem(name, 80) != "" {
		return &InputError{"name", cmp.Or(lineProblem(name, 80), "is empty"), "1 to 80 visible characters on one line"}
	}
	if s := lineProblem(login, 80); s != "" || strings.ContainsAny(login, " ") {
		return &InputError{"login", cmp.Or(s, "has a blank"), "the person's operating-system login, as in anna"}
	}
	if s := passphraseProblem(passphrase); s != "" {
		return &InputError{"passphrase", s, "8 to 1024 characters; it is not shown or kept"}
	}
	roles, err := checkRoles(roles)
	if err != nil {
		return err
	}
	rec := personRecord{PersonInfo{Name: name, Roles: roles, Login: login}, newSecret(passphrase, p.cost)}
	return p.store.Update(ctx, func(tx *runstore.Tx) error {
		var old personRecord
		err := tx.Get(personKey(name), &old)
		if err == nil {
			return &InputError{"name", "is taken by " + old.Name, "orderdesk approver list"}
		}
		if !errors.Is(err, runstore.ErrNotFound) {
			return err
		}
		rec.Added = tx.Now()
		if err := tx.Put(personKey(name), rec); err != nil {
			return err
		}
		return tx.Audit(runstore.AuditEntry{What: "approver_added", By: by}, rec.PersonInfo)
	})
}

// SetRoles replaces an approver's roles. [*NotFoundError], [*InputError].
func (p *People) SetRoles(ctx context.Context, name string, roles []string, by string) error {
	roles, err := checkRoles(roles)
	if err != nil {
		return err
	}
	return p.store.Update(ctx, func(tx *runstore.Tx) error {
		rec, err := readPerson(tx, name)
		if err != nil {
			return err
		}
		change := map[string]any{"name": rec.Name, "before": rec.Roles, "roles": roles}
		rec.Roles = roles
		if err := tx.Put(personKey(name), rec); err != nil {
			return err
		}
		return tx.Audit(runstore.AuditEntry{What: "approver_roles", By: by}, change)
	})
}

// Remove deletes an approver. What they approved and is not carried out yet
// will be refused. [*NotFoundError].
func (p *People) Remove(ctx context.Context, name, by string) error {
	return p.store.Update(ctx, func(tx *runstore.Tx) error {
		rec, err := readPerson(tx, name)
		if err != nil {
			return err
		}
		if err := tx.Delete(personKey(name)); err != nil {
			return err
		}
		return tx.Audit(runstore.AuditEntry{What: "approver_removed", By: by}, rec.PersonInfo)
	})
}

// List returns every approver by name.
func (p *People) List(ctx context.Context) ([]PersonInfo, error) {
	var all []PersonInfo
	err := p.store.View(ctx, func(tx *runstore.Tx) (err error) {
		all, err = everyone(tx)
		return err
	})
	return all, err
}

func everyone(tx *runstore.Tx) ([]PersonInfo, error) {
	var all []PersonInfo
	err := tx.Scan(runstore.NewKey("person"), "", func(_ string, get func(any) error) (bool, error) {
		var rec personRecord
		err := get(&rec)
		all = append(all, rec.PersonInfo)
		return true, err
	})
	slices.SortFunc(all, func(a, b PersonInfo) int { return strings.Compare(fold(a.Name), fold(b.Name)) })
	return all, err
}

// readPerson is a [*NotFoundError] for a name that nobody has.
func readPerson(tx *runstore.Tx, name string) (personRecord, error) {
	var rec personRecord
	err := tx.Get(personKey(name), &rec)
	if errors.Is(err, runstore.ErrNotFound) {
		return rec, &NotFoundError{What: "approver", ID: name}
	}
	return rec, err
}

// checkRoles returns roles sorted, each once.
func checkRoles(roles []string) ([]string, error) {
	if len(roles) == 0 || len(roles) > 20 {
		return nil, &InputError{"role", "is missing or given more than 20 times", "a role, as in HEAD_OF_FINANCE"}
	}
	for _, r := range roles {
		if !roleForm.MatchString(r) {
			return nil, &InputError{"role", shown(r) + " is not a role name", "2 to 40 of A-Z 0-9 _, as in HEAD_OF_FINANCE"}
		}
	}
	roles = slices.Clone(roles)
	slices.Sort(roles)
	return slices.Compact(roles), nil
}
