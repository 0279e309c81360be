package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// firstPassed is SD_LISTEN_FDS_START.
const firstPassed = 3

// SocketName is the FileDescriptorName= of the socket to take where several were passed.
const SocketName = "plimsoll"

// take makes files of the n descriptors that were passed. No child inherits them.
func take(n int, names string) ([]*os.File, []string) {
	files := make([]*os.File, n)
	named := splitNames(names, n)
	for i := range files {
		unix.CloseOnExec(firstPassed + i)
		files[i] = os.NewFile(uintptr(firstPassed+i), named[i])
	}
	return files, named
}

// Listener returns the socket that was passed, nil when there is none. Of several it is the one that is called [SocketName]. It is
// an error when it is not a TCP socket that listens. It is called once: the others are closed.
func (s *Service) Listener() (net.Listener, error) {
	if s == nil || len(s.passed) == 0 {
		return nil, nil
	}
	defer func() { _ = s.closePassed() }()
	at := 0
	if len(s.passed) > 1 {
		at = slices.Index(s.names, SocketName)
		if at < 0 || slices.Contains(s.names[at+1:], SocketName) {
			return nil, fmt.Errorf("the service manager passed %d sockets (%s) and one is used; leave one ListenStream=, or call one FileDescriptorName=%s",
				len(s.passed), strings.Join(s.names, ", "), SocketName)
		}
	}
	ln, err := listener(s.passed[at])
	if err != nil {
		return nil, fmt.Errorf("the socket %q that the service manager passed %w; in the socket unit use ListenStream=127.0.0.1:4620 and Accept=no", s.names[at], err)
	}
	return ln, nil
}

// listener makes a listener of a copy of f.
func listener(f *os.File) (net.Listener, error) {
	fd := int(f.Fd())
	if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil {
		return nil, fmt.Errorf("is no socket (%w)", err)
	} else if listens == 0 {
		return nil, errors.New("does not listen")
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("cannot be used (%w)", err)
	}
	if _, tcp := ln.(*net.TCPListener); !tcp {
		return nil, errors.Join(fmt.Errorf("is of the kind %s, not tcp", ln.Addr().Network()), ln.Close())
	}
	return ln, nil
}

func (s *Service) closePassed() error {
	var err error
	for _, f := range s.passed {
		err = errors.Join(err, f.Close())
	}
	s.passed = nil
	return err
}
