package disk

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	id    int64
	point string
	kind  string
}

// notDisks are the types of file systems in memory, which the memory limit holds, and of those that store nothing.
var notDisks = []string{
	"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs",
	"securityfs", "bpf", "pstore", "configfs", "binfmt_misc", "squashfs", "iso9660", "autofs", "nsfs",
}

// remote are beginnings of the types of file systems on other machines, where a look may hang for ever.
var remote = []string{"nfs", "cifs", "smb", "9p", "fuse", "ceph", "afs", "gluster", "lustre", "coda", "ncpfs", "virtiofs", "beegfs", "gpfs"}

// isLocalDisk reports whether the file system is on a disk of this machine.
func (m *mount) isLocalDisk() bool {
	return !slices.Contains(notDisks, m.kind) && !slices.ContainsFunc(remote, func(p string) bool { return strings.HasPrefix(m.kind, p) }) ||
		m.kind == "fuseblk" // ntfs-3g and the like, on a disk of this machine
}

type mountTable struct {
	byID map[int64]*mount
	list []*mount
}

// maxMounts bounds the table.
const maxMounts = 8192

// readMounts returns the mounts of this process; none if they cannot be read.
func readMounts() *mountTable {
	body, _ := os.ReadFile("/proc/self/mountinfo")
	return parseMounts(body)
}

// parseMounts reads the mounts out of a mountinfo text, at most maxMounts.
func parseMounts(body []byte) *mountTable {
	t := &mountTable{byID: map[int64]*mount{}}
	for line := range sysfile.Mounts(body) {
		id, err := strconv.ParseInt(line.ID, 10, 64)
		if err != nil || len(t.list) >= maxMounts {
			continue
		}
		m := &mount{id: id, point: line.Point, kind: line.Type}
		t.byID[id] = m
		t.list = append(t.list, m)
	}
	return t
}

// mountFor returns the mount that a path is on, nil for none. It goes by the name only: asking the file could hang. A later mount on the same
// point hides the earlier one.
func (t *mountTable) mountFor(path string) *mount {
	var best *mount
	for _, m := range t.list {
		inside := path == m.point || m.point == "/" || strings.HasPrefix(path, m.point+"/")
		if inside && (best == nil || len(m.point) >= len(best.point)) {
			best = m
		}
	}
	return best
}
