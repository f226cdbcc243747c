package sampledata

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// line is one line of the register's file.
type line struct {
	Request       string    `json:"request"`
	Key           string    `json:"key"`
	SalesOrder    string    `json:"sales_order"`
	Justification string    `json:"justification"`
	ApprovedBy    string    `json:"approved_by"`
	Role          string    `json:"role"`
	Created       time.Time `json:"created"`
}

func (l line) request() Request {
	return Request{SalesOrder: l.SalesOrder, Justification: l.Justification, ApprovedBy: l.ApprovedBy, Role: l.Role}
}

// How long to wait between two looks at a lock that another process holds. It
// holds it for one line.
const (
	firstLook = 200 * time.Microsecond
	lastLook  = 5 * time.Millisecond
)

// locked runs fn while no other process reads new lines or appends, with the
// index up to date. r.mu is held.
func (r *Register) locked(ctx context.Context, fn func() error) error {
	unlock, err := r.acquire(ctx)
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	defer unlock()
	if r.broken != nil {
		return r.broken
	}
	if err := r.catchUp(); err != nil {
		return err
	}
	return fn()
}

func (r *Register) acquire(ctx context.Context) (unlock func(), err error) {
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		unlock, err := tryLock(r.lock)
		if err != nil || unlock != nil {
			return unlock, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// news reports whether the file has anything that the index has not.
func (r *Register) news() (bool, error) {
	info, err := r.file.Stat()
	if err != nil {
		return false, fmt.Errorf("register: %w", err)
	}
	return info.Size() != r.read, nil
}

// catchUp indexes the lines that came since the last time and cuts off one
// that was never finished: under the lock, nobody is about to finish it. The
// lines of others get onto the disk before anything is said about them, since
// their writer may have died between writing and syncing.
func (r *Register) catchUp() error {
	news, err := r.news()
	if err != nil || !news {
		return err
	}
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	if info.Size() < r.read {
		return &DamagedError{r.file.Name(), len(r.index) + 1, "it has become shorter"}
	}
	if err := r.lines(r.read, info.Size(), len(r.index)+1, r.enter); err != nil {
		return err
	}
	if r.read < info.Size() {
		if err := r.file.Truncate(r.read); err != nil {
			return fmt.Errorf("register: %w", err)
		}
	}
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	return nil
}

// enter adds one more line of the file, which ends at end, to the index.
func (r *Register) enter(l line, end int64) error {
	e := entry{number: len(r.index) + 1}
	if want := e.receipt().Reference; l.Request != want {
		return fmt.Errorf("request %s stands where %s belongs", short(l.Request), want)
	}
	if _, ok := r.index[l.Key]; ok || l.Key == "" {
		return fmt.Errorf("key %s is empty or was there before", short(l.Key))
	}
	var err error
	if e.sum, err = sumOf(l.request()); err != nil {
		return err
	}
	r.index[l.Key], r.read = e, end
	return nil
}

// lines hands the file's lines between two offsets to fn, with the offset
// each ends at; first is the number of the first. A rest without line end, or
// a last line with zero bytes in it, is what a crash leaves of an append, and
// is left out.
func (r *Register) lines(from, to int64, first int, fn func(l line, end int64) error) error {
	in := bufio.NewReader(io.NewSectionReader(r.file, from, to-from))
	for number := first; ; number++ {
		data, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("register: %w", err)
		}
		from += int64(len(data))
		if from == to && bytes.IndexByte(data, 0) >= 0 {
			return nil
		}
		var l line
		if err = json.Unmarshal(data, &l); err == nil {
			err = fn(l, from)
		}
		if err != nil {
			return &DamagedError{r.file.Name(), number, err.Error()}
		}
	}
}

// append writes a line and returns when it is on the disk. A write that fails
// is undone; if that fails too, the register is of no more use to this
// process.
func (r *Register) append(l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	data = append(data, '\n')
	_, err = r.file.WriteAt(data, r.read)
	if err == nil {
		err = r.file.Sync()
	}
	if err == nil {
		r.read += int64(len(data))
		return nil
	}
	undone := errors.Join(r.file.Truncate(r.read), r.file.Sync())
	if undone != nil {
		r.broken = fmt.Errorf("register: out of use after a failed write: %w", err)
	}
	return fmt.Errorf("register: %w", err)
}
