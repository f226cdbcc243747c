package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Problem is one thing [Store.Check] found wrong.
type Problem struct {
	Key  string // record key, or path of a file
	What string // one phrase
}

// CheckReport counts what [Store.Check] looked at.
type CheckReport struct {
	Tables   int   // Badger's table files, each read whole
	Records  int   // read and checked, the store's own among them
	Bytes    int64 // of these records
	Problems int
}

// Check reads the whole store, tables and then records, verifies every frame
// and checksum and calls fn with each problem; it does not stop at one. It
// works in every process that has the store open. A damaged table can make
// Badger end the process that owns the store, so a command that checks a store
// nobody has open does well to open it in a child process.
func (s *Store) Check(ctx context.Context, fn func(Problem)) (CheckReport, error) {
	var c checker
	if !s.opts.InMemory {
		c.tables(filepath.Join(s.opts.Dir, dbName))
	}
	files := c
	err := s.read(ctx, func(r reader, _ time.Time) error {
		c = files
		c.problems = slices.Clone(files.problems)
		return c.records(ctx, r)
	})
	for _, p := range c.problems {
		fn(p)
	}
	c.report.Problems = len(c.problems)
	return c.report, err
}

type checker struct {
	report   CheckReport
	problems []Problem
}

func (c *checker) found(key, what string) { c.problems = append(c.problems, Problem{key, what}) }

func (c *checker) damaged(key string, err error) {
	var d *DamagedError
	if errors.As(err, &d) {
		c.found(d.Path, d.What)
		return
	}
	c.found(key, err.Error())
}

// tables reads the table files the MANIFEST lists.
func (c *checker) tables(db string) {
	tables, err := liveTables(db)
	if err != nil {
		c.damaged(manifestName, err)
		return
	}
	for _, t := range tables {
		c.report.Tables++
		if err := t.verifyLive(); err != nil {
			c.damaged(t.path, err)
		}
	}
}

// verifyLive reads a table the owner may have merged away meanwhile.
func (d dbTable) verifyLive() error {
	err := d.verify(true)
	if err == nil {
		return nil
	}
	if now, lerr := liveTables(filepath.Dir(d.path)); lerr == nil && !slices.Contains(now, d) {
		return nil
	}
	return err
}

// liveTables reads the MANIFEST of whatever store it belongs to, whose owner
// may just be adding to it.
func liveTables(db string) (tables []dbTable, err error) {
	s, err := readSentinel(filepath.Dir(db))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, &DamagedError{Path: sentinelName, What: "it is missing"}
	}
	for range 3 {
		if tables, err = manifestTables(filepath.Join(db, manifestName), s.magic()); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return tables, err
}

// watch reads the tables that opening did not read to their end. Badger would
// not say that it cannot find a record for damage, so the store takes no more
// steps when some is found.
func (e *engine) watch(rest []dbTable) {
	for _, t := range rest {
		if e.users.enter() != nil {
			return // closing
		}
		err := t.verifyLive()
		if err != nil {
			e.turn <- struct{}{}
			e.failed = errors.Join(ErrFailed, err)
			<-e.turn
		}
		e.users.leave()
	}
}

// records walks all keys.
func (c *checker) records(ctx context.Context, r reader) error {
	err := r.scan("", "", func(k string, value func() ([]byte, error)) (bool, error) {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		raw, err := value()
		if err != nil {
			return false, err
		}
		c.report.Records++
		c.report.Bytes += int64(len(k) + len(raw))
		payload, err := unseal(k, raw)
		switch {
		case err != nil:
			c.damaged(k, err)
		case !strings.HasPrefix(k, redoPrefix) && !json.Valid(payload):
			c.found(k, "record is not JSON")
		}
		return true, nil
	})
	var d *DamagedError
	if errors.As(err, &d) {
		c.found(d.Path, d.What+"; the records after it were not read")
		err = nil
	}
	return err
}
