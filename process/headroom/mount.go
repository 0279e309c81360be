package headroom

import (
	"bytes"
	"path"
	"strconv"
	"strings"
)

// mount is one mounted cgroup hierarchy that can hold memory limits.
type mount struct {
	version int
	root    string // the cgroup that is mounted here, "/" for the whole hierarchy
	point   string
}

// maxCgroupMounts bounds what is kept of a mount table; every container's bind mount of
// /sys/fs/cgroup may add one.
const maxCgroupMounts = 1024

// parseCgroupMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)):
//
//	36 35 98:0 /root /point rw,noatime master:1 - type source superoptions
//
// and keeps cgroup2 mounts and v1 mounts of the memory controller.
func parseCgroupMounts(text []byte) []mount {
	var mounts []mount
	for line := range bytes.Lines(text) {
		before, after, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		if !ok {
			continue
		}
		left, right := strings.Split(before, " "), strings.Split(after, " ")
		if len(left) < 6 || len(right) < 2 {
			continue
		}
		m := mount{root: unescape(left[3]), point: unescape(left[4])}
		switch {
		case right[0] == "cgroup2":
			m.version = 2
		case right[0] == "cgroup" && len(right) > 2 && contains(right[2], "memory"):
			m.version = 1
		default:
			continue
		}
		if !strings.HasPrefix(m.root, "/") || !strings.HasPrefix(m.point, "/") {
			continue
		}
		if mounts = append(mounts, m); len(mounts) == maxCgroupMounts {
			break
		}
	}
	return mounts
}

// unescape undoes the kernel's \ooo for space, tab, newline and backslash.
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

// locate finds the mount that shows the most ancestors of our cgroup. When none contains
// it (a bind mount of another cgroup, or a namespace entered without a new mount, where paths start with
// /..), the first mount's root stands in and exact is false.
func locate(version int, own string, mounts []mount) (p place, ok, exact bool) {
	own = path.Clean(own)
	for _, m := range mounts {
		if m.version != version {
			continue
		}
		if rel, inside := below(m.root, own); inside {
			if !exact || len(m.root) < len(p.mount.root) {
				p, ok, exact = place{version: version, path: own, mount: m, rel: rel}, true, true
			}
			continue
		}
		if !ok {
			p, ok = place{version: version, path: m.root, mount: m, rel: "."}, true
		}
	}
	return p, ok, exact
}

// below tells how to get from root to own; both are absolute.
func below(root, own string) (rel string, ok bool) {
	if escapes(root) || escapes(own) {
		return "", false
	}
	root = path.Clean(root)
	if root == own {
		return ".", true
	}
	if root != "/" {
		root += "/"
	}
	rel, ok = strings.CutPrefix(own, root)
	return rel, ok
}

// escapes reports a path relative to a cgroup namespace that lies outside it ("/../x").
func escapes(p string) bool { return p == "/.." || strings.HasPrefix(p, "/../") }
