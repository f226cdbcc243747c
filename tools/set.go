package tools

import (
	"context"
	"strings"
	"time"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
)

// DefaultMaxAge is how long a fact is fresh.
const DefaultMaxAge = 4 * time.Hour

// Ceiling bounds the budgets that follow a list's size.
type Ceiling struct {
	Items int // the list length budgets follow at most; 0: no bound
}

// Options configures a [Set]. Zero values are useful but for Store, Gate and
// Domain.
type Options struct {
	Store   *runstore.Store
	Gate    *approvalgate.Gate
	Domain  *Domain
	MaxAge  time.Duration // 0: DefaultMaxAge
	NoteAge time.Duration // 0: DefaultNoteAge
	Ceiling Ceiling
	Clock   func() time.Time // measures active time only; nil: time.Now
}

// Set is a domain's tools on a store.
type Set struct {
	store   *runstore.Store
	gate    *approvalgate.Gate
	domain  *Domain
	byName  map[string]*Tool
	maxAge  time.Duration
	noteAge time.Duration
	ceiling Ceiling
	clock   func() time.Time
}

// NewSet makes a set of the domain's tools.
func NewSet(o Options) *Set {
	s := &Set{store: o.Store, gate: o.Gate, domain: o.Domain, byName: map[string]*Tool{},
		maxAge: o.MaxAge, noteAge: o.NoteAge, ceiling: o.Ceiling, clock: o.Clock}
	if s.maxAge == 0 {
		s.maxAge = DefaultMaxAge
	}
	if s.noteAge == 0 {
		s.noteAge = DefaultNoteAge
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	for _, t := range o.Domain.Tools {
		s.byName[t.Name] = t
	}
	return s
}

// Domain is the set's domain.
func (s *Set) Domain() *Domain { return s.domain }

// Names lists the tools' names in the sequence in which hosts see them.
func (s *Set) Names() []string {
	names := make([]string, len(s.domain.Tools))
	for i, t := range s.domain.Tools {
		names[i] = t.Name
	}
	return names
}

func (s *Set) unknownTool(name string) error {
	return Refusef("There is no tool %s. Use one of: %s.", Quote(Limit(name, 60)), strings.Join(s.Names(), ", "))
}

// Start begins a run for owner and returns its header. An error of
// [runstore.Budget.Check] says that nothing was started.
func (s *Set) Start(ctx context.Context, owner Principal, scope string, src runstore.Source, b runstore.Budget) (*runstore.Run, error) {
	var run *runstore.Run
	err := s.store.Update(ctx, func(tx *runstore.Tx) (err error) {
		run, err = s.Begin(tx, owner, scope, src, b)
		return err
	})
	return run, err
}

// Begin is [Set.Start] within a transaction. The caller saves a header that it
// changes further.
func (s *Set) Begin(tx *runstore.Tx, owner Principal, scope string, src runstore.Source, b runstore.Budget) (*runstore.Run, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	b.Fit(0)
	run, err := tx.NewRun(runstore.Run{Owner: owner.Name, Domain: s.domain.Name, Scope: scope, Source: src, Budget: b})
	if err != nil {
		return nil, err
	}
	if err := tx.Audit(runstore.AuditEntry{What: "run_started", By: owner.Name, Run: run.ID}, src); err != nil {
		return nil, err
	}
	if err := tx.Trace(run, runstore.TraceStarted, map[string]any{"owner": owner.Name, "scope": scope, "source": src, "budget": b}); err != nil {
		return nil, err
	}
	return run, tx.PutRun(run)
}
