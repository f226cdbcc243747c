package runstore

import (
	"sync"
	"time"
)

// metaKind is the kind of the store's own records.
const metaKind = "store"

// clockKey holds the highest time given out before the last commit, in
// nanoseconds since 1970.
const clockKey = metaKind + "/clock"

// clock gives out times that never go back, over restarts too.
type clock struct {
	source func() time.Time
	mu     sync.Mutex
	seen   time.Time
	last   time.Time // of source, with its monotonic part
}

func (c *clock) load(source func() time.Time, r reader) error {
	c.source = source
	var ns int64
	raw, err := r.get(clockKey)
	if err == nil && raw != nil {
		err = decode(clockKey, raw, &ns)
	}
	c.seen = time.Unix(0, ns).UTC()
	return err
}

func (c *clock) now() time.Time {
	t := c.source()
	wall := t.UTC().Round(0) // the monotonic part means nothing to other processes
	c.mu.Lock()
	defer c.mu.Unlock()
	switch since := t.Sub(c.last); {
	case wall.After(c.seen):
		c.seen = wall
	case !c.last.IsZero() && since > 0: // the machine's clock was set back: time goes on
		c.seen = c.seen.Add(since)
	}
	c.last = t
	return c.seen
}

// save adds the highest time to the writes of a batch.
func (c *clock) save(o *overlay) error {
	c.mu.Lock()
	ns := c.seen.UnixNano()
	c.mu.Unlock()
	frame, err := sealJSON(clockKey, ns)
	o.put(clockKey, frame)
	return err
}

// users counts who is inside, so that the database is closed after the last.
type users struct {
	mu    sync.Mutex
	n     int
	ended bool
	empty chan struct{} // made by end, closed when the last one leaves
}

// enter returns [ErrClosed] after end.
func (u *users) enter() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return ErrClosed
	}
	u.n++
	return nil
}

func (u *users) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n--
	if u.ended && u.n == 0 {
		close(u.empty)
	}
}

// end lets nobody in any more and waits until all have left. It reports false
// if it was called before.
func (u *users) end() bool {
	u.mu.Lock()
	first := !u.ended
	if first {
		u.ended, u.empty = true, make(chan struct{})
		if u.n == 0 {
			close(u.empty)
		}
	}
	u.mu.Unlock()
	<-u.empty
	return first
}
