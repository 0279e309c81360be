//go:build linux || darwin || freebsd || netbsd || openbsd

package lineedit

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// setQuiet sets a terminal to its state between two prompts, from the one before: what is typed waits unseen and unchanged, Enter as
// \r, while the keys that send signals still do.
func setQuiet(f *os.File, before *term.State) error {
	fd := int(f.Fd())
	if err := term.Restore(fd, before); err != nil {
		return err
	}
	now, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	now.Iflag &^= unix.ICRNL | unix.INLCR
	now.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON
	now.Lflag |= unix.ISIG
	return unix.IoctlSetTermios(fd, setTermios, now)
}
