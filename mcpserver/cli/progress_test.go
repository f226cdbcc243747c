package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// screen is a terminal of a fixed width: it obeys \r, \n and the sequences
// that orderdesk uses, and remembers what went wrong.
type screen struct {
	width int
	rows  [][]rune
	col   int
	wrong []string
}

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			s.rows[len(s.rows)-1] = s.rows[len(s.rows)-1][:s.col]
			text = text[3:]
		case strings.HasPrefix(text, "\x1b["):
			_, text, _ = strings.Cut(text, "m")
		default:
			r := []rune(text)[0]
			s.put(r)
			text = text[len(string(r)):]
		}
	}
	return len(b), nil
}

func (s *screen) put(r rune) {
	if len(s.rows) == 0 {
		s.rows = [][]rune{nil}
	}
	row := len(s.rows) - 1
	switch {
	case r == '\r':
		s.col = 0
	case r == '\n':
		s.rows, s.col = append(s.rows, nil), 0
	case s.col+runeCells(r) >= s.width:
		s.wrong = append(s.wrong, "line too long: "+string(s.rows[row]))
	default:
		s.rows[row] = append(s.rows[row][:s.col], r)
		s.col++
	}
}

func (s *screen) String() string {
	var lines []string
	for _, row := range s.rows {
		lines = append(lines, string(row))
	}
	return strings.Join(lines, "\n")
}

// story is a short run.
func story() []event {
	return []event{
		planCounts{4, []statusCount{{"done", 0}, {"waiting", 0}, {"todo", 4}}},
		budgetLine{{"model calls", 1, 25}, {"tool calls", 1, 30}, {"chars", 12345, 150000}},
		callStarted{1, "list"},
		callFinished{N: 1, Tool: "list", Args: `{"scope":"1010"}`, Outcome: callOK, Took: 3 * time.Millisecond},
		callStarted{2, "read"},
		retrying{"ledger", 1, 250 * time.Millisecond, "timeout\x1b[2J"},
		callFinished{N: 2, Tool: "read", Args: `{"id":"4711"}`, Outcome: callFailed, Detail: "service down", Took: 2340 * time.Millisecond},
		compacted{4266, 1855},
		planCounts{4, []statusCount{{"done", 1}, {"waiting", 2}, {"todo", 1}}},
		budgetLine{{"model calls", 2, 25}, {"tool calls", 2, 30}, {"chars", 14000, 150000}},
		callFinished{N: 3, Tool: "propose", Args: `{"id":"4711"}`, Outcome: callRefused, Detail: "Not blocked."},
		callStarted{4, "update"},
	}
}

func TestProgressOnATerminal(t *testing.T) {
	const scrolled = `    1  ok      list {"scope":"1010"}
       retry: attempt 1 (ledger) failed: timeout\x1b[2J; waiting 0.2 s
    2  failed  read {"id":"4711"}: service down (2.3 s)
       new context: 4,266 characters rebuilt as 1,855
    3  refused propose {"id":"4711"}: Not blocked.
`
	tests := []struct {
		width int
		want  string // the status line before the end
	}{
		{200, "4 listed: 1 done, 2 waiting, 1 todo | model calls 2/25 | tool calls 2/30 | chars 14,000/150,000 | update"},
		{80, "4 listed: 1 done, 2 waiting, 1 todo | model calls 2/25 | tool calls 2/30"},
		{0, "4 listed: 1 done, 2 waiting, 1 todo | model calls 2/25 | tool calls 2/30"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.width, " columns"), func(t *testing.T) {
			got, during := watch(t, tt.width, story())
			if want := scrolled + tt.want; during.String() != want {
				t.Errorf("during: got\n%s\nwant\n%s", during, want)
			}
			if got.String() != scrolled || len(got.wrong) > 0 {
				t.Errorf("at the end: got\n%s\nwant\n%s; %v", got, scrolled, got.wrong)
			}
		})
	}
}

func TestProgressFitsEveryWidth(t *testing.T) {
	for width := 1; width < 100; width++ {
		if end, _ := watch(t, width, story()); len(end.wrong) > 0 && width > 16 {
			t.Errorf("%d columns: %s", width, end.wrong[0])
		}
	}
}

// watch shows the events on a terminal and returns it, and a copy from before
// progress was closed.
func watch(t *testing.T, width int, events []event) (end, during *screen) {
	t.Helper()
	s := invocation{terminal: Terminal{Err: true, Width: func() int { return width }}}
	end = &screen{width: width}
	if width == 0 {
		end.width = 80
	}
	proc := s.process(t)
	proc.Stderr = end
	a := &app{proc: proc}
	a.out = newPrinter(proc, false)
	p := a.progress()
	for _, e := range events {
		p.show(e)
	}
	during = &screen{rows: slices.Clone(end.rows)}
	p.close()
	return end, during
}

// plainRun is what the events look like where there is no terminal.
func plainRun(t *testing.T, events []event) string {
	t.Helper()
	s := invocation{}
	a := &app{proc: s.process(t).withDefaults()}
	a.out = newPrinter(a.proc, false)
	p := a.progress()
	for _, e := range events {
		p.show(e)
	}
	a.out.note("a remark: %s", "x\ty")
	p.close()
	return s.stderr.String()
}

func TestProgressElsewhere(t *testing.T) {
	const want = `    1  ok      list {"scope":"1010"}
       retry: attempt 1 (ledger) failed: timeout\x1b[2J; waiting 0.2 s
    2  failed  read {"id":"4711"}: service down (2.3 s)
       new context: 4,266 characters rebuilt as 1,855
    3  refused propose {"id":"4711"}: Not blocked.
a remark: x\ty
`
	if got := plainRun(t, story()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProgressOfALongRun(t *testing.T) {
	var events []event
	for n := 1; n <= 2000; n++ {
		e := callFinished{N: n, Tool: "read", Outcome: callOK}
		if n == 1234 {
			e.Outcome = callFailed
		}
		events = append(events, e)
	}
	lines := strings.Split(strings.TrimSpace(plainRun(t, events)), "\n")
	// Each of the first 1,000, every 100th of the rest, the failure, the remark and the sum.
	if want := 1000 + 10 + 1 + 1 + 1; len(lines) != want {
		t.Errorf("got %d lines, want %d", len(lines), want)
	}
	if want := "(989 calls are not shown; the trace has them all)"; lines[len(lines)-1] != want {
		t.Errorf("got %q, want %q", lines[len(lines)-1], want)
	}
}

func TestRemarkStandsAboveTheStatusLine(t *testing.T) {
	s := invocation{terminal: Terminal{Err: true}}
	term := &screen{width: 80}
	proc := s.process(t).withDefaults()
	proc.Stderr = term
	a := &app{proc: proc, out: newPrinter(proc, false)}
	p := a.progress()
	p.show(planCounts{1, []statusCount{{"todo", 1}}})
	p.show(callStarted{1, "read"})
	a.out.note("warning: %s", "\x1b[A")
	if got, want := term.String(), "warning: \\x1b[A\n1 listed: 1 todo | read"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.close()
	a.out.note("end")
	if got, want := term.String(), "warning: \\x1b[A\nend\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
