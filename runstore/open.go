package runstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/dgraph-io/badger/v4"
)

// identity is the database's own record of whose it is.
type identity struct {
	ID     string `json:"id"`
	Format int    `json:"format"`
}

const (
	identityKey = metaKind + "/id"

	// DefaultMinFree is what Badger's work behind a commit may need: tables
	// written from the log, and tables merged.
	DefaultMinFree = 64 << 20
	openFree       = 2 * memTable // to open a store: what turns its logs into tables
)

// openOwned opens the database of a directory whose owner lock is held: a new
// one, one from an older format, or an ordinary one.
func openOwned(o Options) (*engine, *sentinel, error) {
	s, err := readSentinel(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	if s == nil {
		s, err = newSentinel(o)
	}
	if err == nil {
		err = checkFree(o.Dir, openFree)
	}
	if err != nil {
		return nil, nil, err
	}
	if !s.Initialized {
		return create(o, s)
	}
	rest, err := verifyDB(o.Dir, s)
	if err != nil {
		return nil, nil, err
	}
	if s.Format < CurrentFormat {
		if err := backup(o.Dir, s, o.Clock()); err != nil {
			return nil, nil, err
		}
	}
	s.Clean, s.Place = nil, fileID(filepath.Join(o.Dir, dbName))
	if err := s.save(o.Dir); err != nil {
		return nil, nil, err
	}
	e, err := openEngine(o, s)
	if err != nil {
		return nil, nil, err
	}
	if err := e.migrate(s); err != nil {
		return nil, nil, errors.Join(err, e.close())
	}
	go e.watch(rest)
	return e, s, nil
}

// newSentinel begins a new store. A database without sentinel is none.
func newSentinel(o Options) (*sentinel, error) {
	if err := checkForeign(o.Dir); err != nil {
		return nil, err
	}
	if left, err := os.ReadDir(filepath.Join(o.Dir, dbName)); err == nil && len(left) > 0 {
		return nil, errNoSentinel(o.Dir)
	}
	s := &sentinel{Format: CurrentFormat, ID: randomID(), Created: o.Clock().UTC()}
	return s, s.save(o.Dir)
}

// create makes the database of s, anew if a crash interrupted that before:
// until it is done no step can have been recorded.
func create(o Options, s *sentinel) (*engine, *sentinel, error) {
	db := filepath.Join(o.Dir, dbName)
	if tables, _ := filepath.Glob(filepath.Join(db, "*.sst")); len(tables) > 0 {
		return nil, nil, &DamagedError{Path: filepath.Join(o.Dir, sentinelName), What: "it does not know of the database beside it"}
	}
	if err := os.RemoveAll(db); err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(db, 0o700); err != nil {
		return nil, nil, err
	}
	e, err := openEngine(o, s)
	if err != nil {
		return nil, nil, err
	}
	s.Initialized, s.Place = true, fileID(db)
	err = e.identify(s)
	if err == nil {
		err = s.save(o.Dir)
	}
	if err != nil {
		return nil, nil, errors.Join(err, e.close())
	}
	return e, s, nil
}

// openEngine opens the database of s and checks that it is its own.
func openEngine(o Options, s *sentinel) (*engine, error) {
	dir := filepath.Join(o.Dir, dbName)
	if err := tidyDB(dir); err != nil {
		return nil, err
	}
	db, err := openBadger(dir, s.magic())
	if err != nil {
		return nil, openError(o.Dir, err)
	}
	if s.Initialized {
		err = checkIdentity(db, s)
	}
	var w *wal
	if err == nil && !o.NoSync {
		w, err = openWAL(dir)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	e, err := newEngine(db, w, o)
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// openError says what kind of thing kept Badger from opening, which passes on
// the text of its causes only.
func openError(dir string, err error) error {
	is := func(causes ...syscall.Errno) bool {
		return slices.ContainsFunc(causes, func(c syscall.Errno) bool {
			return errors.Is(err, c) || strings.Contains(err.Error(), c.Error())
		})
	}
	switch {
	case is(syscall.ENOSPC, syscall.EDQUOT):
		return &DiskFullError{Dir: dir}
	case is(syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EMFILE, syscall.ENOMEM):
		return &DirError{Dir: dir, Cause: err}
	case is(syscall.EWOULDBLOCK):
		return &LockedError{} // by something that is not this program
	}
	return &DamagedError{Path: filepath.Join(dir, dbName), What: err.Error()}
}

func checkIdentity(db *badger.DB, s *sentinel) error {
	txn := db.NewTransaction(false)
	defer txn.Discard()
	raw, err := snapshot{txn}.get(identityKey)
	if err != nil {
		return err
	}
	var id identity
	if raw == nil {
		return &DamagedError{Path: dbName, What: "the database is empty, and was not"}
	}
	if err := decode(identityKey, raw, &id); err != nil {
		return err
	}
	if id.ID != s.ID {
		return &DamagedError{Path: dbName, What: "the database belongs to another store"}
	}
	if id.Format > CurrentFormat {
		return &VersionError{Path: dbName, Have: id.Format, Know: CurrentFormat}
	}
	return nil
}

// identify writes the identity record.
func (e *engine) identify(s *sentinel) error {
	frame, err := sealJSON(identityKey, identity{ID: s.ID, Format: s.Format})
	if err == nil {
		err = e.put(oneRecord(identityKey, frame))
	}
	if err == nil {
		err = e.sync()
	}
	return err
}

// migrate brings an older store to the current format, one at a time.
func (e *engine) migrate(s *sentinel) error {
	hooks := e.opts
	e.opts.OnCommit, e.opts.AfterCommit, e.opts.commits = nil, nil, new(atomic.Int64) // not the caller's steps
	defer func() { e.opts = hooks }()
	for s.Format < CurrentFormat {
		step, ok := migrations()[s.Format]
		if !ok {
			return fmt.Errorf("store format %d cannot be migrated", s.Format)
		}
		if err := step(e); err != nil {
			return fmt.Errorf("migrating the store from format %d: %w", s.Format, err)
		}
		s.Format++
		if err := errors.Join(e.identify(s), s.save(e.opts.Dir)); err != nil {
			return err
		}
	}
	return nil
}

// closeOwned closes the database and leaves word that it was.
func closeOwned(e *engine, s *sentinel) error {
	if err := e.close(); err != nil {
		return err
	}
	sum, err := sumFile(filepath.Join(e.opts.Dir, dbName, manifestName))
	if err != nil {
		return err
	}
	s.Clean = &sum
	return s.save(e.opts.Dir)
}
