package runstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// Remove deletes the store in dir with everything in it; a damaged one too. It
// answers [*LockedError] while another process works on it, and leaves alone
// what is not the store's.
func Remove(ctx context.Context, dir string) error {
	s, err := Open(ctx, Options{Dir: dir, Command: "orderdesk reset"})
	var (
		locked *LockedError
		unfit  *DirError
	)
	switch {
	case errors.As(err, &locked), errors.As(err, &unfit):
		return err
	case err == nil:
		pid, command, self := s.Owner()
		if err := s.Close(); err != nil {
			return err
		}
		if !self {
			return &LockedError{PID: pid, Command: command, Answers: true}
		}
	}
	for _, name := range []string{"store.json", "db", "instances", "owner.json", "owner.sock"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return &DirError{Dir: dir, Cause: err}
		}
	}
	return nil
}
