package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"orderdesk/runstore"
	"orderdesk/tools"
	"orderdesk/tools/upstream"
)

// How many useless replies in a row end a run.
const (
	maxCuts    = 3
	maxEmpties = 2
)

// ask makes the reserved model call. A call that fails for good stops the run.
func (r *drive) ask(ctx context.Context, conv Conversation) (Reply, error) {
	var reply Reply
	actx, cancel := context.WithTimeout(ctx, r.run.TimeLeft())
	defer cancel()
	stats, err := r.o.Service.Do(actx, func(ctx context.Context, _ int) (err error) {
		r.reserved = runstore.Usage{} // from here on it counts, whatever becomes of it
		reply, err = r.o.Model.Next(ctx, conv)
		return err
	})
	if ctx.Err() != nil {
		return reply, context.Cause(ctx)
	}
	if err == nil && len(stats.Waits) == 0 {
		return reply, nil
	}
	err = r.recordModel(ctx, stats, err)
	r.reserved = runstore.Usage{}
	return reply, err
}

// recordModel saves the retries of a model call and, if it failed for good,
// why the run stops.
func (r *drive) recordModel(ctx context.Context, stats upstream.Stats, failed error) error {
	return r.step(ctx, func(tx *runstore.Tx, run *runstore.Run) error {
		if stats.Attempts == 0 {
			run.Refund(r.reserved)
		}
		run.Used.Retries += stats.Retries
		for _, w := range stats.Waits {
			retry := tools.Retry{Service: "model", Attempt: w.Attempt, WaitMS: w.Wait.Milliseconds(), Error: tools.Limit(w.Err, 200)}
			if err := tx.Trace(run, runstore.TraceRetry, retry); err != nil {
				return err
			}
		}
		if failed == nil {
			return nil
		}
		if run.TimeLeft() == 0 {
			over := &runstore.BudgetError{Code: runstore.StopSeconds, What: "seconds", Limit: run.Budget.Seconds.Max}
			return tools.StopRun(tx, run, over.StopReason())
		}
		return tools.StopRun(tx, run, &runstore.StopReason{Code: runstore.StopModelError,
			Message: fmt.Sprintf("the model did not answer after %d attempts (%s)", stats.Attempts, shownError(failed))})
	})
}

// shownError is what people may read of a model's failure.
func shownError(err error) string {
	var ue *upstream.Error
	switch {
	case errors.As(err, &ue):
		return tools.Visible(tools.Limit(ue.Text, 200))
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return "an unexpected failure"
}

// take does what a reply asks for. Text beside calls is only text.
func (r *drive) take(ctx context.Context, conv *Conversation, reply Reply) error {
	switch {
	case reply.Refusal != "":
		return r.stop(ctx, &runstore.StopReason{Code: runstore.StopRefused, Message: "the model declined to go on (" + tools.Visible(tools.Limit(reply.Refusal, 80)) + ")"})
	case reply.Cut:
		return r.cut(ctx, conv, reply)
	case len(reply.Calls) > 0:
		r.cuts, r.empties = 0, 0
		return r.calls(ctx, conv, reply.Calls)
	case strings.TrimSpace(reply.Text) == "":
		return r.empty(ctx)
	}
	return r.answer(ctx, reply.Text)
}

func (r *drive) answer(ctx context.Context, text string) error {
	err := r.step(ctx, func(tx *runstore.Tx, run *runstore.Run) error { return r.o.Set.Finish(tx, run, text) })
	if err == nil {
		r.o.Observe(Event{Kind: Answered, Call: r.current, Text: text}, r.run)
	}
	return err
}

// empty handles a reply with neither text nor calls: asked again, a bounded
// number of times.
func (r *drive) empty(ctx context.Context) error {
	if r.empties++; r.empties >= maxEmpties {
		return r.stop(ctx, &runstore.StopReason{Code: runstore.StopEmptyReply, Message: "the model sent empty replies"})
	}
	return r.again(ctx, "empty reply")
}

// cut handles a reply whose end is missing: nothing of it is carried out, and
// the model is told to send less.
func (r *drive) cut(ctx context.Context, conv *Conversation, reply Reply) error {
	if r.cuts++; r.cuts >= maxCuts {
		return r.stop(ctx, &runstore.StopReason{Code: runstore.StopErrors, Message: "the model's output was cut off several times in a row"})
	}
	for _, c := range reply.Calls {
		c.Args = json.RawMessage("{}") // the broken text is not sent again
		r.add(conv, tools.Exchange{Call: c, Refused: true, Result: json.RawMessage(
			`{"error":"Your output was cut off, so this call was not carried out. Send it again with less in it."}`)})
	}
	return r.again(ctx, "cut-off reply")
}

// again reserves another call of the same context after a useless reply.
func (r *drive) again(ctx context.Context, why string) error {
	return r.step(ctx, func(tx *runstore.Tx, run *runstore.Run) error {
		run.Used.Retries++
		if err := tx.Trace(run, runstore.TraceRetry, tools.Retry{Service: "model", Attempt: 1, Error: why}); err != nil {
			return err
		}
		return r.reserveNext(tx, run)
	})
}

// reserveNext reserves the next call of the segment, unless the context is
// full: then the next segment does.
func (r *drive) reserveNext(tx *runstore.Tx, run *runstore.Run) error {
	r.compact = r.chars > run.Budget.CompactAt.Max
	if r.compact || run.Status != runstore.Running || r.crashes() {
		return nil
	}
	return r.reserve(tx, run, runstore.Usage{ModelCalls: 1, Chars: r.chars})
}

func (r *drive) crashes() bool { return r.o.CrashAfter > 0 && r.current >= r.o.CrashAfter }

func (r *drive) add(conv *Conversation, x tools.Exchange) {
	conv.History = append(conv.History, x)
	r.chars += size(x)
}

// size is what an exchange adds to the context, in characters.
func size(x tools.Exchange) int {
	return len(x.Call.Name) + utf8.RuneCount(x.Call.Args) + utf8.RuneCount(x.Result)
}

// calls makes the calls of a reply in their sequence: exactly one result per
// call, whatever becomes of it.
func (r *drive) calls(ctx context.Context, conv *Conversation, calls []tools.Call) error {
	for i, c := range calls {
		if r.run.Status != runstore.Running {
			r.skip(conv, c)
			continue
		}
		if err := r.one(ctx, conv, c, i == len(calls)-1); err != nil {
			return err
		}
	}
	if r.crashes() && r.o.Crash != nil {
		r.o.Crash()
	}
	return nil
}

// skip answers a call of a run that has stopped.
func (r *drive) skip(conv *Conversation, c tools.Call) {
	why := r.run.Stop
	if why == nil {
		why = &runstore.StopReason{Message: "the run is " + string(r.run.Status)}
	}
	res := tools.Stopped(why)
	r.add(conv, tools.Exchange{Call: repeatable(c), Result: res.JSON, Refused: true})
	r.o.Observe(Event{Kind: CallAnswered, Call: r.current, Tool: c.Name, Args: string(c.Args), Result: string(res.JSON), Refused: true}, r.run)
}

// repeatable is c as it may be sent again as part of a conversation: broken
// arguments would make every later request fail.
func repeatable(c tools.Call) tools.Call {
	if !json.Valid(c.Args) {
		c.Args = json.RawMessage("{}")
	}
	return c
}

func (r *drive) one(ctx context.Context, conv *Conversation, c tools.Call, last bool) error {
	call := r.current
	r.o.Observe(Event{Kind: CallMade, Call: call, Tool: c.Name, Args: string(c.Args)}, r.run)
	base := r.chars
	res, err := r.o.Set.Call(ctx, tools.Request{
		Who: r.o.Who, Run: r.id, Name: c.Name, Args: c.Args, Holder: r.o.Store.Instance(), Spent: r.spent(),
		After: func(tx *runstore.Tx, run *runstore.Run, res tools.Result) error {
			r.run = run
			r.chars = base + size(tools.Exchange{Call: c, Result: res.JSON})
			if !last {
				return nil
			}
			return r.reserveNext(tx, run)
		},
	})
	if err != nil {
		return err
	}
	r.mark = r.mark.Add(res.Booked)
	conv.History = append(conv.History, tools.Exchange{Call: repeatable(c), Result: res.JSON, Refused: res.Refused})
	for _, retry := range res.Retries {
		r.o.Observe(Event{Kind: Retried, Call: call, Retry: retry}, r.run)
	}
	r.o.Observe(Event{Kind: CallAnswered, Call: call, Tool: c.Name, Args: string(c.Args), Result: string(res.JSON), Refused: res.Refused, Recorded: res.Recorded, Took: res.Booked}, r.run)
	return nil
}

func contextStop(chars, limit int) *runstore.StopReason {
	return &runstore.StopReason{Code: runstore.StopContext, Message: fmt.Sprintf(
		"context: the briefing alone has %d characters, the limit is %d; resume with --compact-at %d", chars, limit, 2*chars)}
}
