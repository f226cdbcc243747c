package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"orderdesk/tools"
)

const (
	maxLine   = 1 << 20          // bytes of one message
	lastWords = 30 * time.Second // for answers that are under way when the input ends
)

// ErrOutput says that the host takes no more answers.
var ErrOutput = errors.New("the host takes no more answers")

// ServeStdio serves one host on standard input and output until the input ends,
// the output breaks ([ErrOutput]) or ctx ends. Messages are lines; only they go
// to out. When the input ends, what was accepted before is answered; when the
// output breaks, calls under way are brought to their end and recorded.
func (h *Hosts) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, who tools.Principal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := server.NewStdioServer(h.newServer())
	s.SetErrorLogger(slog.NewLogLogger(h.o.Logger.Handler(), slog.LevelWarn))
	s.SetContextFunc(func(ctx context.Context) context.Context { return withPrincipal(ctx, who) })
	feed, fed := io.Pipe()
	lines := &lineGate{hosts: h, who: who, out: out, pending: map[string]*pending{}, broken: cancel}
	go func() {
		err := lines.forward(ctx, in, fed)
		lines.settle(ctx)
		fed.CloseWithError(err) // nil is the end of the input
	}()
	err := s.Listen(ctx, feed, lines)
	if gone := lines.failed(); gone != nil {
		return fmt.Errorf("%w: %w", ErrOutput, gone)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lineGate stands between the host's lines and the server: it checks each line
// before any decoder sees it, and keeps count of what is to be answered.
type lineGate struct {
	hosts   *Hosts
	who     tools.Principal
	mu      sync.Mutex
	out     io.Writer
	err     error               // of out
	pending map[string]*pending // requests that were taken and not answered, by id
	broken  func()
}

// pending is a request that is under way.
type pending struct {
	answered  chan struct{} // closed
	cancelled bool          // its answer is not wanted any more
}

var utf8Mark = []byte("\xef\xbb\xbf")

// forward passes good lines on and answers bad ones.
func (g *lineGate) forward(ctx context.Context, in io.Reader, to io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for first := true; ; first = false {
		line, long, err := readLine(r)
		if first {
			line = bytes.TrimPrefix(line, utf8Mark)
		}
		if text := bytes.TrimSpace(line); long || len(text) > 0 {
			if perr := g.pass(ctx, text, long, to); perr != nil {
				return perr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (g *lineGate) pass(ctx context.Context, line []byte, long bool, to io.Writer) error {
	if long {
		return g.refuse(ctx, &problem{code: codeRequest, text: tooLong})
	}
	out, e, wrong := g.hosts.ids.read(line)
	if wrong != nil {
		return g.refuse(ctx, wrong...)
	}
	answered, fresh := g.note(e)
	if !fresh {
		return g.refuse(ctx, &problem{code: codeRequest, text: sameID})
	}
	if _, err := to.Write(append(out, '\n')); err != nil {
		return err
	}
	if e.Method == methodInit && answered != nil { // nothing overtakes it
		select {
		case <-answered:
		case <-ctx.Done():
		}
	}
	return nil
}

// refuse answers a line that goes no further.
func (g *lineGate) refuse(ctx context.Context, wrong ...*problem) error {
	g.hosts.auditProblem(ctx, g.who, wrong[0])
	for _, p := range wrong {
		if _, err := g.Write(append(p.line(), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// note keeps count. A call that lasts as long as its stream is not waited for.
// fresh is false for an id that is taken.
func (g *lineGate) note(e *envelope) (answered chan struct{}, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case e.Method == methodCancelled:
		if p := g.pending[string(e.Params.RequestID)]; p != nil {
			p.cancelled = true
		}
	case e.request() && e.Method != methodListen:
		if g.pending[string(e.ID)] != nil {
			return nil, false
		}
		answered = make(chan struct{})
		g.pending[string(e.ID)] = &pending{answered: answered}
	}
	return answered, true
}

// Write passes one message on to the host. An output that takes nothing more
// ends the server, once.
func (g *lineGate) Write(line []byte) (int, error) {
	out := g.hosts.ids.restore(line)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return len(line), nil
	}
	var e envelope
	if json.Unmarshal(out, &e) == nil && e.Method == "" {
		if p := g.pending[string(e.ID)]; p != nil {
			delete(g.pending, string(e.ID))
			close(p.answered)
			if p.cancelled {
				return len(line), nil
			}
		}
	}
	if _, err := g.out.Write(out); err != nil {
		g.err = err
		g.broken()
	}
	return len(line), nil
}

func (g *lineGate) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// settle waits for the answers to what was taken.
func (g *lineGate) settle(ctx context.Context) {
	patience := time.NewTimer(lastWords)
	defer patience.Stop()
	g.mu.Lock()
	open := slices.Collect(maps.Values(g.pending))
	g.mu.Unlock()
	for _, p := range open {
		select {
		case <-p.answered:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// readLine reads up to a line's end. Of a line that is too long it returns
// nothing but that.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxLine+1 {
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
