package runstore

import (
	"errors"
	"fmt"
)

// Answers a caller asks for with [errors.Is].
var (
	// ErrNotFound says that there is no record under the key.
	ErrNotFound = errors.New("no such record")
	// ErrReadOnlyTx says that a [Store.View] tried to write.
	ErrReadOnlyTx = errors.New("write in a read-only transaction")
	// ErrTooLarge says that a record is over 64 KiB, or a step over its limit.
	ErrTooLarge = errors.New("record or step too large")
	// ErrClosed says that the store was closed; nothing was recorded.
	ErrClosed = errors.New("store is closed")
	// ErrFailed says that the store met an I/O error in a commit and does not
	// guess on: it must be closed and opened again.
	ErrFailed = errors.New("store failed earlier and takes no more steps")
)

// DamagedError says that stored bytes are not what was written. Nothing was
// changed; the way out is a backup.
type DamagedError struct {
	Path string // file, directory or record key
	What string // one phrase: what is wrong with it
}

// Error names the path and what is wrong.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("store damaged: %s: %s; restore it from a backup", e.Path, e.What)
}

// VersionError says that the store, or a record in it, was written by a newer
// program. Nothing was changed.
type VersionError struct {
	Path       string // file, directory or record key
	Have, Know int    // formats
}

// Error names the path and both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has format %d; this program knows up to %d; nothing was changed", e.Path, e.Have, e.Know)
}

// LockedError says that another process holds the store and does not answer,
// or is needed to be gone.
type LockedError struct {
	PID     int    // 0 if not known
	Command string // what it said it is, "" if not known
	Answers bool   // it is well, but the store is wanted alone
}

// Error names the holder.
func (e *LockedError) Error() string {
	switch {
	case e.Answers:
		return fmt.Sprintf("the store is in use by process %d (%s)", e.PID, e.Command)
	case e.PID == 0:
		return "the store is held by another process that does not answer"
	case e.Command == "":
		return fmt.Sprintf("the store is held by process %d, which does not answer", e.PID)
	}
	return fmt.Sprintf("the store is held by process %d (%s), which does not answer", e.PID, e.Command)
}

// DiskFullError says that a step was refused for want of disk space. Nothing
// was recorded; the store works on once there is space.
type DiskFullError struct {
	Dir  string
	Free uint64 // bytes
}

// Error names the directory and what is left.
func (e *DiskFullError) Error() string {
	return fmt.Sprintf("disk full: %d MiB free under %s; nothing recorded", e.Free>>20, e.Dir)
}

// DirError says that the data directory cannot be used.
type DirError struct {
	Dir   string
	Cause error
}

// Error names the directory and the cause.
func (e *DirError) Error() string {
	return fmt.Sprintf("cannot use data directory %q: %v", e.Dir, e.Cause)
}

// Unwrap gives the cause.
func (e *DirError) Unwrap() error { return e.Cause }

// PanicError is what [Store.Update] and [Store.View] answer when their
// function panicked. The step left no trace.
type PanicError struct {
	Value any
	Stack []byte
}

// Error shows the panic's value and where it was.
func (e *PanicError) Error() string { return fmt.Sprintf("step panicked: %v\n%s", e.Value, e.Stack) }
