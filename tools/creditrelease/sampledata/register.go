package sampledata

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"orderdesk/tools/creditrelease"
	"orderdesk/tools/upstream"
)

const maxKey = 256 // bytes

// Request is what a request is created from.
type Request = creditrelease.Request

// Receipt says that a request was created.
type Receipt struct {
	Reference string // "REQ-0001", counted in the sequence of creation
}

// Entry is one created request.
type Entry struct {
	Key     string
	Receipt Receipt
	Request Request
	Created time.Time
}

// ConflictError says that a key was used before, for another request.
type ConflictError struct {
	Key       string
	Reference string // of the request that was created
}

// Error names the request that exists.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("conflict: %s was created under the key %s with other contents", e.Reference, short(e.Key))
}

// DamagedError says that a register's file holds what Create never wrote.
type DamagedError struct {
	Path string
	Line int
	What string
}

// Error names file and line.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s:%d: the register is damaged (%s); restore it from a backup", e.Path, e.Line, e.What)
}

// Register holds created requests, one per key. It is safe for concurrent use,
// by several processes too; the package comment says how it is kept.
type Register struct {
	Clock func() time.Time // nil: time.Now; set before use
	// LoseAnswer is asked for each key when its request has just been created;
	// if it says true, Create returns a timeout. For tests; nil: never.
	LoseAnswer func(key string) bool

	mu     sync.Mutex
	file   *os.File
	lock   string           // path of the lock file
	index  map[string]entry // by key
	read   int64            // end of the last line in index
	broken error            // after a failed write that could not be undone
}

type entry struct {
	number int
	sum    [sha256.Size]byte // of the request
}

// OpenRegister opens the register in dir, and creates both if need be.
func OpenRegister(dir string) (*Register, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "requests.jsonl"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	r := &Register{file: file, lock: filepath.Join(dir, "requests.lock"), index: map[string]entry{}}
	err = r.locked(context.Background(), func() error { return syncDir(dir) })
	if err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// Close lets go of the file.
func (r *Register) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Close()
}

// Lookup returns the receipt that was given for key, by any process.
func (r *Register) Lookup(ctx context.Context, key string) (Receipt, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if news, err := r.news(); err != nil {
		return Receipt{}, false, err
	} else if news {
		if err := r.locked(ctx, func() error { return nil }); err != nil {
			return Receipt{}, false, err
		}
	}
	e, ok := r.index[key]
	if !ok {
		return Receipt{}, false, nil
	}
	return e.receipt(), true, nil
}

// Create creates a request under key, or returns the receipt of the one that
// exists: asking again with the same request changes nothing. The same key
// with another request is a [*ConflictError]. After any other error the request
// may or may not have been created; Lookup knows.
func (r *Register) Create(ctx context.Context, key string, q Request) (Receipt, error) {
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) {
		return Receipt{}, fmt.Errorf("register: key %s must be 1 to %d bytes of UTF-8", short(key), maxKey)
	}
	sum, err := sumOf(q)
	if err != nil {
		return Receipt{}, err
	}
	receipt, created, err := r.create(ctx, key, q, sum)
	if err == nil && created && r.LoseAnswer != nil && r.LoseAnswer(key) {
		return Receipt{}, &upstream.Error{Class: upstream.Transient, Service: "request register",
			Text: "the request register did not answer in time", Err: context.DeadlineExceeded}
	}
	return receipt, err
}

func (r *Register) create(ctx context.Context, key string, q Request, sum [sha256.Size]byte) (receipt Receipt, created bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.locked(ctx, func() error {
		if e, ok := r.index[key]; ok {
			receipt = e.receipt()
			if e.sum != sum {
				return &ConflictError{Key: key, Reference: receipt.Reference}
			}
			return nil
		}
		e := entry{number: len(r.index) + 1, sum: sum}
		if err := r.append(line{Request: e.receipt().Reference, Key: key, SalesOrder: q.SalesOrder,
			Justification: q.Justification, ApprovedBy: q.ApprovedBy, Role: q.Role, Created: r.now()}); err != nil {
			return err
		}
		r.index[key] = e
		receipt, created = e.receipt(), true
		return nil
	})
	if err != nil {
		receipt = Receipt{}
	}
	return receipt, created, err
}

// All returns the created requests in their sequence; none if the file cannot
// be read. For tests and small registers: it reads the whole file.
func (r *Register) All() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Entry
	err := r.locked(context.Background(), func() error {
		return r.lines(0, r.read, 1, func(l line, _ int64) error {
			all = append(all, Entry{l.Key, Receipt{l.Request}, l.request(), l.Created})
			return nil
		})
	})
	if err != nil {
		return nil
	}
	return all
}

func (r *Register) now() time.Time {
	if r.Clock == nil {
		return time.Now().UTC()
	}
	return r.Clock().UTC()
}

func (e entry) receipt() Receipt { return Receipt{fmt.Sprintf("REQ-%04d", e.number)} }

// sumOf tells requests apart. A text that is no UTF-8 would not come back from
// the file as it was.
func sumOf(q Request) (sum [sha256.Size]byte, err error) {
	for _, s := range []string{q.SalesOrder, q.Justification, q.ApprovedBy, q.Role} {
		if !utf8.ValidString(s) {
			return sum, errors.New("register: the request's texts must be UTF-8")
		}
	}
	data, err := json.Marshal(q)
	return sha256.Sum256(data), err
}
