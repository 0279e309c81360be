package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// hangupEvents are the events that poll(2) is asked for: POLLRDHUP, for a socket whose other end writes no more. POLLHUP comes unasked.
const hangupEvents = unix.POLLRDHUP

// maxInputFiles bounds the open files of a caller that are looked at.
const maxInputFiles = 8192

// holdsInput reports whether a process holds the writing end of our standard input, a pipe or a socket; false if that cannot be found out.
func holdsInput(pid int) bool {
	if peer, err := unix.GetsockoptUcred(0, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
		return int(peer.Pid) == pid
	}
	own, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(own, "pipe:[") {
		return false
	}
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxInputFiles)
	for _, name := range names {
		file := dir.Name() + "/" + name
		if link, err := os.Readlink(file); err != nil || link != own {
			continue
		}
		// The mode of the link is that of the open file (proc_pid_fd(5)).
		if info, err := os.Lstat(file); err == nil && info.Mode().Perm()&0o200 != 0 {
			return true
		}
	}
	return false
}

// readArguments returns the argument vector of a process; nil if it cannot be read.
func readArguments(pid int) []string {
	body, err := sysfile.Read(fmt.Sprintf("/proc/%d/cmdline", pid), sysfile.Small)
	if err != nil {
		return nil
	}
	var argv []string
	for a := range bytes.SplitSeq(bytes.TrimSuffix(body, []byte{0}), []byte{0}) {
		argv = append(argv, string(a))
	}
	return argv
}
