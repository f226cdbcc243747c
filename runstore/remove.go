package runstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Remove deletes the store in dir with everything in it, backups and a damaged
// one too, and leaves alone what is not the store's; beside, if not nil, goes
// with it, under the same lock. It answers [*LockedError] while a process has
// the store open, and [*DirError] for a directory that holds no store.
func Remove(dir string, beside func() error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &DirError{Dir: dir, Cause: err}
	}
	names := []string{dbName}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), backupPrefix) {
			names = append(names, e.Name())
		}
	}
	switch {
	case holdsStore(dir):
	case len(names) == 1 && !exists(filepath.Join(dir, dbName)):
		return nil
	default:
		return &DirError{Dir: dir, Cause: errors.New("it holds no store; nothing was deleted")}
	}
	lock := flock.New(filepath.Join(dir, ownerLock))
	ok, err := lock.TryLock()
	if err != nil {
		return &DirError{Dir: dir, Cause: err}
	}
	if !ok {
		n := readOwner(dir)
		return &LockedError{PID: n.PID, Command: n.Command, Answers: true}
	}
	defer lock.Close()
	return removeAll(dir, names, beside)
}

// removeAll deletes the store under its lock. The sentinel goes last: what is
// left by a crash is seen to be damaged, and removed by the next try.
func removeAll(dir string, names []string, beside func() error) error {
	if beside != nil {
		if err := beside(); err != nil {
			return &DirError{Dir: dir, Cause: err}
		}
	}
	for _, name := range append(names, instancesName, ownerName, socketName, sentinelName) {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return &DirError{Dir: dir, Cause: err}
		}
	}
	return nil
}

// holdsStore reports whether dir has a sentinel or, in a damaged store, a
// database.
func holdsStore(dir string) bool {
	for _, name := range []string{sentinelName, filepath.Join(dbName, manifestName), filepath.Join(dbName, "KEYREGISTRY")} {
		if exists(filepath.Join(dir, name)) {
			return true
		}
	}
	return false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
