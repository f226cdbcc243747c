package runstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// instances are the lock files of the open stores on one data directory, one
// each. The system lets go of a lock when its process ends, however it ends.
type instances struct{ dir string }

const lockSuffix = ".lock"

func (i instances) path(name string) string { return filepath.Join(i.dir, name+lockSuffix) }

// register makes and locks a new instance's file. The file gets its name when
// it is locked already, so that nobody finds it free.
func (i instances) register() (string, *flock.Flock, error) {
	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return "", nil, err
	}
	name := randomID()
	l := flock.New(filepath.Join(i.dir, name+".new"))
	if _, err := l.TryLock(); err != nil {
		return "", nil, err
	}
	if err := os.Rename(l.Path(), i.path(name)); err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	return name, l, nil
}

// alive reports whether the instance's process is still there.
func (i instances) alive(name string) bool {
	if !validPart(name) {
		return false
	}
	if _, err := os.Stat(i.path(name)); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	l := flock.New(i.path(name), flock.SetFlag(os.O_RDONLY)) // shared: two who look do not see each other
	free, err := l.TryRLock()
	if err == nil && free {
		_ = l.Close() // only a look
		return false
	}
	return true // when in doubt nobody takes its work away
}

// clean removes the files of instances that are gone.
func (i instances) clean() {
	names, _ := filepath.Glob(i.path("*")) // the pattern is good
	for _, p := range names {
		if name := strings.TrimSuffix(filepath.Base(p), lockSuffix); !i.alive(name) {
			_ = os.Remove(p) // the next one tries again
		}
	}
}

// release ends the instance.
func (i instances) release(name string, l *flock.Flock) error {
	return errors.Join(os.Remove(i.path(name)), l.Close())
}
