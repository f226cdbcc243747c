package runstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// Options say where a store is and how it behaves. Dir, or InMemory, is
// required; every other zero value is the sensible default.
type Options struct {
	Dir      string           // data directory; created with rights for its owner only
	InMemory bool             // for tests: nothing on disk, no other processes
	Command  string           // what other processes are told holds the store
	Clock    func() time.Time // nil: time.Now
	NoSync   bool             // for tests and benchmarks: commits are not synced to disk
	MinFree  uint64           // bytes that must stay free on the disk; 0: DefaultMinFree

	// OnCommit is for tests: called before the n-th commit of this process,
	// from 1. An error loses that commit; the store takes no more steps.
	OnCommit func(n int) error
	// AfterCommit is for tests: called after the n-th commit is durable and
	// before the steps in it hear of it, who get its error; the store takes no
	// more steps.
	AfterCommit func(n int) error

	limits  limits
	commits *atomic.Int64 // where they are counted
}

// limits are how long one process waits for another.
type limits struct {
	retry  time.Duration // between two attempts to own or reach the store
	join   time.Duration // for an owner that does not answer
	start  time.Duration // for an owner that is still opening the store
	hello  time.Duration // for a new connection
	call   time.Duration // for a read
	commit time.Duration // for a commit
	idle   time.Duration // a snapshot without a request is taken away
	alone  time.Duration // a turn without a request is taken away
}

func defaultLimits() limits {
	return limits{
		retry: 10 * time.Millisecond, join: 5 * time.Second, start: time.Minute, hello: 2 * time.Second,
		call: 10 * time.Second, commit: 30 * time.Second, idle: 30 * time.Second, alone: time.Second,
	}
}

// backend is the way this process reaches the database: it owns it, or works
// through the process that does.
type backend interface {
	// do runs one step and returns once it is durable.
	do(ctx context.Context, run func(*overlay, time.Time) error) error
	// read runs fn on one durable state.
	read(ctx context.Context, fn func(reader, time.Time) error) error
	owner() (pid int, command string, self bool)
	lost() bool // the owner is gone
	close() error
}

// Store is an open store. Its methods may be called from many goroutines.
type Store struct {
	opts     Options
	id       string
	instance string
	lock     *flock.Flock // of the instance; nil in memory
	lanes    atomic.Int64
	joining  chan struct{} // held while the way to the database is looked for

	mu     sync.Mutex
	way    backend
	closed bool
}

// Open opens the store in o.Dir, or makes a new one there. If another process
// owns it, this one works through that one, and takes over when it ends.
//
// Errors: [*DirError] for a directory that cannot be used, [*DamagedError] and
// [*VersionError], which leave all files as they were, [*LockedError] for an
// owner that does not answer within seconds, [*DiskFullError].
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	if o.limits == (limits{}) {
		o.limits = defaultLimits()
	}
	o.commits = new(atomic.Int64)
	s := &Store{opts: o, joining: make(chan struct{}, 1)}
	if o.InMemory {
		return s, s.openInMemory()
	}
	if err := s.openDir(); err != nil {
		return nil, err
	}
	if _, err := s.backend(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	sen, err := readSentinel(s.opts.Dir)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.id = sen.ID
	return s, nil
}

func (s *Store) openInMemory() error {
	s.opts.Dir = ""
	db, err := openBadger("", 0)
	if err != nil {
		return err
	}
	e, err := newEngine(db, nil, s.opts)
	if err != nil {
		return err
	}
	s.id, s.instance, s.way = randomID(), randomID(), e
	return nil
}

// openDir makes the data directory and registers this instance in it. A
// directory that is not ours is left alone.
func (s *Store) openDir() error {
	if s.opts.Dir == "" {
		return &DirError{Dir: s.opts.Dir, Cause: errors.New("its path is empty")}
	}
	dir, err := filepath.Abs(s.opts.Dir)
	if err != nil {
		return &DirError{Dir: s.opts.Dir, Cause: err}
	}
	s.opts.Dir = dir
	sen, err := readSentinel(dir)
	if err == nil && sen == nil {
		err = checkForeign(dir)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &DirError{Dir: dir, Cause: err}
	}
	if s.instance, s.lock, err = s.instances().register(); err != nil {
		return &DirError{Dir: dir, Cause: err}
	}
	return nil
}

func (s *Store) instances() instances {
	return instances{dir: filepath.Join(s.opts.Dir, instancesName)}
}

// Close ends the store: it takes no more steps, brings those under way to
// their end, hangs up on other processes and closes the database last. On a
// full disk ([*DiskFullError]) the database is left as it is, with nothing
// lost, for the next process. Close may be called more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		return nil
	}
	s.joining <- struct{}{} // nobody is half way in
	defer func() { <-s.joining }()
	var err error
	if s.way != nil {
		err = s.way.close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.instances().release(s.instance, s.lock))
	}
	return err
}

// ID is the store's own id, the same for its whole life.
func (s *Store) ID() string { return s.id }

// Dir is the data directory, "" for a store in memory.
func (s *Store) Dir() string { return s.opts.Dir }

// Instance names this open store in leases; no two are ever the same.
func (s *Store) Instance() string { return s.instance }

// Alive reports whether the process behind an instance is still there, having
// the store open.
func (s *Store) Alive(instance string) bool {
	return instance == s.instance || !s.opts.InMemory && s.instances().alive(instance)
}

// Owner says which process owns the database, as far as this one knows, and
// whether that is this one.
func (s *Store) Owner() (pid int, command string, self bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.way == nil {
		return 0, "", false
	}
	return s.way.owner()
}

// Commits counts the synced commits this process has made.
func (s *Store) Commits() int64 { return s.opts.commits.Load() }

func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
