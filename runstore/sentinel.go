package runstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// CurrentFormat is the store format this program writes. Older ones are
// backed up and migrated when the store is opened, newer ones are refused.
const CurrentFormat = 2

// sentinel is Dir/store.json. It lies beside Badger's directory, so that an
// emptied database is told from one that never was.
type sentinel struct {
	Format      int       `json:"format"`
	ID          string    `json:"id"`
	Created     time.Time `json:"created"`
	Initialized bool      `json:"initialized"`     // the database was there once
	Place       uint64    `json:"place,omitempty"` // of db: tells a copy
	Clean       *fileSum  `json:"clean,omitempty"` // the MANIFEST as the last owner left it; nil: not closed
}

// fileSum is the size and CRC-32C of a file.
type fileSum struct {
	Size int64  `json:"size"`
	Sum  uint32 `json:"sum"`
}

const (
	sentinelName = "store.json"
	dbName       = "db"
	backupPrefix = "backup-"
)

// readSentinel returns nil if dir has none.
func readSentinel(dir string) (*sentinel, error) {
	path := filepath.Join(dir, sentinelName)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &DirError{Dir: dir, Cause: err}
	}
	var s sentinel
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, &DamagedError{Path: path, What: "it does not decode"}
	}
	if s.Format > CurrentFormat {
		return nil, &VersionError{Path: path, Have: s.Format, Know: CurrentFormat}
	}
	if _, err := strconv.ParseUint(s.ID, 16, 64); err != nil || len(s.ID) != 16 || s.Format < 1 {
		return nil, &DamagedError{Path: path, What: "it has no valid store id or format"}
	}
	return &s, nil
}

func (s *sentinel) save(dir string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, sentinelName), append(raw, '\n'))
}

// magic goes into every MANIFEST and ties it to the store before Badger is let
// near it.
func (s *sentinel) magic() uint16 {
	n, _ := strconv.ParseUint(s.ID[:4], 16, 16) // checked by readSentinel
	return uint16(n)
}

// checkForeign refuses a directory without sentinel that holds what is not
// ours. Beside a database it is the sentinel that is missing. Names with a leading dot and lost+found are nobody's.
func checkForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &DirError{Dir: dir, Cause: err}
	}
	for _, e := range entries {
		if n := e.Name(); !ours(n) {
			if _, err := os.Stat(filepath.Join(dir, dbName, badger.ManifestFilename)); err == nil {
				return errNoSentinel(dir)
			}
			return &DirError{Dir: dir, Cause: fmt.Errorf("it is not empty and not a store: it holds %q", n)}
		}
	}
	return nil
}

// Vacant reports whether dir is not there, or holds neither a store nor
// anything foreign: at most what a reset leaves. With anything else in it,
// [Open] says why it cannot be used.
func Vacant(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		switch name := e.Name(); name {
		case sentinelName:
			return true
		case dbName:
			inside, err := os.ReadDir(filepath.Join(dir, name))
			return err != nil || len(inside) > 0
		default:
			return !ours(name)
		}
	})
}

func errNoSentinel(dir string) error {
	return &DamagedError{Path: filepath.Join(dir, sentinelName), What: "it is missing beside a database"}
}

func ours(name string) bool {
	switch strings.TrimSuffix(name, ".tmp") {
	case sentinelName, dbName, "lost+found", ownerName, ownerLock, socketName, instancesName:
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, backupPrefix)
}

// writeFile replaces path atomically and durably.
func writeFile(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
