package runstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Update runs fn as one step: all its writes become durable together, or, if
// it returns an error or panics, none. Steps run one after the other, each on
// the state the steps before it left, and share commits. fn may run more than
// once, must do nothing but use its transaction, and must not call Update.
//
// A nil error means durable. ctx ends only the waiting before fn has run: a
// step that has is carried to its end, and the error says what became of it.
// Errors: those of fn as they are, [*PanicError], [*DiskFullError],
// [*LockedError] for an owner that does not answer, [ErrClosed], [ErrFailed].
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error {
	run := func(w *overlay, now time.Time) error {
		return safely(fn, &Tx{state: w, writes: w, now: now})
	}
	return s.through(ctx, func(way backend) error {
		err := way.do(ctx, run)
		var u *unsettledError
		if errors.As(err, &u) {
			if done, serr := s.settle(u); done || serr != nil {
				return serr
			}
		}
		return err
	})
}

// through calls fn with a way to the database, again with the next one when
// the owner has gone, and a few times when it hung up on what fn did.
func (s *Store) through(ctx context.Context, fn func(backend) error) error {
	const most = 5
	for hungUp := 0; ; {
		way, err := s.backend(ctx)
		if err != nil {
			return err
		}
		if err = fn(way); !errors.Is(err, errLost) {
			return err
		}
		if r, ok := way.(*remote); ok && !r.lost() {
			r.probe()
		}
		if way.lost() {
			continue
		}
		if hungUp++; hungUp == most {
			return fmt.Errorf("nothing recorded: the store's owner hung up %d times, the step takes too long", most)
		}
	}
}

// settle finds out what became of a commit whose answer was lost.
func (s *Store) settle(u *unsettledError) (done bool, err error) {
	ctx := context.Background() // the caller must hear the truth
	err = s.through(ctx, func(way backend) error {
		return way.do(ctx, func(w *overlay, _ time.Time) (err error) {
			done, err = settle(w, u.lane, u.n)
			return err
		})
	})
	if err != nil {
		return false, unknown(err)
	}
	return done, nil
}

// View runs fn on one consistent and durable state of the store; a write in it
// is [ErrReadOnlyTx]. fn may run more than once.
func (s *Store) View(ctx context.Context, fn func(*Tx) error) error {
	return s.read(ctx, func(r reader, now time.Time) error {
		return safely(fn, &Tx{state: r, now: now})
	})
}

func (s *Store) read(ctx context.Context, fn func(reader, time.Time) error) error {
	return s.through(ctx, func(way backend) error { return way.read(ctx, fn) })
}

// backend is the way to the database. When its owner has gone another way is
// found: this process becomes the owner, or works through the one that did.
func (s *Store) backend(ctx context.Context) (backend, error) {
	if way, err := s.current(); way != nil || err != nil {
		return way, err
	}
	select {
	case s.joining <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("nothing recorded: %w", context.Cause(ctx))
	}
	defer func() { <-s.joining }()
	if way, err := s.current(); way != nil || err != nil {
		return way, err
	}
	way, err := s.join(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.way = way
	s.mu.Unlock()
	return way, nil
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// current is the way that is there; nil if there is none.
func (s *Store) current() (backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.way == nil || s.way.lost() {
		return nil, nil
	}
	return s.way, nil
}

// join tries to own the database or to reach its owner until one succeeds or
// the owner was given time enough.
func (s *Store) join(ctx context.Context) (backend, error) {
	began := time.Now()
	for {
		if s.isClosed() {
			return nil, ErrClosed
		}
		h, err := tryOwn(s.opts)
		var held *LockedError // by what has no owner's lock: a process that is ending
		if err != nil && !errors.As(err, &held) {
			return nil, err
		}
		if h != nil {
			s.instances().clean()
			return h, nil
		}
		note := readOwner(s.opts.Dir)
		patience := s.opts.limits.start
		if note.Socket != "" || held != nil {
			patience = s.opts.limits.join
			r, err := dial(note, s.opts.limits, s.laneName, s.rejoin)
			if err == nil {
				return r, nil
			}
			var other *otherError
			if errors.As(err, &other) {
				return nil, other
			}
		}
		if time.Since(began) > patience {
			return nil, &LockedError{PID: note.PID, Command: note.Command}
		}
		select {
		case <-time.After(s.opts.limits.retry):
		case <-ctx.Done():
			return nil, fmt.Errorf("nothing recorded: %w", context.Cause(ctx))
		}
	}
}

func (s *Store) laneName() string { return laneName(s.instance, s.lanes.Add(1)) }

// rejoin finds another way at once when the owner has ended, so that nobody
// waits for it later.
func (s *Store) rejoin() {
	_, _ = s.backend(context.Background()) // whoever needs it gets the error
}
