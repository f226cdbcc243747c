package sampledata

import (
	"errors"
	"os"
	"syscall"
)

// errSharing is what Windows answers when a file is open without sharing.
const errSharing = syscall.Errno(32)

// tryLock locks the file at path by opening it without sharing, which ends
// with the process; it returns nil if somebody else has it open.
func tryLock(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == nil:
		return func() { syscall.CloseHandle(h) }, nil
	case errors.Is(err, errSharing):
		return nil, nil
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}

// syncDir does nothing: Windows keeps names with the files.
func syncDir(string) error { return nil }
