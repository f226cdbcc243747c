package runstore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

const (
	manifestName = badger.ManifestFilename
	verifyAll    = 64 << 20 // tables of up to this many bytes in all are read whole at every opening
)

// verifyDB looks at the database of s before Badger does: where Badger finds
// its MANIFEST missing or cut, or a table's index damaged, it goes on without
// a word and deletes what it no longer knows. It changes nothing.
//
// What it did not read to its end it returns; [engine.watch] does.
func verifyDB(dir string, s *sentinel) (rest []dbTable, err error) {
	db := filepath.Join(dir, dbName)
	path := filepath.Join(db, manifestName)
	sum, err := sumFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamagedError{Path: path, What: "it is missing"}
	}
	if err != nil {
		return nil, &DirError{Dir: dir, Cause: err}
	}
	if s.Clean != nil && *s.Clean != sum {
		return nil, &DamagedError{Path: path, What: "it is not as the store left it when it was closed"}
	}
	tables, err := manifestTables(path, s.magic())
	if err != nil {
		return nil, err
	}
	size, err := tablesSize(tables)
	if err != nil {
		return nil, err
	}
	all := size <= verifyAll || s.Place != 0 && s.Place != fileID(db)
	if !all {
		rest = tables
	}
	if err := verifyTables(tables, all); err != nil || s.Clean != nil {
		return rest, err
	}
	return rest, verifyLogs(db)
}

// tidyDB removes the empty files a crash leaves between making a log and
// giving it its size, over which Badger stumbles. Value logs hold no records;
// of the write-ahead logs only the newest can be such a one.
func tidyDB(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.vlog"))
	if err != nil {
		return err
	}
	logs, err := logFiles(dir)
	if err != nil {
		return err
	}
	if n := len(logs); n > 0 {
		paths = append(paths, walName(dir, logs[n-1]))
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() > 0 {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// dbTable is one of Badger's table files.
type dbTable struct {
	path  string
	plain bool // not compressed
}

// manifestTables reads the MANIFEST's list of tables, every frame of it.
func manifestTables(path string, magic uint16) ([]dbTable, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, end, err := badger.ReplayManifestFile(f, magic, badger.Options{})
	if err != nil {
		return nil, &DamagedError{Path: path, What: err.Error()}
	}
	if info, err := f.Stat(); err != nil || info.Size() != end {
		return nil, &DamagedError{Path: path, What: "its last entry is cut short"}
	}
	var tables []dbTable
	for _, id := range slices.Sorted(maps.Keys(m.Tables)) {
		tables = append(tables, dbTable{
			path:  filepath.Join(filepath.Dir(path), fmt.Sprintf("%06d.sst", id)),
			plain: m.Tables[id].Compression == options.None,
		})
	}
	return tables, nil
}

// tablesSize finds all tables there and adds them up.
func tablesSize(tables []dbTable) (n int64, err error) {
	for _, t := range tables {
		info, err := os.Stat(t.path)
		if err != nil {
			return 0, &DamagedError{Path: t.path, What: "it is missing"}
		}
		n += info.Size()
	}
	return n, nil
}

// verifyTables reads what Badger reads of a table to open it, or all of it.
func verifyTables(tables []dbTable, all bool) error {
	for _, t := range tables {
		if err := t.verify(all); err != nil {
			return err
		}
	}
	return nil
}

func sumFile(path string) (fileSum, error) {
	raw, err := os.ReadFile(path)
	return fileSum{Size: int64(len(raw)), Sum: crc32.Checksum(raw, castagnoli())}, err
}
