package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

// printer is the only way a command writes. Its zero streams are standard
// output for results and standard error for the rest; with json set, standard
// output takes one JSON value and nothing else.
type printer struct {
	stdout, stderr *sink
	json           bool
	color          bool // results
	errColor       bool // the rest
	printed        bool // the JSON value is out
	live           atomic.Pointer[progress]
	explain        func(error) *Error
}

// sink drops what can no longer be written: after the first error it takes
// everything and writes nothing.
type sink struct {
	mu  sync.Mutex
	w   io.Writer
	err error // the first one
}

// Write never fails.
func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	return len(b), nil
}

// lost returns why output was lost, or nil if none was or if its reader went
// away, which is the reader's own choice.
func (s *sink) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if readerGone(s.err) {
		return nil
	}
	return s.err
}

func readerGone(err error) bool {
	for _, gone := range []error{syscall.EPIPE, syscall.EIO, io.ErrClosedPipe, fs.ErrClosed} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

func newPrinter(p Process, asJSON bool) *printer {
	can := p.Getenv("NO_COLOR") == "" && controllable(p.Getenv)
	return &printer{
		stdout: &sink{w: p.Stdout}, stderr: &sink{w: p.Stderr}, json: asJSON,
		color: can && p.Terminal.Out, errColor: can && p.Terminal.Err,
		explain: func(err error) *Error { e, _ := explain(context.Background(), err); return e },
	}
}

// controllable reports whether a terminal here obeys control sequences.
func controllable(getenv func(string) string) bool {
	name := getenv("TERM")
	return name != "dumb" && (name != "" || getenv("WT_SESSION") != "")
}

// say prints a line for people: to standard output, with --json to standard
// error. Arguments are made visible, see [format].
func (p *printer) say(f string, args ...any) {
	w := p.stdout
	if p.json {
		w = p.stderr
	}
	_, _ = io.WriteString(w, string(format(f, args...))+"\n")
}

// note prints a line to standard error, above a live status line.
func (p *printer) note(f string, args ...any) {
	if live := p.live.Load(); live != nil {
		live.show(remark(format(f, args...)))
		return
	}
	_, _ = io.WriteString(p.stderr, string(format(f, args...))+"\n")
}

// result prints a command's result once: v with --json, or else what text says.
func (p *printer) result(v any, text func()) error {
	if !p.json {
		text()
		return nil
	}
	if p.printed {
		return errors.New("a second JSON value was about to be printed")
	}
	if long, ok := v.(interface{ stream(io.Writer) error }); ok {
		p.printed = true
		return long.stream(p.stdout)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	p.printed = true
	_, _ = p.stdout.Write(append(b, '\n'))
	return nil
}

// list prints many values one by one: with --json as {"<name>":[...]}, else
// the text of each as a line. each calls yield for every value and stops at
// its error. A failure on the way ends the JSON value properly, with the
// members "error" and "exit" beside the list.
func (p *printer) list(name string, each func(yield func(v any, text styled) error) error) error {
	if !p.json {
		w := bufio.NewWriter(p.stdout)
		err := each(func(_ any, text styled) error {
			_, err := w.WriteString(string(text) + "\n")
			return err
		})
		return errors.Join(err, w.Flush())
	}
	return p.jsonList(name, each)
}

func (p *printer) jsonList(name string, each func(yield func(v any, text styled) error) error) error {
	w := bufio.NewWriter(p.stdout)
	p.printed = true
	before := "{" + strconv.Quote(name) + ": ["
	err := each(func(v any, _ styled) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, _ = w.WriteString(before + "\n  ")
		before = ","
		_, err = w.Write(b)
		return err
	})
	if before != "," {
		_, _ = w.WriteString(before)
	}
	_, _ = w.WriteString("\n]")
	if err != nil {
		e := p.explain(err)
		b, _ := json.Marshal(failure{e, e.Exit})
		_, _ = w.WriteString("," + string(b[1:len(b)-1]))
	}
	_, _ = w.WriteString("}\n")
	return errors.Join(err, w.Flush())
}

// failure is the JSON value of a command that failed.
type failure struct {
	Error *Error `json:"error"`
	Exit  int    `json:"exit"`
}

// fail prints an error: as the JSON value, if that is wanted and none is out
// yet, and for people on standard error.
func (p *printer) fail(e *Error) {
	if p.json && !p.printed {
		_ = p.result(failure{e, e.Exit}, nil)
	}
	p.note("%s %s", p.errStyle(red, "orderdesk:"), e.Message)
	for _, d := range e.Details {
		p.note("  %s", d)
	}
	if e.Hint != "" {
		p.note("%s %s", p.errStyle(bold, "hint:"), e.Hint)
	}
}

// The styles of our own text.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// style makes s visible and gives it a colour where results are coloured.
func (p *printer) style(code, s string) styled { return paint(p.color, code, s) }

func (p *printer) errStyle(code, s string) styled { return paint(p.errColor, code, s) }

func paint(on bool, code, s string) styled {
	if !on {
		return styled(visible(s))
	}
	return styled("\x1b[" + code + "m" + visible(s) + "\x1b[0m")
}
