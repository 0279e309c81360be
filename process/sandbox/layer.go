package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Layer names one way of holding a run inside its limits.
type Layer string

// The layers, strongest first.
const (
	// Systemd is a cgroup v2 scope that systemd delegates to the supervisor.
	Systemd Layer = "systemd"
	// Cgroup2 is a cgroup v2 directory that is ours to divide, as in a container.
	Cgroup2 Layer = "cgroup2"
	// Cgroup1 is a pair of cgroup v1 groups (memory and pids) on an older or hybrid host.
	Cgroup1 Layer = "cgroup1"
	// Job is a Windows job object.
	Job Layer = "job"
	// Rlimit is setrlimit in the command's own process, beside the monitor.
	Rlimit Layer = "rlimit"
	// Monitor samples the process tree and ends its largest member over the limit.
	Monitor Layer = "monitor"
)

// Layers lists every layer in the order in which they are tried. Which of them exist on
// this operating system [Probe] tells.
func Layers() []Layer { return []Layer{Systemd, Cgroup2, Cgroup1, Job, Rlimit, Monitor} }

// ParseLayer reads the name of a layer.
func ParseLayer(s string) (Layer, error) {
	if l := Layer(s); slices.Contains(Layers(), l) {
		return l, nil
	}
	names := make([]string, 0, len(Layers()))
	for _, l := range Layers() {
		names = append(names, string(l))
	}
	return "", fmt.Errorf("there is no layer %q; the layers are %s", s, strings.Join(names, ", "))
}

// Mechanism is the holder of a limit.
type Mechanism string

// The mechanisms, strongest first.
const (
	// ByKernel: the kernel holds the whole tree to the limit.
	ByKernel Mechanism = "kernel"
	// ByProcess: the kernel holds each process to the limit, not their sum.
	ByProcess Mechanism = "process"
	// ByWatching: Plimsoll samples the tree and acts after the fact.
	ByWatching Mechanism = "watched"
	// ByNobody: nothing holds the limit.
	ByNobody Mechanism = "none"
)

// Strength names the holder of each limit of a run.
type Strength struct {
	Memory Mechanism `json:"memory"`
	Swap   Mechanism `json:"swap"`
	Pids   Mechanism `json:"pids"`
	// CPU is of the weight, CPUs of the quota.
	CPU  Mechanism `json:"cpu"`
	CPUs Mechanism `json:"cpus"`
}

// Capability is a finding of [Probe] about one layer.
type Capability struct {
	Name      Layer `json:"name"`
	Available bool  `json:"available"`
	// Why is the obstacle, or a remark about a layer that works.
	Why string `json:"why"`
	Strength
}

// Enforcement is the demand of a run on its layer.
type Enforcement string

// The demands. The zero value means BestEffort.
const (
	// Required refuses to start when memory would not be enforced by the kernel for this run.
	Required Enforcement = "required"
	// BestEffort takes the strongest layer that works.
	BestEffort Enforcement = "best-effort"
	// Off sets no limit and only measures.
	Off Enforcement = "off"
)

// NotAvailable is the reason why a layer can't be used here.
type NotAvailable struct {
	Layer Layer
	Err   error
}

func (e *NotAvailable) Error() string { return fmt.Sprintf("layer %s: %v", e.Layer, e.Err) }
func (e *NotAvailable) Unwrap() error { return e.Err }

// NotEnforced is returned when no layer gives what the run demands.
type NotEnforced struct {
	Enforcement Enforcement
	Tried       []*NotAvailable
}

func (e *NotEnforced) Error() string {
	var b strings.Builder
	if e.Enforcement == Required {
		b.WriteString("enforcement is required, but the kernel would not hold the memory limit of this run:")
	} else {
		b.WriteString("no layer works here:")
	}
	for _, t := range e.Tried {
		fmt.Fprintf(&b, "\n  %-9s %v", t.Layer, t.Err)
	}
	if e.Enforcement == Required {
		b.WriteString("\n" + remedy)
	} else { // monitor works everywhere, so it was not among those that were asked for
		b.WriteString("\nTo take the strongest layer there is: leave out --layer, or the key layers. To see all: plimsoll doctor.")
	}
	return b.String()
}
