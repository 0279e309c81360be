package memories

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

const (
	// maxParents bounds how far up the processes are looked at, maxEnviron how much of each one's environment.
	maxParents = 64
	maxEnviron = 1 << 20
)

// cookieOfParents looks for the cookie of a run in the processes above this one: a command that was started without it is in the run all the same.
// Those of other users cannot be looked at, and end nothing.
func cookieOfParents() string {
	cookie := []byte(sandbox.CookieName + "=")
	pid := os.Getppid()
	for range maxParents {
		if pid <= 1 {
			return ""
		}
		for entry := range bytes.SplitSeq(head(fmt.Sprintf("/proc/%d/environ", pid), maxEnviron), []byte{0}) {
			if id, is := bytes.CutPrefix(entry, cookie); is && len(id) > 0 {
				return string(id)
			}
		}
		// pid (name) state ppid …; the name may hold anything, parentheses too.
		stat := head(fmt.Sprintf("/proc/%d/stat", pid), 4096)
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			return ""
		}
		pid, _ = strconv.Atoi(string(fields[1]))
	}
	return ""
}

func head(path string, most int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return text
}
