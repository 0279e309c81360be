package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/limit"
)

// builders lists the layers of Linux, strongest first.
func builders() []builder {
	return []builder{
		{Systemd, newSystemd},
		{Cgroup2, newCgroup2},
		{Cgroup1, newCgroup1},
		{Rlimit, newRlimit},
		{Monitor, newMonitor},
	}
}

// newMonitor returns a cage that only watches. It first records the layer in the run's remains.
func newMonitor(spec *Spec, l Limits) (cage, error) {
	if err := spec.remember(Remains{Layer: Monitor}); err != nil {
		return nil, err
	}
	w := newWatched(l)
	return &w, nil
}

// remedy describes what to install or change for kernel enforcement.
const remedy = `To have it: log in through systemd with a user manager (on a server: loginctl enable-linger USER),
or run in a container whose cgroup is writable and holds no other processes,
or run as root where cgroup v1 is mounted.
To go on with the strongest layer there is: --enforcement best-effort. To see all layers: plimsoll doctor.`

// The trial: a child takes twice what it is allowed.
const (
	trialLimit = 32 * limit.MiB
	trialPids  = 24
)

// trialAmount returns the memory that the child of a trial takes, which is more than its limit.
func trialAmount(layer Layer) limit.Bytes {
	if layer == Rlimit {
		return rlimitFloor + 64*limit.MiB
	}
	return 2 * trialLimit
}

// trialOrder returns the layers in the order in which they are tried: systemd last, because it moves this process into a scope of its own.
func trialOrder() []Layer { return []Layer{Cgroup2, Cgroup1, Rlimit, Monitor, Systemd} }

// layerNotes returns remarks about a layer that works; res is the result of its trial.
func layerNotes(c Capability, res Result) (notes []string) {
	if c.Memory == ByKernel && !res.Peak.Exact {
		notes = append(notes, "the kernel keeps no peak here (memory.peak needs Linux 5.19): peaks are sampled")
	}
	if g := outerOOMGroup(); g != "" {
		notes = append(notes, g+" has memory.oom.group=1: reaching that outer limit kills everything in it")
	}
	if c.Name == Systemd && !Lingers() {
		notes = append(notes, "the user does not linger: runs end at logout (loginctl enable-linger)")
	}
	return notes
}

// outerOOMGroup returns the group around us that has memory.oom.group=1, where one OOM kill ends every process; "" for none.
func outerOOMGroup() string {
	own, err := cgroupfs.Own()
	if err != nil || own.Unified == "" {
		return ""
	}
	for dir := own.Unified; len(dir) >= len(own.UnifiedMount) && dir != "/"; dir = filepath.Dir(dir) {
		body, err := os.ReadFile(dir + "/memory.oom.group")
		if err == nil && strings.TrimSpace(string(body)) == "1" {
			return dir
		}
	}
	return ""
}

// rlimitFloor is the least RLIMIT_DATA that is ever set: every agent CLI that was measured
// finishes a turn at 2 GiB, and some do not start below.
const rlimitFloor = 2 * limit.GiB

// newRlimit returns a cage of resource limits of each process. It first records the layer in the run's remains. The limit of data is at
// least rlimitFloor.
func newRlimit(spec *Spec, l Limits) (cage, error) {
	if err := spec.remember(Remains{Layer: Rlimit}); err != nil {
		return nil, err
	}
	c := &rlimitCage{watchedCage: newWatched(l)}
	if l.Memory > 0 {
		c.limits.Data = uint64(max(l.Memory, rlimitFloor))
		c.held.Memory = ByProcess
	}
	c.limits.AddressSpace = uint64(l.AddressSpace)
	c.limits.Processes = uint64(max(0, l.UserProcesses))
	return c, nil
}

// executablePath returns the path of this program, also after an upgrade has replaced it.
func executablePath() (string, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err == nil && strings.HasSuffix(self, " (deleted)") {
		self = "/proc/self/exe"
	}
	return self, err
}
