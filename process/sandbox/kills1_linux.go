package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// endedPrefix begins the name of an inner run's group that is over and had OOM kills: v1
// counts a kill only in the group of the process, so the inner supervisor leaves the group
// to the outer one, which takes the count and removes it.
const endedPrefix = "ended-"

// oomKills sums the kernel's kills over the group and those below it. It remembers the counts of inner groups that are gone, and removes inner
// groups that were left only to be counted. Kills at an inner run's own limit are left out, as that run counts them.
func (g *group1) oomKills() int {
	if len(g.kills) == 0 && sysfile.IsLeaf(g.memory) { // no inner run: nothing to tell apart
		n := int(readFields(g.oom).get("oom_kill"))
		if n > 0 {
			g.kills[g.memory] = n
		}
		return n + g.killsGone
	}
	total := 0
	seen := map[string]bool{}
	tree := cgroupfs.Tree(g.memory)
	bounded := map[string]bool{} // inner groups that have reached a limit of their own, and what is in them
	for _, dir := range slices.Backward(tree) {
		bounded[dir] = dir != g.memory && (bounded[filepath.Dir(dir)] || reachedLimit1(dir))
	}
	for _, dir := range tree {
		var text fieldReader
		if dir == g.memory {
			text = readFields(g.oom)
		} else {
			text, _ = sysfile.Read(filepath.Join(dir, "memory.oom_control"), sysfile.Small)
		}
		if len(text) == 0 {
			continue
		}
		n := int(text.get("oom_kill"))
		if bounded[dir] {
			n = 0
		}
		inner := strings.ReplaceAll(dir, "/"+endedPrefix, "/"+runPrefix)
		if strings.HasPrefix(filepath.Base(dir), endedPrefix) && unix.Rmdir(dir) == nil {
			g.kills[inner] = n // counted below, as of a group that is gone
			continue
		}
		seen[inner] = true
		if n > 0 {
			g.kills[inner] = n
		}
		total += n
	}
	for inner, n := range g.kills {
		if !seen[inner] {
			g.killsGone += n
			delete(g.kills, inner)
		}
	}
	return total + g.killsGone
}

// reachedLimit1 reports whether a group has reached its own limit, of memory or of memory with swap; the latter is reached first if no swap is
// allowed. Page cache alone may have reached it, while a process was lost to the limit around the group: the kill then counts as the group's
// own. Linux 6.13 and later keep no count of failed charges for swap, so the peaks are compared.
func reachedLimit1(dir string) bool {
	for _, kind := range []string{"memory.", "memory.memsw."} {
		bound, err := sysfile.Read(filepath.Join(dir, kind+"limit_in_bytes"), sysfile.Small)
		most := int64(0)
		if err == nil {
			most = cgroupfs.Number(bound)
		}
		peak, err := sysfile.Read(filepath.Join(dir, kind+"max_usage_in_bytes"), sysfile.Small)
		if err == nil && most > 0 && cgroupfs.Number(peak) >= most-int64(os.Getpagesize()) {
			return true
		}
	}
	return false
}

// handOver renames the memory group so that the run around this one counts its kills and removes it, and reports whether it did. It does
// nothing if there is no such run, or no kill.
func (g *group1) handOver() bool {
	outer, name := filepath.Split(g.memory)
	if !g.nested || !strings.HasPrefix(filepath.Base(outer), runPrefix) || g.oomKills() == 0 {
		return false
	}
	ended := filepath.Join(outer, endedPrefix+strings.TrimPrefix(name, runPrefix))
	return unix.Rename(g.memory, ended) == nil
}
