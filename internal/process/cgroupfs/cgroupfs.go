package cgroupfs

import (
	"fmt"
	"os"
	"path"
	"slices"
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
func Own() (Place, error) { return Of("self") }

// Of returns the place of process pid ("self" or a number).
func Of(pid string) (Place, error) {
	groups, err := sysfile.Read("/proc/"+pid+"/cgroup", maxTable)
	if err != nil {
		return Place{}, fmt.Errorf("find own control group: %w", err)
	}
	mounts, err := sysfile.Read("/proc/self/mountinfo", maxTable)
	if err != nil {
		return Place{}, fmt.Errorf("find the control group mounts: %w", err)
	}
	return Parse(string(groups), string(mounts)), nil
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

// Parse joins the texts of /proc/PID/cgroup and /proc/PID/mountinfo.
func Parse(groups, mountinfo string) Place {
	place := Place{V1: map[string]string{}, V1Mount: map[string]string{}}
	mounts := ParseMounts(mountinfo)
	for line := range strings.Lines(groups) {
		id, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !ok {
			continue
		}
		controllers, group, ok := strings.Cut(rest, ":")
		if !ok || !strings.HasPrefix(group, "/") {
			continue
		}
		if id == "0" && controllers == "" {
			for _, m := range mounts {
				if !m.Unified {
					continue
				}
				if dir, ok := m.dir(group); ok && place.Unified == "" {
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
				if dir, ok := m.dir(group); ok && place.V1[controller] == "" {
					place.V1[controller], place.V1Mount[controller] = dir, m.Point
				}
			}
		}
	}
	return place
}

// dir returns the directory of the group under the mount; false when the mount does not show it.
func (m Mount) dir(group string) (string, bool) {
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

// ParseMounts reads the control group mounts out of a mountinfo text
// (proc_pid_mountinfo(5)), at most 1024 of them:
//
//	36 35 98:0 /root /point rw,noatime master:1 - type source superoptions
func ParseMounts(mountinfo string) []Mount {
	var mounts []Mount
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		if !ok {
			continue
		}
		fields, tail := strings.Fields(before), strings.Fields(after)
		if len(fields) < 6 || len(tail) < 1 {
			continue
		}
		m := Mount{Root: sysfile.Unescape(fields[3]), Point: sysfile.Unescape(fields[4])}
		switch {
		case tail[0] == "cgroup2":
			m.Unified = true
		case tail[0] == "cgroup" && len(tail) > 2:
			m.Controllers = strings.Split(tail[2], ",")
		default:
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

// Procs reads the process ids of the group at dir. A group that is gone has none.
func Procs(dir string) ([]int, error) {
	return readPids(path.Join(dir, "cgroup.procs"))
}

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

func appendTree(dirs []string, dir string, depth int) []string {
	if len(dirs) >= maxTree || depth > maxDepth {
		return dirs
	}
	if !sysfile.Leaf(dir) {
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
