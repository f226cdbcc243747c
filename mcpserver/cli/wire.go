package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"orderdesk/approvalgate"
	"orderdesk/mcpserver/driver"
	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/creditrelease"
	"orderdesk/tools/creditrelease/sampledata"
	"orderdesk/tools/upstream"
)

// The domain's own words for the help texts. They stand here, beside the
// wiring, because the rest of this package knows no domain.
const (
	helpAbout = `Orderdesk works through a list of blocked sales orders with an AI assistant. It
keeps the plan, saves every step and counts every budget; nothing is changed
until a person with the right role has approved exactly that change.`

	helpRun = `Work through the blocked sales orders of a sales organization.

Every step is saved. A run that stops, for whatever reason, goes on with
"orderdesk resume"; one that waits for approvals does so after "orderdesk
approve". Limits that are not given follow the number of blocked orders.`

	helpOrg  = "work on sales organization `ID`"
	helpData = "take sales orders and customers from `PATH`: sample, a JSON file, or a folder with orders.csv and customers.csv"

	exampleRole  = "CREDIT_MANAGER"
	exampleRoles = exampleRole + " HEAD_OF_FINANCE"
)

// checkOrg says what the id of an organization looks like if s does not.
func checkOrg(s string) error {
	if !regexp.MustCompile(`^[0-9A-Z]{1,4}$`).MatchString(s) {
		return errors.New("expects 1 to 4 digits or capital letters, as in 1010")
	}
	return nil
}

// field is the domain over one source, before there is a store.
type field struct {
	domain *tools.Domain
	scopes []string // that the source has items in
}

// openField opens a source and makes the domain over it. This is the one place
// that knows the domain.
func openField(s *Settings, src runstore.Source) (*field, error) {
	backend, scopes, err := openBackend(src)
	if err != nil {
		return nil, err
	}
	service := upstream.NewClient(upstream.Options{Service: "credit service"})
	domain, err := creditrelease.Domain(creditrelease.Options{Backend: backend, Service: service, NoteAge: s.NoteAge})
	if err != nil {
		return nil, err
	}
	return &field{domain, scopes}, nil
}

// wire makes the parts that work on runs of one source, top to bottom.
func wire(store *runstore.Store, s *Settings, src runstore.Source) (*desk, error) {
	f, err := openField(s, src)
	if err != nil {
		return nil, err
	}
	return f.wire(store, s)
}

func (f *field) wire(store *runstore.Store, s *Settings) (*desk, error) {
	register, err := sampledata.OpenRegister(registerDir(s))
	if err != nil {
		return nil, err
	}
	d := &desk{scopes: f.scopes, store: store, people: approvalgate.NewPeople(store), close: register.Close}
	d.gate = approvalgate.New(approvalgate.Options{Store: store, People: d.people, Receiver: receiver{register},
		Recheck: f.domain.Recheck, AllowSelf: s.SelfApproval, Lifetime: s.RequestLife})
	d.set = tools.NewSet(tools.Options{Store: store, Gate: d.gate, Domain: f.domain, MaxAge: s.FactAge,
		Ceiling: tools.Ceiling{Items: s.BudgetCeiling}})
	d.model = driver.Rules(f.domain)
	return d, nil
}

// itemWords are the words of the runs' domain; there is one.
func itemWords() tools.ItemWords { return creditrelease.Words() }

// scopeWarning says that a list is empty because its orders are elsewhere; ""
// if there is nothing to say.
func scopeWarning(scopes []string, org string) string {
	if len(scopes) == 0 || slices.Contains(scopes, org) {
		return ""
	}
	shown := strings.Join(scopes[:min(len(scopes), 5)], ", ")
	return fmt.Sprintf("warning: the data has no blocked orders in sales organization %s, but in %s; --org %s works on them", org, shown, scopes[0])
}

func openBackend(src runstore.Source) (_ creditrelease.Backend, scopes []string, err error) {
	word := src.Simulate
	if word == "none" {
		word = "steady"
	}
	mode, err := sampledata.ParseMode(word)
	if err != nil {
		return nil, nil, configError(err.Error(), "--simulate none|flaky|outage")
	}
	world, err := sampledata.Load(src.Data)
	if err != nil {
		e := configError("the data cannot be used; nothing was started", "mend the named lines, or choose other data with --data")
		for line := range strings.Lines(err.Error()) {
			e.Details = append(e.Details, strings.TrimSuffix(line, "\n"))
		}
		return nil, nil, e
	}
	return sampledata.NewBackend(world, mode), world.Organizations(), nil
}

// receiver is the sample register as the gate calls it.
type receiver struct{ register *sampledata.Register }

func (r receiver) Lookup(ctx context.Context, key string) (approvalgate.Receipt, bool, error) {
	got, ok, err := r.register.Lookup(ctx, key)
	return approvalgate.Receipt{Reference: got.Reference}, ok, err
}

func (r receiver) Create(ctx context.Context, p *approvalgate.Permit) (approvalgate.Receipt, error) {
	req, err := creditrelease.RequestOf(p)
	if err != nil {
		return approvalgate.Receipt{}, &approvalgate.RefuseError{Text: err.Error()}
	}
	got, err := r.register.Create(ctx, p.Key(), sampledata.Request(req))
	return approvalgate.Receipt{Reference: got.Reference}, err
}

// registerDir is where the register of created requests is kept: beside the
// store, because it plays a system outside it.
func registerDir(s *Settings) string { return filepath.Join(s.DataDir, "register") }
