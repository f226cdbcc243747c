package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// event is something that happened in a run and that people may watch. apply
// notes it and reports whether the status line is to be drawn anew.
type event interface {
	apply(p *progress) (draw bool)
}

// callStarted says that a tool is at work.
type callStarted struct {
	N    int // the n-th call of the run
	Tool string
}

// callFinished says what came of a call.
type callFinished struct {
	N       int
	Tool    string
	Args    string // as JSON, on one line
	Outcome outcome
	Detail  string // one line: the refusal, the error
	Took    time.Duration
}

// outcome is how a call ended.
type outcome string

const (
	callOK      outcome = "ok"
	callKnown   outcome = "known" // answered from what was read before
	callRefused outcome = "refused"
	callFailed  outcome = "failed"
)

// compacted says that a new context was started.
type compacted struct{ Before, After int } // characters

// retrying says that a call is tried again after a wait.
type retrying struct {
	Service string
	Attempt int // the one that failed, from 1
	Wait    time.Duration
	Reason  string // one line
}

// planCounts is how many items of the list are in which status.
type planCounts struct {
	Total  int
	Counts []statusCount // in the sequence to be shown
}

type statusCount struct {
	Status string
	N      int
}

// budgetLine is what a run has used of its limits.
type budgetLine []budgetPart

type budgetPart struct {
	Name        string // "model calls"
	Used, Limit int
}

// remark is a line that is not about the run; it is already visible text.
type remark styled

func (e callStarted) apply(p *progress) bool {
	p.current = visible(e.Tool)
	return true
}

func (e callFinished) apply(p *progress) bool {
	p.current = ""
	usual := e.Outcome == callOK || e.Outcome == callKnown
	if usual && e.N > everyCall && e.N%everyNth != 0 {
		p.hidden++
		return true
	}
	head := fmt.Sprintf("%5d  ", e.N)
	mark := pad(visible(string(e.Outcome)), 8)
	rest := e.Tool + " " + e.Args
	if e.Detail != "" {
		rest += ": " + e.Detail
	}
	rest += took(e.Took)
	room := max(1, p.columns()-len(head)-cells(mark))
	p.line(head + string(p.out.errStyle(e.Outcome.style(), mark)) + cut(visible(rest), room))
	return true
}

func (o outcome) style() string {
	switch o {
	case callOK:
		return green
	case callRefused:
		return yellow
	case callFailed:
		return red
	}
	return dim
}

// took names a duration worth mentioning, a second or more; shorter ones would
// make every run's output different.
func took(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return fmt.Sprintf(" (%.1f s)", d.Seconds())
}

func (e compacted) apply(p *progress) bool {
	text := "       new context: " + grouped(e.Before) + " characters rebuilt as " + grouped(e.After)
	p.line(cut(text, p.columns()))
	return true
}

func (e retrying) apply(p *progress) bool {
	text := fmt.Sprintf("       retry: attempt %d (%s) failed: %s; waiting %.1f s",
		e.Attempt, e.Service, e.Reason, e.Wait.Seconds())
	p.line(cut(visible(text), p.columns()))
	return true
}

func (e planCounts) apply(p *progress) bool {
	p.plan = e
	return false
}

func (e budgetLine) apply(p *progress) bool {
	p.budget = e
	return false
}

func (e remark) apply(p *progress) bool {
	p.line(string(e))
	return true
}

// parts is "4 listed: 1 done, 3 todo", without what is zero; none without a list.
func (e planCounts) parts() []string {
	if e.Total == 0 {
		return nil
	}
	var counts []string
	for _, c := range e.Counts {
		if c.N > 0 {
			counts = append(counts, grouped(c.N)+" "+visible(c.Status))
		}
	}
	return []string{grouped(e.Total) + " listed: " + strings.Join(counts, ", ")}
}

func (e budgetLine) parts() []string {
	var out []string
	for _, b := range e {
		out = append(out, visible(b.Name)+" "+grouped(b.Used)+"/"+grouped(b.Limit))
	}
	return out
}

// counted is "1 run", "4,000 runs".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

// grouped writes n with a comma after every three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
