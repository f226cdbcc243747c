package runstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// errLost says that the owner ended, or that its connection broke, before it
// could answer. Unless a commit was sent nothing has happened.
var errLost = errors.New("the store's owner went away")

// unsettledError is errLost after a commit was sent.
type unsettledError struct {
	lane string
	n    int
}

func (e *unsettledError) Error() string { return errLost.Error() }
func (e *unsettledError) Unwrap() error { return errLost }

// remote is the store in a process that does not own it.
type remote struct {
	pid     int
	command string
	socket  string
	limits  limits
	lanes   func() string // names a new lane
	watch   *link
	gone    atomic.Bool
	losers  chan struct{} // steps that lost a race go on one at a time

	mu     sync.Mutex
	idle   []*lane
	closed bool
}

// lane is one connection and the number of its last commit.
type lane struct {
	*link
	name string
	last int
}

// dial connects to the owner that note tells of. onLoss is called once, when
// the owner ends.
func dial(note ownerNote, lim limits, lanes func() string, onLoss func()) (*remote, error) {
	r := &remote{pid: note.PID, command: note.Command, socket: note.Socket, limits: lim, lanes: lanes, losers: make(chan struct{}, 1)}
	l, a, err := r.connect()
	if err != nil {
		return nil, err
	}
	r.pid, r.command = a.PID, a.Command
	if err := l.send(&request{Op: opWatch}); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	r.watch = l
	_ = l.SetDeadline(time.Time{}) // fails with the read
	go func() {
		_, _ = l.Read(make([]byte, 1)) // returns when the connection breaks
		r.lose()
		onLoss()
	}()
	return r, nil
}

// connect opens one connection to the owner.
func (r *remote) connect() (*link, *reply, error) {
	c, err := net.DialTimeout("unix", r.socket, r.limits.hello)
	if err != nil {
		return nil, nil, err
	}
	l := newLink(c)
	var a reply
	if err := l.ask(&request{Op: opHello, Hello: protocol}, &a, r.limits.hello); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	if a.Err != nil {
		return nil, nil, errors.Join(&otherError{a.PID, a.Command, a.Err.Text}, l.Close())
	}
	return l, &a, nil
}

// otherError says that the owner cannot be worked with.
type otherError struct {
	pid           int
	command, text string
}

func (e *otherError) Error() string {
	return fmt.Sprintf("process %d (%s) holds the store: %s", e.pid, e.command, e.text)
}

// ask sends a request and reads its answer.
func (l *link) ask(q *request, a *reply, limit time.Duration) error {
	if err := l.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if err := l.send(q); err != nil {
		return err
	}
	return l.dec.Decode(a)
}

// lose marks the owner as gone and hangs up.
func (r *remote) lose() {
	r.gone.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, l := range r.idle {
		l.Close()
	}
	r.idle = nil
	r.watch.Close()
}

func (r *remote) close() error {
	r.lose()
	return nil
}

func (r *remote) lost() bool { return r.gone.Load() }

func (r *remote) owner() (int, string, bool) { return r.pid, r.command, false }

// take returns a lane nobody uses.
func (r *remote) take() (*lane, error) {
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		l := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return l, nil
	}
	closed := r.closed
	r.mu.Unlock()
	if closed {
		return nil, errLost
	}
	l, _, err := r.connect()
	if err != nil {
		return nil, r.broken(err)
	}
	return &lane{link: l, name: r.lanes()}, nil
}

// probe finds out whether an owner that hung up is still there.
func (r *remote) probe() {
	l, _, err := r.connect()
	if err != nil {
		r.lose()
		return
	}
	r.give(&lane{link: l, name: r.lanes()})
}

// give returns a lane that is between two requests.
func (r *remote) give(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		l.Close()
		return
	}
	r.idle = append(r.idle, l)
}

// broken says what a failed request means: an owner that does not answer, or
// one that is gone.
func (r *remote) broken(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &LockedError{PID: r.pid, Command: r.command}
	}
	var other *otherError
	if errors.As(err, &other) {
		return other
	}
	return errLost
}

// read runs fn on one snapshot held by the owner.
func (r *remote) read(ctx context.Context, fn func(reader, time.Time) error) error {
	s, err := r.begin(ctx, false, false)
	if err != nil {
		return err
	}
	err = fn(s, s.now)
	if s.end(); s.failed != nil {
		return s.failed
	}
	return err
}

// do runs one step here, on a snapshot held by the owner, and has the owner
// apply it if what it read has not changed meanwhile.
func (r *remote) do(ctx context.Context, run func(*overlay, time.Time) error) error {
	const races = 3 // then a step is given the owner's turn
	for n := 0; ; n++ {
		if n == 1 {
			select {
			case r.losers <- struct{}{}:
				defer func() { <-r.losers }()
			case <-ctx.Done():
				return fmt.Errorf("nothing recorded: %w", context.Cause(ctx))
			}
		}
		again, err := r.try(ctx, n >= races, run)
		if !again {
			return err
		}
	}
}

// try makes one attempt; again says that the race was lost.
func (r *remote) try(ctx context.Context, alone bool, run func(*overlay, time.Time) error) (again bool, err error) {
	s, err := r.begin(ctx, true, alone)
	if err != nil {
		return false, err
	}
	w := newOverlay(s)
	err = run(w, s.now)
	if err == nil && s.failed == nil && len(w.keys) > 0 {
		return s.commit(w)
	}
	if s.end(); s.failed != nil {
		return false, s.failed
	}
	return false, err
}
