package runstore

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// server lets other processes work on the store.
type server struct {
	host     *host
	listener net.Listener
	limits   limits
	mu       sync.Mutex
	sessions map[*session]bool // nil: closed
	running  sync.WaitGroup
}

func newServer(h *host, l net.Listener, lim limits) *server {
	s := &server{host: h, listener: l, limits: lim, sessions: map[*session]bool{}}
	s.running.Go(s.accept)
	return s
}

func (s *server) accept() {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, say
			time.Sleep(s.limits.retry)
			continue
		}
		ses := &session{server: s, link: newLink(c)}
		s.mu.Lock()
		open := s.sessions != nil
		if open {
			s.sessions[ses] = true
			s.running.Go(ses.run)
		}
		s.mu.Unlock()
		if !open {
			c.Close()
		}
	}
}

// close lets nobody in, lets requests under way have their answer, and hangs up.
func (s *server) close() {
	s.listener.Close()
	s.mu.Lock()
	all := s.sessions
	s.sessions = nil
	s.mu.Unlock()
	for ses := range all {
		ses.hangUp()
	}
	s.running.Wait()
}

// session is one connection of another process.
type session struct {
	server *server
	link   *link
	busy   sync.Mutex // held while a request is worked on
}

func (s *session) hangUp() {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.link.Close()
}

func (s *session) run() {
	defer func() {
		s.link.Close()
		s.server.mu.Lock()
		delete(s.server.sessions, s)
		s.server.mu.Unlock()
	}()
	for {
		var r request
		if s.link.SetReadDeadline(time.Time{}) != nil || s.link.dec.Decode(&r) != nil {
			return
		}
		if s.handle(&r) != nil {
			return
		}
	}
}

// handle serves a request outside a snapshot; an error ends the session.
func (s *session) handle(r *request) error {
	switch r.Op {
	case opHello:
		return s.hello(r)
	case opWatch, opEnd:
		return nil
	case opBegin:
		if r.Alone {
			return s.alone()
		}
		return s.snapshot()
	}
	return errors.New("request out of place")
}

func (s *session) hello(r *request) error {
	h := s.server.host
	a := &reply{PID: os.Getpid(), Command: h.note.Command}
	if r.Hello != protocol {
		a.Err = &wireError{Text: "it is of another version of this program"}
	}
	return s.answer(a)
}

func (s *session) answer(a *reply) error {
	_ = s.link.SetWriteDeadline(time.Now().Add(s.server.limits.call)) // fails with the write
	return s.link.send(a)
}

// snapshot serves reads from one state until the client commits, ends it, or
// says nothing for too long, so that it cannot hold the state for ever.
func (s *session) snapshot() error {
	var c *commit
	err := s.server.host.read(context.Background(), func(r reader, now time.Time) (err error) {
		c, err = s.reads(r, now, s.server.limits.idle)
		return err
	})
	if err != nil {
		return s.refuse(err)
	}
	if c == nil {
		return nil
	}
	s.busy.Lock()
	defer s.busy.Unlock()
	return s.commit(c, s.server.host.do(context.Background(), c.apply))
}

// alone serves a whole step within one turn of the owner, for a client that
// lost the race too often. Its time is short: everybody waits.
func (s *session) alone() error {
	var c *commit
	var broken error
	err := s.server.host.do(context.Background(), func(w *overlay, now time.Time) error {
		if c, broken = s.reads(w, now, s.server.limits.alone); broken != nil || c == nil {
			return broken
		}
		return c.apply(w, now)
	})
	if broken != nil {
		return broken
	}
	if c == nil {
		return s.refuse(err)
	}
	return s.commit(c, err)
}

// refuse tells a client why it gets no state; nil: it has ended one.
func (s *session) refuse(err error) error {
	if err == nil || errors.Is(err, errHungUp) {
		return err
	}
	return s.answer(&reply{Err: toWire(err)})
}

func (s *session) commit(c *commit, err error) error {
	switch {
	case err == nil:
		return s.answer(&reply{Answer: applied})
	case errors.Is(err, errConflict):
		return s.answer(&reply{Answer: conflict})
	case errors.Is(err, errStale):
		return s.answer(&reply{Answer: stale})
	}
	return s.answer(&reply{Err: toWire(err)})
}

// errHungUp says that a client went away, or was silent too long, within a
// snapshot.
var errHungUp = errors.New("the other process hung up")

// reads answers with the records of state until a commit comes or an end.
func (s *session) reads(state reader, now time.Time, patience time.Duration) (*commit, error) {
	if s.answer(&reply{Now: now}) != nil {
		return nil, errHungUp
	}
	for {
		var r request
		if s.link.SetReadDeadline(time.Now().Add(patience)) != nil || s.link.dec.Decode(&r) != nil {
			return nil, errHungUp
		}
		a := new(reply)
		switch r.Op {
		case opGet:
			var err error
			a.Frame, err = state.get(r.Key)
			a.Found, a.Err = a.Frame != nil, toWire(err)
		case opScan:
			a.Err = toWire(a.page(state, &r))
		case opCommit:
			return r.Commit, nil
		case opEnd:
			return nil, nil
		default:
			return nil, errHungUp
		}
		if s.answer(a) != nil {
			return nil, errHungUp
		}
	}
}

// page fills the reply with the next records of a scan.
func (a *reply) page(state reader, r *request) error {
	const most = 256 << 10
	size := 0
	return state.scan(r.Key, r.After, func(k string, value func() ([]byte, error)) (bool, error) {
		if len(a.Records) >= r.Limit || size > most {
			a.More = true
			return false, nil
		}
		f, err := value()
		a.Records = append(a.Records, record{Key: k, Frame: f})
		size += len(k) + len(f)
		return true, err
	})
}
