// Package sysfile reads the small files of /proc and /sys, which a supervisor looks at all day.
//
//	text, err := sysfile.Read("/proc/meminfo", 64<<10)
//
// os.ReadFile asks the kernel nine times for one of them: what kind of file it is, how large, and whether the network
// poller can wait for it. Three are enough: open, read, close. For a file that is looked at every second one is: see [OpenFile].
package sysfile

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// Mount is one line of a mount table (proc_pid_mountinfo(5)):
//
//	36 35 98:0 /root /point rw,noatime master:1 - type source options
type Mount struct {
	ID          string
	Root, Point string
	Type        string
	Options     string // of the file system
}

// Mounts reads a mount table; what is no line of one is passed over.
func Mounts(text []byte) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range bytes.Lines(text) {
			before, after, ok := strings.Cut(string(line), " - ")
			fields, tail := strings.Fields(before), strings.Fields(after)
			if !ok || len(fields) < 6 || len(tail) == 0 {
				continue
			}
			m := Mount{ID: fields[0], Root: unescape(fields[3]), Point: unescape(fields[4]), Type: tail[0]}
			if len(tail) > 2 {
				m.Options = tail[2]
			}
			if !yield(m) {
				return
			}
		}
	}
}

// unescape undoes the octal escapes in a path: \040 stands for a space.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Small is more than any file holds that tells of one process or one control group, in bytes: cgroup.procs and the mount
// table, which grow with the host, are not among them.
const Small = 64 << 10
