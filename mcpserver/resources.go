package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"orderdesk/mcpserver/runview"
	"orderdesk/runstore"
	"orderdesk/tools"
)

const (
	notesURI  = "memory://notes"
	runScheme = "run://"
	shownMost = 200 // plan lines, requests, events or notes of one resource
	jsonType  = "application/json"
)

// runParts are the resources of one run: what follows its id in the URI.
var runParts = []struct {
	path, name, title, description, mime string
	read                                 func(*Hosts, *runstore.Tx, *runstore.Run) (string, error)
}{
	{"", "run", "Run", "Plan, requests, budget and counts of one of your runs.", jsonType, (*Hosts).runResource},
	{"/briefing", "run-briefing", "Briefing", "What is needed to go on with one of your runs.", "text/plain", (*Hosts).briefingResource},
	{"/trace", "run-trace", "Trace", "The last events of one of your runs.", jsonType, (*Hosts).traceResource},
}

// addResources offers the caller's runs and notes as resources. Whose they are
// is checked at every read.
func (h *Hosts) addResources(s *server.MCPServer, hooks *server.Hooks) {
	s.AddResource(mcp.NewResource(notesURI, "notes", mcp.WithResourceDescription("The notes that your runs have left for later ones."), mcp.WithMIMEType(jsonType)),
		func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			who, _ := principalOf(ctx)
			return h.read(ctx, r.Params.URI, jsonType, func(tx *runstore.Tx) (string, error) { return notesOf(tx, who) })
		})
	for _, part := range runParts {
		s.AddResourceTemplate(mcp.NewResourceTemplate(runScheme+"{id}"+part.path, part.name,
			mcp.WithTemplateDescription(part.description), mcp.WithTemplateMIMEType(part.mime)),
			func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				who, _ := principalOf(ctx)
				return h.read(ctx, r.Params.URI, part.mime, func(tx *runstore.Tx) (string, error) {
					run, err := own(tx, who, runOfURI(r.Params.URI))
					if err != nil {
						return "", err
					}
					return part.read(h, tx, run)
				})
			})
	}
	hooks.AddBeforeReadResource(h.hideResource)
	hooks.AddAfterListResources(h.listRuns)
}

// runOfURI is the run that a resource is about; "" if it is about none.
func runOfURI(uri string) string {
	id, ok := strings.CutPrefix(uri, runScheme)
	if !ok {
		return ""
	}
	for _, part := range runParts {
		if rest, ok := strings.CutSuffix(id, part.path); ok && runstore.ValidRunID(rest) {
			return rest
		}
	}
	return ""
}

// hideResource sends reads of runs that are not the caller's to where nothing
// is: only so does the library answer them like URIs that were never there.
func (h *Hosts) hideResource(ctx context.Context, _ any, r *mcp.ReadResourceRequest) {
	if strings.HasPrefix(r.Params.URI, runScheme) && !h.owns(ctx, r.Params.URI) {
		r.Params.URI = "none:" + tools.Limit(r.Params.URI, 80)
	}
}

// owns reports whether a resource of a run is the caller's.
func (h *Hosts) owns(ctx context.Context, uri string) bool {
	who, ok := principalOf(ctx)
	if !ok || h.await(ctx) != nil {
		return false
	}
	err := h.store.View(ctx, func(tx *runstore.Tx) error {
		_, err := own(tx, who, runOfURI(uri))
		return err
	})
	return err == nil
}

// listRuns adds the caller's latest runs to the list of resources.
func (h *Hosts) listRuns(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, res *mcp.ListResourcesResult) {
	who, ok := principalOf(ctx)
	if !ok || h.await(ctx) != nil {
		return
	}
	runs, _, err := h.mine(ctx, who, 1)
	if err != nil {
		h.o.Logger.Error("runs not listed", "error", masked(err.Error()))
		return
	}
	for _, r := range runs {
		res.Resources = append(res.Resources, mcp.NewResource(runScheme+r.ID, "run-"+r.ID, mcp.WithMIMEType(jsonType),
			mcp.WithResourceDescription(fmt.Sprintf("Run of %s: %s, %d listed, %d open.", r.Created.UTC().Format(time.DateTime), r.Status, r.Plan.Total, r.Plan.Count(runstore.Todo)))))
	}
}

// read makes a resource's text in one view of the store.
func (h *Hosts) read(ctx context.Context, uri, mime string, text func(*runstore.Tx) (string, error)) ([]mcp.ResourceContents, error) {
	if err := h.await(ctx); err != nil {
		return nil, err
	}
	var out string
	err := h.store.View(ctx, func(tx *runstore.Tx) (err error) {
		out, err = text(tx)
		return err
	})
	if err != nil {
		return nil, errors.New(h.excuse("resources/read", "", err))
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: out}}, nil
}

// runResource is the run as "orderdesk status --json" prints it, but bounded.
func (h *Hosts) runResource(tx *runstore.Tx, run *runstore.Run) (string, error) {
	v, err := runview.Read(tx, run, h.store.Alive, h.o.Domain.Words.Field, shownMost)
	if err != nil {
		return "", err
	}
	for i, line := range v.Actions {
		if line.Action.Run != run.ID {
			if v.Actions[i].Action.Run, err = tools.RunName(tx, run, line.Action.Run); err != nil {
				return "", err
			}
		}
	}
	return indented(struct {
		*runview.View
		Plan         []runview.PlanLine   `json:"plan"`
		Actions      []runview.ActionLine `json:"actions"`
		PlanShown    string               `json:"plan_shown"`
		ActionsShown string               `json:"actions_shown"`
	}{v, append([]runview.PlanLine{}, v.Plan...), append([]runview.ActionLine{}, v.Actions...), shown(0, len(v.Plan), run.Plan.Total), shown(0, len(v.Actions), max(run.ActionSeq, len(v.Actions)))})
}

func (h *Hosts) briefingResource(tx *runstore.Tx, run *runstore.Run) (string, error) {
	parts, err := h.partsOf(run.Source)
	if err != nil {
		return "", err
	}
	return parts.Set.Briefing(tx, run)
}

func (h *Hosts) traceResource(tx *runstore.Tx, run *runstore.Run) (string, error) {
	first := max(0, run.TraceSeq-shownMost)
	events := []runstore.TraceEntry{}
	err := tx.TraceEntries(run.ID, first, func(e runstore.TraceEntry) bool {
		events = append(events, e)
		return true
	})
	if err != nil {
		return "", err
	}
	text, err := indented(map[string]any{"run_id": run.ID, "events": events, "shown": shown(first, len(events), run.TraceSeq)})
	if err != nil {
		return "", err
	}
	return withoutOthers(tx, run, text)
}

var anyRunID = regexp.MustCompile(`[0-9]{8}-[0-9]{6}-[0-9a-f]{8}`)

// withoutOthers hides the ids of other users' runs: an event names the run whose
// request it is about.
func withoutOthers(tx *runstore.Tx, run *runstore.Run, text string) (string, error) {
	var failed error
	hidden := anyRunID.ReplaceAllStringFunc(text, func(id string) string {
		if id == run.ID {
			return id
		}
		name, err := tools.RunName(tx, run, id)
		failed = errors.Join(failed, err)
		return name
	})
	return hidden, failed
}

// notesOf are the caller's own current notes, the newest first. What others
// have noted is shown where it concerns the caller's list: in its briefing.
func notesOf(tx *runstore.Tx, who tools.Principal) (string, error) {
	type line struct {
		ID      string             `json:"id"`
		Subject string             `json:"subject"`
		Text    string             `json:"text"`
		Run     string             `json:"run_id"`
		Created time.Time          `json:"created"`
		Expires time.Time          `json:"expires"`
		State   runstore.NoteState `json:"state"`
	}
	all := []line{}
	err := tx.Notes(func(n runstore.Note) bool {
		if n.Author == who.Name && n.Current(tx.Now()) {
			all = append([]line{{n.ID, n.Subject.Text, n.Text, n.Run, n.Created, n.Expires, n.State}}, all...)
		}
		return true
	})
	if err != nil {
		return "", err
	}
	few := all[:min(len(all), shownMost)]
	return indented(map[string]any{"notes": few, "shown": shown(0, len(few), len(all))})
}

// shown says which part of a list is shown: "1 to 20 of 40".
func shown(before, n, total int) string {
	return fmt.Sprintf("%d to %d of %d", min(before+1, total), min(before+n, total), total)
}

func indented(v any) (string, error) {
	raw, err := json.MarshalIndent(v, "", "  ")
	return string(raw), err
}
