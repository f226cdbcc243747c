package runstore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

const (
	manifestName = badger.ManifestFilename
	verifyAll    = 64 << 20 // tables of up to this many bytes in all are read whole at every opening
)

// verifyDB looks at the database of s before Badger does: where Badger finds
// its MANIFEST missing or cut, or a table's index damaged, it goes on without
// a word and deletes what it no longer knows. It changes nothing.
func verifyDB(dir string, s *sentinel) error {
	db := filepath.Join(dir, dbName)
	path := filepath.Join(db, manifestName)
	sum, err := sumFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{Path: path, What: "it is missing"}
	}
	if err != nil {
		return &DirError{Dir: dir, Cause: err}
	}
	if s.Clean != nil && *s.Clean != sum {
		return &DamagedError{Path: path, What: "it is not as the store left it when it was closed"}
	}
	tables, err := manifestTables(path, s.magic())
	if err != nil {
		return err
	}
	copied := s.Place != 0 && s.Place != fileID(db)
	if err := verifyTables(db, tables, copied); err != nil {
		return err
	}
	if s.Clean != nil {
		return nil
	}
	return verifyLogs(db)
}

// manifestTables reads the MANIFEST's list of tables, every frame of it.
func manifestTables(path string, magic uint16) ([]uint64, error) {
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
	var ids []uint64
	for id := range m.Tables {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// verifyTables reads every table's index, and all of it if the tables are few
// or whole is set.
func verifyTables(db string, ids []uint64, whole bool) error {
	var size int64
	for _, id := range ids {
		info, err := os.Stat(tablePath(db, id))
		if err != nil {
			return &DamagedError{Path: tablePath(db, id), What: "it is missing"}
		}
		size += info.Size()
	}
	for _, id := range ids {
		if err := verifyTable(tablePath(db, id), whole || size <= verifyAll); err != nil {
			return err
		}
	}
	return nil
}

func tablePath(db string, id uint64) string { return filepath.Join(db, fmt.Sprintf("%06d.sst", id)) }

func sumFile(path string) (fileSum, error) {
	raw, err := os.ReadFile(path)
	return fileSum{Size: int64(len(raw)), Sum: crc32.Checksum(raw, castagnoli())}, err
}
