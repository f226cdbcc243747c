//go:build unix

package cli

import "golang.org/x/sys/unix"

// hideTyping makes the terminal fd show nothing of what is typed.
func hideTyping(fd int) error {
	state, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	state.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, setTermios, state)
}
