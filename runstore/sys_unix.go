//go:build unix

package runstore

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeBytes is what this process may still write to the disk dir is on.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// fileID tells a directory from a copy of it.
func fileID(dir string) uint64 {
	info, err := os.Stat(dir)
	if err != nil {
		return 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
