package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
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

// Layers returns every layer of every operating system, in the order in which they are tried. [Probe] says which of them work here.
func Layers() []Layer { return []Layer{Systemd, Cgroup2, Cgroup1, Job, Rlimit, Monitor} }

// ParseLayer returns the layer with this name. The error for an unknown name lists the layers.
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

// Mechanism names who holds a limit.
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

// Strength says for each limit of a run who holds it.
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
	// Why says why the layer is not available, or is a remark about one that is; "" for neither.
	Why string `json:"why"`
	Strength
}

// Enforcement says how firmly the memory limit of a run must be held.
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

// NotAvailable says why a layer can't be used here.
type NotAvailable struct {
	Layer Layer
	Err   error
}

// Error implements error.
func (e *NotAvailable) Error() string { return fmt.Sprintf("layer %s: %v", e.Layer, e.Err) }
func (e *NotAvailable) Unwrap() error { return e.Err }

// NotEnforced is returned when no layer gives what the run demands.
type NotEnforced struct {
	Enforcement Enforcement
	// Reclaims is that of the [Spec].
	Reclaims bool
	Tried    []*NotAvailable
}

// Error names the demand and, for each layer that was tried, why it was not taken.
func (e *NotEnforced) Error() string {
	var b strings.Builder
	switch {
	case e.Reclaims:
		b.WriteString("no layer works here that can give the memory of an idle run back:")
	case e.Enforcement == Required:
		b.WriteString("enforcement is required, but the kernel would not hold the memory limit of this run:")
	default:
		b.WriteString("no layer works here:")
	}
	for _, t := range e.Tried {
		fmt.Fprintf(&b, "\n  %-9s %v", t.Layer, t.Err)
	}
	switch {
	case e.Reclaims:
		b.WriteString("\nIt takes a control group of cgroup v2 and Linux 5.19; plimsoll doctor shows what there is.")
	case e.Enforcement == Required:
		b.WriteString("\n" + remedy)
	default: // monitor works everywhere, so it was not among those that were asked for
		b.WriteString("\nTo take the strongest layer there is: leave out --layer, or the key layers. To see all: plimsoll doctor.")
	}
	return b.String()
}

// cage holds one run inside its limits, by the means of one layer. It is built before the command starts and closed after its processes
// have ended. Methods are called from one goroutine at a time, but kill and freeze may come from another.
type cage interface {
	strength() Strength
	// launch starts the command inside the cage and returns its pid.
	launch(c *command) (int, error)
	// sample returns what the run uses now. ok is false when the cage can't tell and the process tree must be measured.
	sample() (s Sample, ok bool)
	// members appends the pids in the cage; ok is false when the cage can't tell.
	members(pids []int) (_ []int, ok bool)
	// charged returns the bytes that count against the limit, read cheaply; 0 when unknown.
	charged() int64
	// peak returns the kernel's high-water mark in bytes and the name of its source; ok is false when the kernel keeps none.
	peak() (bytes int64, method string, ok bool)
	// oomKills counts the kernel's OOM kills in the cage so far.
	oomKills() int
	// freeze stops every process, or lets all go on; an error when the layer can't.
	freeze(on bool) error
	// kill sends SIGKILL to every process in the cage, children born meanwhile included.
	kill() error
	// close removes what was made. It is called when no process is left, or to undo a
	// start that failed.
	close() error
}

// command is a program to execute, ready for fork and exec.
type command struct {
	path  string
	args  []string
	env   []string
	dir   string
	files []uintptr
	sys   syscall.SysProcAttr
	// nice is the nice value that the command starts with where no group holds its weight.
	nice int
}

// watchedCage is the cage of the layers that have no group: what the run uses is read from the process tree, and [Run] ends the largest
// member when the tree is over its limit. So it knows nothing itself: sample, members and peak return false, charged 0, and kill does
// nothing.
type watchedCage struct {
	held   Strength
	around outerGroup
}

// newWatched returns a cage whose memory and processes, where they are limited, are held by watching and not by the kernel.
func newWatched(l Limits) watchedCage {
	w := watchedCage{held: heldByNobody, around: newOuterGroup()}
	if l.Memory > 0 {
		w.held.Memory = ByWatching
	}
	if l.Pids > 0 {
		w.held.Pids = ByWatching
	}
	return w
}

func (w *watchedCage) strength() Strength               { return w.held }
func (w *watchedCage) launch(c *command) (int, error)   { return c.fork() }
func (w *watchedCage) sample() (Sample, bool)           { return Sample{}, false }
func (w *watchedCage) members(pids []int) ([]int, bool) { return pids, false }
func (w *watchedCage) charged() int64                   { return 0 }
func (w *watchedCage) peak() (int64, string, bool)      { return 0, "", false }
func (w *watchedCage) oomKills() int                    { return w.around.killsSinceStart() }
func (w *watchedCage) bounded() bool                    { return w.around.exists() }
func (w *watchedCage) usedAround() (int64, int64, bool) { return w.around.bytesUsed() }
func (w *watchedCage) kill() error                      { return nil }
func (w *watchedCage) close() error                     { w.around.close(); return nil }

// freeze returns an error: there is no group to freeze.
func (w *watchedCage) freeze(bool) error {
	return errors.New("this layer has no group to freeze")
}
