package cli

import (
	"strings"
	"sync"
)

// progress shows a run as it goes on, on standard error: one line per call,
// and on a terminal a status line below that is drawn anew with each call.
//
// A long list makes very many calls. After the first [everyCall] of them only
// every [everyNth] is shown; one that failed or was refused always is.
// Nothing depends on a clock, so the same run shows the same lines.
type progress struct {
	out   *printer
	live  bool // a terminal that can erase a line
	width func() int

	mu      sync.Mutex
	lines   []string // to be printed above the status line
	drawn   bool     // a status line is on the screen
	hidden  int      // calls without a line
	current string   // the tool at work
	plan    planCounts
	budget  budgetLine
}

const (
	everyCall  = 1000
	everyNth   = 100
	plainWidth = 160 // columns of a line where there is no terminal
)

// progress begins to show a run; call close at its end.
func (a *app) progress() *progress {
	t := a.proc.Terminal
	p := &progress{out: a.out, live: t.Err && controllable(a.proc.Getenv), width: t.Width}
	a.out.live.Store(p)
	return p
}

// show takes over an event and shows what is due. It may be called from many
// goroutines.
func (p *progress) show(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	draw := e.apply(p)
	if !draw && len(p.lines) == 0 {
		return
	}
	p.flush(p.status())
}

// close removes the status line and says how many calls had no line.
func (p *progress) close() {
	p.out.live.Store(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hidden > 0 {
		p.line(string(format("(%d calls are not shown; the trace has them all)", p.hidden)))
	}
	p.flush("")
}

// flush writes the waiting lines and the status line in one piece.
func (p *progress) flush(status string) {
	var b strings.Builder
	if p.drawn {
		b.WriteString("\r\x1b[K")
	}
	for _, l := range p.lines {
		b.WriteString(l + "\n")
	}
	p.lines = p.lines[:0]
	p.drawn = p.live && status != ""
	if p.drawn {
		b.WriteString(status)
	}
	if b.Len() > 0 {
		_, _ = p.out.stderr.Write([]byte(b.String()))
	}
}

func (p *progress) line(s string) { p.lines = append(p.lines, s) }

// columns is how wide a line may be: a terminal would break a full one.
func (p *progress) columns() int {
	switch w := p.width(); {
	case !p.live:
		return plainWidth
	case w < 1:
		return 79
	default:
		return max(1, w-1)
	}
}

// status is the plan, the budget and what is going on, as far as they fit.
func (p *progress) status() string {
	if !p.live {
		return ""
	}
	room := p.columns()
	out := ""
	for _, part := range append(append(p.plan.parts(), p.budget.parts()...), p.current) {
		sep := " | "
		if out == "" {
			sep = ""
		}
		if part == "" {
			continue
		}
		if out != "" && cells(out+sep+part) > room {
			break
		}
		out += sep + part
	}
	return string(p.out.errStyle(dim, cut(out, room)))
}
