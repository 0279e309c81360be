package sandbox

import (
	"errors"
	"os"
)

// builders lists the layers of macOS, strongest first.
func builders() []builder {
	return []builder{
		{Rlimit, newRlimit},
		{Monitor, newPidMonitor},
	}
}

// layerNote returns a remark about a layer that works.
func layerNote(layer Layer) string {
	if layer == Monitor {
		return "memory is the physical footprint, sampled: a fast process can pass the limit for a moment"
	}
	return ""
}

// remedy describes the changes needed for kernel enforcement.
const remedy = `macOS has no memory limit for a tree of processes. To have one, run the agent in a Linux virtual machine or container.
To go on with the strongest layer there is: --enforcement best-effort. To see all layers: plimsoll doctor.`

// newRlimit returns an error when there is nothing to set. RLIMIT_DATA is no use on macOS: from macOS 12 on the kernel compares it with the
// size of the whole address map, as it does with RLIMIT_AS (vm_map_set_data_limit and vm_map_enter in XNU), and refuses a limit below what
// dyld has mapped already, which is gigabytes; before that it does nothing. Either way it says nothing about memory in use, so memory stays
// watched.
func newRlimit(spec *Spec, l Limits) (cage, error) {
	if l.AddressSpace <= 0 && l.UserProcesses <= 0 {
		return nil, errors.New("macOS has no resource limit on memory in use: RLIMIT_DATA and RLIMIT_AS both bound the address space")
	}
	w, err := newPidCage(spec, l, Rlimit)
	if err != nil {
		return nil, err
	}
	c := &rlimitCage{watchedCage: w.watchedCage}
	c.limits.AddressSpace = uint64(max(0, l.AddressSpace))
	c.limits.Processes = uint64(max(0, l.UserProcesses))
	return &pidRlimit{c, w}, nil
}

// pidRlimit is an rlimitCage that remembers the command's pid.
type pidRlimit struct {
	*rlimitCage
	by *pidCage
}

// launch starts the command and records its pid.
func (p *pidRlimit) launch(c *command) (int, error) {
	return p.by.recordPID(p.rlimitCage.launch(c))
}

// executablePath returns the path of this program.
func executablePath() (string, error) { return os.Executable() }
