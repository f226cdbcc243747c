package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"orderdesk/tools"
)

const (
	maxLine   = 1 << 20          // bytes of one message
	lastWords = 30 * time.Second // for answers that are under way when the input ends
)

// ServeStdio serves one host on standard input and output until the input ends,
// the output breaks or ctx ends. Messages are lines; only they go to out. When
// the input ends, what was accepted before is answered.
func (h *Hosts) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, who tools.Principal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := server.NewStdioServer(h.newServer())
	s.SetErrorLogger(slog.NewLogLogger(h.o.Logger.Handler(), slog.LevelWarn))
	s.SetContextFunc(func(ctx context.Context) context.Context { return withPrincipal(ctx, who) })
	feed, fed := io.Pipe()
	lines := &lineGate{out: out, pending: map[string]bool{}, idle: make(chan struct{}, 1), broken: cancel}
	go func() {
		err := lines.forward(in, fed)
		lines.settle(ctx)
		fed.CloseWithError(err) // nil is the end of the input
	}()
	err := s.Listen(ctx, feed, lines)
	if lines.failed() != nil {
		return lines.failed()
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lineGate stands between the host's lines and the server: it checks each line
// before any decoder sees it, and keeps count of what is to be answered.
type lineGate struct {
	mu      sync.Mutex
	out     io.Writer
	err     error           // of out
	pending map[string]bool // ids of requests that were taken and not answered
	idle    chan struct{}
	broken  func()
}

// message is what the gate looks at.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// forward passes good lines on and answers bad ones.
func (g *lineGate) forward(in io.Reader, to io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := readLine(r)
		if text := bytes.TrimSpace(line); long || len(text) > 0 {
			if perr := g.pass(text, long, to); perr != nil {
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

func (g *lineGate) pass(line []byte, long bool, to io.Writer) error {
	switch err := tools.CheckMessage(line); {
	case long:
		return g.say(rpcError(-32600, "The message is too long: at most 1048576 bytes are allowed."))
	case err != nil:
		return g.say(rpcError(-32700, err.Error()))
	case line[0] != '{':
		return g.say(rpcError(-32600, "The message must be one JSON object; batches are not taken."))
	}
	var m message
	if err := json.Unmarshal(line, &m); err == nil {
		g.note(m)
	}
	_, err := to.Write(append(line, '\n'))
	return err
}

// note keeps count. A call that lasts as long as its stream is not waited for.
func (g *lineGate) note(m message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case m.Method == "notifications/cancelled":
		delete(g.pending, string(m.Params.RequestID))
	case m.Method != "" && len(m.ID) > 0 && m.Method != "subscriptions/listen":
		g.pending[string(m.ID)] = true
	}
}

// Write passes one answer on to the host. An output that takes nothing more
// ends the server.
func (g *lineGate) Write(line []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.out.Write(line)
	if err != nil {
		g.err = err
		g.broken()
		return n, err
	}
	var m message
	if json.Unmarshal(line, &m) == nil && m.Method == "" {
		delete(g.pending, string(m.ID))
	}
	if len(g.pending) == 0 {
		select {
		case g.idle <- struct{}{}:
		default:
		}
	}
	return n, nil
}

func (g *lineGate) say(line []byte) error {
	_, err := g.Write(append(line, '\n'))
	return err
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
	for {
		g.mu.Lock()
		open := len(g.pending)
		g.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-g.idle:
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
