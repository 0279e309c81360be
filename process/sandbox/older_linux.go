package sandbox

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// Older returns the pid and name of a process of this user, or of root, that started before this one and whose command line match accepts;
// 0 and "" when there is none. argv has at least one word. At most maxYounger processes are looked at, and 64 KiB of each command line.
func Older(match func(argv []string) bool) (pid int, name string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return 0, ""
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(maxYounger)
	began, err := proctree.StartTime(os.Getpid())
	if err != nil {
		return 0, ""
	}
	for _, number := range names {
		pid, err := strconv.Atoi(number)
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := sysfile.Read("/proc/"+number+"/cmdline", 64<<10)
		if err != nil || len(text) == 0 {
			continue
		}
		argv := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if !match(argv) {
			continue
		}
		if p, err := proctree.Lookup(pid); err == nil && !p.Zombie() && p.Start < began && slices.Contains([]int{0, os.Geteuid()}, ownerOf("/proc/"+number)) {
			return pid, p.Name
		}
	}
	return 0, ""
}
