package sandbox

import (
	"strings"

	"github.com/plimsoll/plimsoll/process/internal/sysfile"
)

// OwnGroup finds the run whose control group this process is in, in any hierarchy, and names the group as the kernel does; "" for none.
func OwnGroup() (run, group string) {
	text, err := sysfile.Read("/proc/self/cgroup", sysfile.Small)
	if err != nil {
		return "", ""
	}
	return groupOfRun(string(text))
}

// groupOfRun reads the text of /proc/PID/cgroup (cgroups(7)): lines of "number:controllers:path".
func groupOfRun(text string) (run, group string) {
	for line := range strings.Lines(text) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		_, path, _ := strings.Cut(line, ":")
		for element := range strings.SplitSeq(path, "/") {
			id, is := strings.CutPrefix(strings.TrimSuffix(element, " (deleted)"), runPrefix)
			if id = strings.TrimSuffix(id, ".scope"); is && validID(id) && runPrefix+id != supervisorLeaf {
				return id, path
			}
		}
	}
	return "", ""
}
