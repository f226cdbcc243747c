package runstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Remove deletes the store in dir with everything in it, backups and a damaged
// one too, and leaves alone what is not the store's. It answers [*LockedError]
// while a process has the store open.
func Remove(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &DirError{Dir: dir, Cause: err}
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
	names := []string{dbName}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), backupPrefix) {
			names = append(names, e.Name())
		}
	}
	// The sentinel goes last: what is left by a crash is seen to be damaged,
	// and removed by the next try.
	for _, name := range append(names, instancesName, ownerName, socketName, sentinelName) {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return &DirError{Dir: dir, Cause: err}
		}
	}
	return nil
}
