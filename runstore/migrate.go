package runstore

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// migrations[n] brings a store of format n to format n+1. Each can be run
// again after a crash in the middle of it.
func migrations() map[int]func(*engine) error {
	return map[int]func(*engine) error{1: indexRuns}
}

// indexRuns is for format 1, which had no records runs/<seq>: they name the
// runs in the sequence they were started.
func indexRuns(e *engine) error {
	const page = 1000
	after := ""
	for {
		n := 0
		err := e.do(context.Background(), func(w *overlay, now time.Time) error {
			tx := &Tx{state: w, writes: w, now: now}
			return tx.Scan(NewKey("run"), after, func(id string, get func(any) error) (bool, error) {
				var run struct {
					Seq int `json:"seq"`
				}
				if err := get(&run); err != nil {
					return false, err
				}
				n, after = n+1, id
				return n < page, tx.Put(NewKey("runs", Seq(run.Seq)), id)
			})
		})
		if err != nil || n < page {
			return err
		}
	}
}

// backup copies database and sentinel of an older store beside it, as they are.
func backup(dir string, s *sentinel, now time.Time) error {
	name := backupPrefix + "v" + strconv.Itoa(s.Format) + "-" + now.UTC().Format("20060102T150405.000")
	to := filepath.Join(dir, name)
	size, err := dirSize(filepath.Join(dir, dbName))
	if err == nil {
		err = checkFree(dir, size)
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(to, sentinelName), filepath.Join(dir, sentinelName)); err != nil {
		return err
	}
	if err := copyDir(filepath.Join(to, dbName), filepath.Join(dir, dbName)); err != nil {
		return err
	}
	return errors.Join(syncDir(to), syncDir(dir))
}

// copyDir copies the files of a flat directory durably.
func copyDir(to, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyFile(filepath.Join(to, e.Name()), filepath.Join(from, e.Name())); err != nil {
			return err
		}
	}
	return syncDir(to)
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

// dirSize is the apparent size of the files of a flat directory in bytes.
func dirSize(dir string) (uint64, error) {
	entries, err := os.ReadDir(dir)
	var n uint64
	for _, e := range entries {
		info, ierr := e.Info()
		if ierr != nil {
			return 0, ierr
		}
		n += uint64(info.Size())
	}
	return n, err
}
