package headroom

import (
	"path"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
)

// mount is one mounted cgroup hierarchy that can hold memory limits.
type mount struct {
	version int
	root    string // the cgroup that is mounted here, "/" for the whole hierarchy
	point   string
}

// parseCgroupMounts keeps the cgroup2 mounts and the v1 mounts of the memory controller.
func parseCgroupMounts(mountinfo []byte) []mount {
	var mounts []mount
	for _, m := range cgroupfs.ParseMounts(mountinfo) {
		switch {
		case m.Unified:
			mounts = append(mounts, mount{2, m.Root, m.Point})
		case slices.Contains(m.Controllers, "memory"):
			mounts = append(mounts, mount{1, m.Root, m.Point})
		}
	}
	return mounts
}

// locate returns our cgroup by the mount that shows the most ancestors of it; ok is false when the hierarchy is not mounted. When no mount
// contains it (a bind mount of another cgroup, or a namespace entered without a new mount, where paths start with /..), the first mount's
// root stands in and exact is false.
func locate(version int, own string, mounts []mount) (p ownCgroup, ok, exact bool) {
	own = path.Clean(own)
	for _, m := range mounts {
		if m.version != version {
			continue
		}
		if rel, inside := below(m.root, own); inside {
			if !exact || len(m.root) < len(p.mount.root) {
				p, ok, exact = ownCgroup{version: version, path: own, mount: m, rel: rel}, true, true
			}
			continue
		}
		if !ok {
			p, ok = ownCgroup{version: version, path: m.root, mount: m, rel: "."}, true
		}
	}
	return p, ok, exact
}

// below returns the path from root to own, both absolute; ok is false when own is not below root.
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

// escapes reports whether a path lies outside of the cgroup namespace that it is relative to ("/../x").
func escapes(p string) bool { return p == "/.." || strings.HasPrefix(p, "/../") }
