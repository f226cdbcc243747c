package runstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync makes f's data durable, without its timestamps.
func dataSync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
