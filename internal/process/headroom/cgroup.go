package headroom

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/limit"
)

// maxDepth bounds the walk from our cgroup to the root; the kernel's own default of
// cgroup.max.depth is unlimited, and real trees are below ten.
const maxDepth = 64

// ownCgroup is our own cgroup in one hierarchy.
type ownCgroup struct {
	version int
	path    string // as in /proc/self/cgroup
	mount   mount
	rel     string // path below mount.root; "." is the root of the mount
}

// level is one cgroup that can have limits: ours, or one around it. The names of its files are made once.
type level struct {
	version   int
	path, dir string
	files     [files]string
	unlimited bool // it had no limit when it was read
}

// The files of a level, as cgroup v1 and v2 name them.
const (
	maxName = iota
	currentName
	statName
	swapMaxName // of memory and swap together in v1
	swapCurrentName
	files
)

var fileNames = [...][files]string{
	{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes"},
	{"memory.max", "memory.current", "memory.stat", "memory.swap.max", "memory.swap.current"},
}

// places are our cgroups in the hierarchies that can limit memory, and what of that is not exact.
type places struct {
	levels      []level // of one hierarchy after the other, each from ours up to the root of its mount
	approximate []string
}

// findCgroups returns the cgroups that we are in; none on a kernel without cgroups.
func findCgroups(root fs.FS) (p places) {
	approximate := func(what string) { p.approximate = append(p.approximate, what) }
	text, err := readFile(root, "proc/self/cgroup", maxFile)
	if err != nil { // a kernel without cgroups
		return p
	}
	v2, v1 := parseOwnCgroups(text)
	if v2 == "" && v1 == "" {
		return p
	}
	table, err := readFile(root, "proc/self/mountinfo", maxMounts)
	if err != nil {
		approximate("the mount table cannot be read, so limits of enclosing cgroups are not seen")
		return p
	}
	mounts := parseCgroupMounts(table)
	for _, own := range []struct {
		version int
		path    string
	}{{1, v1}, {2, v2}} {
		if own.path == "" {
			continue
		}
		at, ok, exact := locateOwn(own.version, own.path, mounts)
		if !ok {
			if own.version == 1 || v1 == "" {
				approximate("the cgroup hierarchy of " + own.path + " is not mounted, so its limits are not seen")
			}
			continue
		}
		if !exact {
			approximate("our cgroup " + own.path + " lies outside the mount " + at.mount.point + ", whose own limit is used")
		}
		p.levels = appendLevels(p.levels, at)
	}
	return p
}

// readCgroups adds each enclosing cgroup with a limit to r. One that had no limit at the last reading is marked, and not read again.
func (r *Reading) readCgroups(root fs.FS, p places) {
	r.Approximate = append(r.Approximate, p.approximate...)
	for i := range p.levels {
		l := &p.levels[i]
		if l.unlimited {
			continue
		}
		c, limited := r.readLimits(root, l)
		if l.unlimited = !limited; limited {
			r.Cgroups = append(r.Cgroups, c)
		}
	}
}

// addApproximate adds to the words that say what of the reading is not exact.
func (r *Reading) addApproximate(what string) { r.Approximate = append(r.Approximate, what) }

// appendLevels appends the cgroups from p up to the root of its mount, at most maxDepth.
func appendLevels(levels []level, p ownCgroup) []level {
	at, name := p.rel, p.path
	for range maxDepth {
		l := level{version: p.version, path: name, dir: path.Join(p.mount.point, at)}
		for i, file := range fileNames[p.version-1] {
			l.files[i] = strings.TrimPrefix(path.Join(l.dir, file), "/")
		}
		levels = append(levels, l)
		if at == "." {
			break
		}
		at, name = path.Dir(at), path.Dir(name)
	}
	return levels
}

// readLimits reads one cgroup; ok is false when it has no limit.
func (r *Reading) readLimits(root fs.FS, l *level) (c Cgroup, ok bool) {
	c = Cgroup{Path: l.path, Dir: l.dir, Version: l.version, Limit: Unlimited, SwapLimit: Unlimited, BothLimit: Unlimited}
	swapLimit, swapUsage, inactive := &c.SwapLimit, &c.SwapUsage, "inactive_file"
	if l.version == 1 {
		swapLimit, swapUsage, inactive = &c.BothLimit, &c.BothUsage, "total_inactive_file"
	}
	c.Limit, _ = readSize(root, l.files[maxName], Unlimited)
	if *swapLimit, _ = readSize(root, l.files[swapMaxName], Unlimited); *swapLimit != Unlimited {
		*swapUsage, _ = readSize(root, l.files[swapCurrentName], 0)
	}
	if c.Limit == Unlimited && c.BothLimit == Unlimited {
		return c, c.SwapLimit != Unlimited
	}
	if c.Usage, ok = readSize(root, l.files[currentName], 0); !ok {
		r.addApproximate("the usage of cgroup " + l.dir + " cannot be read and counts as 0")
	}
	if stat, err := readFile(root, l.files[statName], maxFile); err == nil {
		c.InactiveFile = min(limit.Bytes(cgroupfs.Field(stat, inactive)), c.Usage)
	}
	return c, true
}

// readSize returns the size in a file; otherwise and false when it cannot be read.
func readSize(root fs.FS, name string, otherwise limit.Bytes) (limit.Bytes, bool) {
	text, err := readFile(root, name, maxFile)
	if err != nil {
		return otherwise, false
	}
	n, ok := parseSize(text)
	if !ok {
		return otherwise, false
	}
	return n, true
}

// parseOwnCgroups returns our path in the v2 hierarchy and that in the v1 memory hierarchy, from a text of /proc/self/cgroup. Either may be
// "".
func parseOwnCgroups(text []byte) (v2, v1 string) {
	for controllers, own := range cgroupfs.Groups(text) {
		own = strings.TrimSuffix(own, " (deleted)") // it was removed under us; its ancestors still count
		switch {
		case controllers == "":
			v2 = own
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			v1 = own
		}
	}
	return v2, v1
}

// parseSize reads the content of a limit or usage file: a number of bytes or "max". A number beyond 2^62, such as v1's 9223372036854771712
// (PAGE_COUNTER_MAX), is Unlimited. It returns false for anything else.
func parseSize(text []byte) (limit.Bytes, bool) {
	text = bytes.TrimSpace(text)
	if string(text) == "max" {
		return Unlimited, true
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && n >= 1<<62 {
		return Unlimited, true
	}
	return limit.Bytes(n), err == nil
}

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

// locateOwn returns our cgroup by the mount that shows the most ancestors of it; ok is false when the hierarchy is not mounted. When no mount
// contains it (a bind mount of another cgroup, or a namespace entered without a new mount, where paths start with /..), the first mount's
// root stands in and exact is false.
func locateOwn(version int, own string, mounts []mount) (p ownCgroup, ok, exact bool) {
	own = path.Clean(own)
	for _, m := range mounts {
		if m.version != version {
			continue
		}
		if rel, inside := relativePath(m.root, own); inside {
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

// relativePath returns the path from root to own, both absolute; ok is false when own is not below root.
func relativePath(root, own string) (rel string, ok bool) {
	if isOutside(root) || isOutside(own) {
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

// isOutside reports whether a path lies outside of the cgroup namespace that it is relative to ("/../x").
func isOutside(p string) bool { return p == "/.." || strings.HasPrefix(p, "/../") }
