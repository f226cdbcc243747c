package tools

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orderdesk/runstore"
)

// read makes a reading call: look at the record, fetch outside, record.
func (c *call) read(ctx context.Context) (Result, error) {
	var (
		ids      []string
		res      Result
		finished bool
		f        = fetching{call: c}
	)
	err := c.store.Step(ctx, c.Run, func(tx *runstore.Tx, run *runstore.Run) (err error) {
		res, finished = Result{}, true
		stop, err := c.open(tx, run)
		if err != nil {
			return err
		}
		if stop != nil {
			res = Stopped(stop)
			return c.after(tx, run, res)
		}
		if ids, err = c.tool.Read.Ask(run.Scope, c.args); err != nil {
			if res, err = answer(nil, err); err != nil {
				return err
			}
			return c.close(tx, run, &res, false, 0)
		}
		if res, finished, err = c.recorded(tx, run, ids); err != nil || !finished {
			f.ids, f.left, f.asked = ids, run.TimeLeft(), tx.Now()
			return err
		}
		return c.close(tx, run, &res, false, 0)
	})
	if err != nil || finished {
		return res, err
	}
	return f.fetch(ctx)
}

// recorded answers from the fact the run already has, if it is fresh.
func (c *call) recorded(tx *runstore.Tx, run *runstore.Run, ids []string) (Result, bool, error) {
	f, ok, err := tx.Fact(run, c.Name, ids...)
	if err != nil || !ok || tx.Now().Sub(f.ReadAt) > c.maxAge {
		return Result{}, false, err
	}
	raw, err := WithMember(f.Result, "already_read", "at "+f.ReadAt.Format(time.RFC3339)+" in this run; same result")
	if err != nil {
		return Result{}, false, err
	}
	raw, err = c.addNotes(tx, run, raw)
	return Result{JSON: raw, Recorded: true, Hidden: f.Raw != nil}, true, err
}

// fetching is a reading call on its way to the outside world.
type fetching struct {
	*call
	ids   []string
	left  time.Duration // active time the run has left
	asked time.Time     // a fact is as old as its question
	added []string      // items that the list holds and the plan did not
}

// fetch asks the outside world, for at most the active time the run has left.
func (c *fetching) fetch(ctx context.Context) (Result, error) {
	began := c.clock()
	fctx, cancel := context.WithTimeout(ctx, c.left)
	found, ferr := c.tool.Read.Fetch(fctx, c.ids)
	cancel()
	spent := c.clock().Sub(began)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if ferr == nil && c.Name == c.domain.ListTool {
		if err := c.stage(ctx, found.Items); err != nil {
			return Result{}, err
		}
	}
	var res Result
	err := c.store.Step(ctx, c.Run, func(tx *runstore.Tx, run *runstore.Run) (err error) {
		if err := c.renew(tx, run); err != nil {
			return err
		}
		run.Spend(spent)
		if res, err = c.record(tx, run, found, ferr); err != nil {
			return err
		}
		run.Used.Retries += len(res.Retries)
		res.Booked = spent
		return c.close(tx, run, &res, !res.Refused, spent)
	})
	return res, err
}

// record saves a fetch's answer as a fact, or its failure.
func (c *fetching) record(tx *runstore.Tx, run *runstore.Run, found Found, ferr error) (Result, error) {
	if ferr != nil {
		return c.recordFailure(tx, run, ferr)
	}
	out, err := c.enrich(tx, run, found.Result)
	if err != nil {
		res, err := c.recordFailure(tx, run, err)
		res.Retries = found.Retries
		return res, err
	}
	raw, err := marshal(out)
	if err != nil {
		return Result{}, err
	}
	if c.Name == c.domain.ListTool {
		if raw, err = c.recordList(tx, run, raw, found.Items); err != nil {
			return Result{}, err
		}
	}
	f := runstore.Fact{Tool: c.Name, Args: c.raw, Result: raw, ReadAt: c.asked}
	if found.Raw != nil {
		if f.Raw, err = marshal(found.Raw); err != nil {
			return Result{}, err
		}
	}
	if err := tx.PutFact(run, f, c.ids...); err != nil {
		return Result{}, err
	}
	raw, err = c.addNotes(tx, run, raw)
	return Result{JSON: raw, Retries: found.Retries, Hidden: f.Raw != nil}, err
}

func (c *fetching) enrich(tx *runstore.Tx, run *runstore.Run, result any) (any, error) {
	if c.tool.Read.Enrich == nil {
		return result, nil
	}
	w := c.writing(tx, run)
	w.Asked = c.asked
	return c.tool.Read.Enrich(w, result)
}

func (c *fetching) recordFailure(tx *runstore.Tx, run *runstore.Run, ferr error) (Result, error) {
	var fe *FetchError
	if !errors.As(ferr, &fe) {
		return Result{}, ferr
	}
	res := Result{JSON: encode(map[string]string{"error": fe.Text}), Refused: true, Retries: fe.Retries}
	if fe.Business {
		return res, nil
	}
	return res, tx.PutFailure(run, runstore.Failure{Tool: c.Name, Args: c.raw, Text: fe.Text}, c.ids...)
}

// shownNote is an earlier note beside a result: data, never an instruction.
type shownNote struct {
	About string `json:"about"`
	Date  string `json:"date"`
	By    string `json:"by"`
	Run   string `json:"run"` // "this run", or the run that wrote it, see [RunName]
	Text  string `json:"text"`
}

func showNote(tx *runstore.Tx, n runstore.Note, run *runstore.Run) (shownNote, error) {
	wrote, err := "this run", error(nil)
	if n.Run != run.ID {
		wrote, err = RunName(tx, run, n.Run)
	}
	return shownNote{About: n.Subject.Text, Date: n.Created.Format(time.DateOnly), By: n.Author, Run: wrote, Text: n.Text}, err
}

// maxNotes bounds the notes shown about one subject.
const maxNotes = 3

// addNotes puts the notes about the result's subjects beside it.
func (c *call) addNotes(tx *runstore.Tx, run *runstore.Run, raw json.RawMessage) (json.RawMessage, error) {
	if c.tool.Read.Subjects == nil {
		return raw, nil
	}
	var shown []shownNote
	for _, s := range c.tool.Read.Subjects(raw) {
		notes, err := tx.NotesAbout(s.Kind, s.ID, maxNotes)
		if err != nil {
			return nil, err
		}
		for _, n := range notes {
			note, err := showNote(tx, n, run)
			if err != nil {
				return nil, err
			}
			shown = append(shown, note)
		}
	}
	if len(shown) == 0 {
		return raw, nil
	}
	return WithMember(raw, "notes", shown)
}
