// Package cgroupfs finds the place of a process in the control group file systems.
//
// The kernel describes it in two files: /proc/PID/cgroup names the group of every
// hierarchy, /proc/PID/mountinfo lists the mount of each hierarchy and the part of
// it the mount shows (a container sees its own group as the root). [Own] joins the two
// into directories that can be opened.
//
//	own, err := cgroupfs.Own()
//	own.Unified          // /sys/fs/cgroup/user.slice/…, "" when no cgroup2 is mounted
//	own.V1["memory"]     // /sys/fs/cgroup/memory/…, absent on a pure v2 host
//
// [Parse] does the same from given texts, for the tests and the fuzzer.
// It never fails on a line it does not understand: it skips it, as the kernel may add
// new ones.
package cgroupfs

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// Place is the position of one process in the hierarchies.
type Place struct {
	// Unified is the directory of the process's cgroup v2 group, "" when there is none.
	Unified string
	// UnifiedMount is the mount point of the cgroup2 file system.
	UnifiedMount string
	// V1 maps a controller of a v1 hierarchy ("memory", "pids", "freezer") to the
	// directory of the process's group in it.
	V1 map[string]string
	// V1Mount maps the same controllers to the mount points.
	V1Mount map[string]string
}

// Own returns the place of the calling process.
func Own() (Place, error) { return PlaceOf("self") }

// PlaceOf returns the place of process pid ("self" or a number).
func PlaceOf(pid string) (Place, error) {
	groups, err := sysfile.Read("/proc/"+pid+"/cgroup", maxTable)
	if err != nil {
		return Place{}, fmt.Errorf("find own control group: %w", err)
	}
	mounts, err := sysfile.Read("/proc/self/mountinfo", maxTable)
	if err != nil {
		return Place{}, fmt.Errorf("find the control group mounts: %w", err)
	}
	return Parse(groups, mounts), nil
}

// Mount is one mounted control group hierarchy.
type Mount struct {
	// Root is the group that is mounted here, "/" for the whole hierarchy.
	Root string
	// Point is the directory it is mounted on.
	Point string
	// Unified is true when it is cgroup v2; else Controllers lists those of the v1 hierarchy.
	Unified     bool
	Controllers []string
}

// maxTable bounds the bytes read of one file: 20,000 mounts, or 500,000 processes.
const maxTable = 4 << 20

// maxMounts bounds what is kept of a mount table: every container's bind mount of
// /sys/fs/cgroup may add one.
const maxMounts = 1024

// Parse returns the directories of a process's groups, and of their mounts, from the texts of its /proc/PID/cgroup and /proc/PID/mountinfo.
// A hierarchy that is not mounted, or not as far as the group, is left out.
func Parse(groups, mountinfo []byte) Place {
	place := Place{V1: map[string]string{}, V1Mount: map[string]string{}}
	mounts := ParseMounts(mountinfo)
	for controllers, group := range Groups(groups) {
		if controllers == "" {
			for _, m := range mounts {
				if !m.Unified {
					continue
				}
				if dir, ok := m.groupDir(group); ok && place.Unified == "" {
					place.Unified, place.UnifiedMount = dir, m.Point
				}
			}
			continue
		}
		for controller := range strings.SplitSeq(controllers, ",") {
			for _, m := range mounts {
				if m.Unified || !slices.Contains(m.Controllers, controller) {
					continue
				}
				if dir, ok := m.groupDir(group); ok && place.V1[controller] == "" {
					place.V1[controller], place.V1Mount[controller] = dir, m.Point
				}
			}
		}
	}
	return place
}

// groupDir returns the directory of the group under the mount; false when the mount does not show it.
func (m Mount) groupDir(group string) (string, bool) {
	if strings.HasPrefix(group, "/..") { // outside of our cgroup namespace
		return "", false
	}
	if m.Root == "/" {
		return path.Join(m.Point, group), true
	}
	rest, ok := strings.CutPrefix(group, m.Root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Join(m.Point, rest), true
}

// ParseMounts reads the control group mounts out of a mountinfo text (proc_pid_mountinfo(5)), at most 1024 of them.
func ParseMounts(mountinfo []byte) []Mount {
	var mounts []Mount
	for line := range sysfile.Mounts(mountinfo) {
		m := Mount{Root: line.Root, Point: line.Point, Unified: line.Type == "cgroup2"}
		if line.Type == "cgroup" && line.Options != "" {
			m.Controllers = strings.Split(line.Options, ",")
		} else if !m.Unified {
			continue
		}
		if !path.IsAbs(m.Root) || !path.IsAbs(m.Point) {
			continue
		}
		if mounts = append(mounts, m); len(mounts) == maxMounts {
			break
		}
	}
	return mounts
}

// Groups reads a text of /proc/PID/cgroup (cgroups(7)): for each hierarchy its controllers, separated by commas, and the path of the group in
// it, which begins with a slash. Of cgroup v2 the controllers are "".
func Groups(text []byte) iter.Seq2[string, string] {
	return func(yield func(controllers, group string) bool) {
		for line := range bytes.Lines(text) {
			parts := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
			if len(parts) != 3 || (parts[0] == "0") != (parts[1] == "") || !strings.HasPrefix(parts[2], "/") {
				continue
			}
			if !yield(parts[1], parts[2]) {
				return
			}
		}
	}
}

// Number reads a decimal number; it returns 0 for "max", a negative number and anything else, and the largest int64 for what is beyond.
func Number(text []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return max(0, n)
}

// Field returns a value of a flat keyed file, such as memory.stat, which has lines of "name value": 0 for a missing name.
func Field(text []byte, name string) int64 {
	for rest := text; len(rest) > 0; {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		if len(line) > len(name) && line[len(name)] == ' ' && string(line[:len(name)]) == name {
			return Number(line[len(name)+1:])
		}
	}
	return 0
}

// Procs reads the process ids of the group at dir. A group that is gone has none.
func Procs(dir string) ([]int, error) {
	return readPids(path.Join(dir, "cgroup.procs"))
}

// readPids reads the pids in a file; none, without an error, if the group is gone.
func readPids(file string) ([]int, error) {
	body, err := sysfile.Read(file, maxTable)
	if err != nil {
		if os.IsNotExist(err) || isGone(err) {
			return nil, nil
		}
		return nil, err
	}
	return AppendPids(nil, body), nil
}

// AppendPids parses a cgroup.procs text, one decimal number a line, and appends to pids.
// Zeros (processes outside of our pid namespace) and anything else are skipped.
func AppendPids(pids []int, body []byte) []int {
	n, ok := 0, false
	for i := 0; i <= len(body); i++ {
		if i == len(body) || body[i] == '\n' {
			if ok && n > 0 {
				pids = append(pids, n)
			}
			n, ok = 0, false
			continue
		}
		c := body[i]
		if c < '0' || c > '9' || n > 1<<30 {
			n, ok = -1<<40, false
			continue
		}
		n, ok = n*10+int(c-'0'), n >= 0
	}
	return pids
}

// maxTree bounds the groups that [Tree] returns, and maxDepth how deep it looks.
const (
	maxTree  = 10_000
	maxDepth = 64
)

// Tree returns dir and every group below it, deepest first, so that removing in order works.
func Tree(dir string) []string { return appendTree(make([]string, 0, 4), dir, 0) }

// appendTree appends the groups below dir and then dir itself, up to maxTree in all.
func appendTree(dirs []string, dir string, depth int) []string {
	if len(dirs) >= maxTree || depth > maxDepth {
		return dirs
	}
	if !sysfile.IsLeaf(dir) {
		names, err := sysfile.Subdirectories(dir)
		if err != nil {
			return dirs
		}
		for _, name := range names {
			dirs = appendTree(dirs, dir+"/"+name, depth+1)
		}
	}
	return append(dirs, dir)
}
