package runstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// remoteState is a reader on a snapshot, or a turn, that the owner holds for
// this process. For a step it takes note of what was read.
type remoteState struct {
	ctx    context.Context // ends the reading, not a commit
	stop   func() bool     // of ctx's hold on the connection
	remote *remote
	lane   *lane
	now    time.Time
	reads  *commit           // nil: a view, nothing is noted
	seen   map[string][]byte // what get answered
	failed error             // why the connection is of no use any more
}

// begin opens the snapshot on a free connection.
func (r *remote) begin(ctx context.Context, step, alone bool) (*remoteState, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("nothing recorded: %w", context.Cause(ctx))
	}
	l, err := r.take()
	if err != nil {
		return nil, err
	}
	s := &remoteState{ctx: ctx, remote: r, lane: l}
	s.stop = context.AfterFunc(ctx, func() { l.Close() })
	if step {
		s.reads, s.seen = &commit{Lane: l.name, N: l.last + 1, Last: l.last}, map[string][]byte{}
	}
	var a reply
	if err := s.ask(&request{Op: opBegin, Alone: alone}, &a); err != nil {
		s.end()
		return nil, err
	}
	s.now = a.Now.UTC()
	return s, nil
}

// ask makes one request. Where the connection fails it is closed.
func (s *remoteState) ask(q *request, a *reply) error {
	if s.failed != nil {
		return s.failed
	}
	err := s.lane.ask(q, a, s.remote.limits.call)
	if err != nil && s.ctx.Err() != nil {
		return s.fail(fmt.Errorf("nothing recorded: %w", context.Cause(s.ctx)))
	}
	if err != nil {
		return s.fail(s.remote.broken(err))
	}
	if a.Err != nil {
		if err = a.Err.error(); errors.Is(err, errLost) {
			s.fail(err)
		}
	}
	return err
}

func (s *remoteState) fail(err error) error {
	s.failed = err
	s.stop()
	s.lane.Close()
	return err
}

// end gives the snapshot back.
func (s *remoteState) end() {
	if s.failed != nil {
		return
	}
	if !s.stop() {
		s.failed = fmt.Errorf("nothing recorded: %w", context.Cause(s.ctx))
		return // ctx has closed the connection
	}
	if err := s.lane.send(&request{Op: opEnd}); err != nil {
		s.lane.Close() // what was read stays read
		return
	}
	s.remote.give(s.lane)
}

func (s *remoteState) get(key string) ([]byte, error) {
	if f, ok := s.seen[key]; ok {
		return f, nil
	}
	var a reply
	if err := s.ask(&request{Op: opGet, Key: key}, &a); err != nil {
		return nil, err
	}
	if a.Found && a.Frame == nil {
		a.Frame = []byte{}
	}
	if s.reads != nil {
		s.seen[key] = a.Frame
		s.reads.Gets = append(s.reads.Gets, readGet{Key: key, Sum: sumFrame(a.Frame)})
	}
	return a.Frame, nil
}

// scan asks for pages that grow, for most scans end early.
func (s *remoteState) scan(prefix, after string, fn func(string, func() ([]byte, error)) (bool, error)) error {
	noted := readScan{Prefix: prefix, After: after}
	sum := newScanSum()
	defer func() {
		if s.reads != nil {
			noted.Sum = sum.sum()
			s.reads.Scans = append(s.reads.Scans, noted)
		}
	}()
	noted.Upto = after
	for limit := 8; ; limit = min(2*limit, 1024) {
		var a reply
		if err := s.ask(&request{Op: opScan, Key: prefix, After: noted.Upto, Limit: limit}, &a); err != nil {
			return err
		}
		for _, rec := range a.Records {
			noted.Upto = rec.Key
			sum.add(rec.Key, rec.Frame)
			more, err := fn(rec.Key, func() ([]byte, error) { return rec.Frame, nil })
			if err != nil || !more {
				return err
			}
		}
		if !a.More {
			noted.End = true
			return nil
		}
	}
}

// commit sends the writes of w. An error says that nothing was recorded, or is
// an [*unsettledError].
func (s *remoteState) commit(w *overlay) (again bool, err error) {
	if !s.stop() {
		return false, s.fail(fmt.Errorf("nothing recorded: %w", context.Cause(s.ctx)))
	}
	c := s.reads
	for _, k := range w.keys {
		f := w.frames[k]
		c.Puts = append(c.Puts, record{Key: k, Frame: f, Gone: f == nil})
	}
	var a reply
	if err := s.lane.ask(&request{Op: opCommit, Commit: c}, &a, s.remote.limits.commit); err != nil {
		s.lane.Close()
		if err = s.remote.broken(err); errors.Is(err, errLost) {
			return false, &unsettledError{lane: c.Lane, n: c.N}
		}
		return false, unknown(err)
	}
	if a.Err != nil {
		s.remote.give(s.lane)
		return false, a.Err.error()
	}
	if a.Answer == applied {
		s.lane.last = c.N
	}
	if a.Answer == stale {
		s.lane.Close()
		return true, nil
	}
	s.remote.give(s.lane)
	return a.Answer == conflict, nil
}
