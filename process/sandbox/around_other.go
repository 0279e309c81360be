//go:build !linux

package sandbox

// An outerGroup is a control group of Linux.
type outerGroup struct{}

func newOuterGroup() outerGroup  { return outerGroup{} }
func (outerGroup) kills() int    { return 0 }
func (outerGroup) bounded() bool { return false }

// used returns the bytes that the group holds, and its limit in bytes; ok is false if they are unknown.
func (outerGroup) used() (used, limit int64, ok bool) { return 0, 0, false }

func (outerGroup) close() {}

// machineSigns are files of Linux.
type machineSigns struct{}

func openMachineSigns() machineSigns { return machineSigns{} }

// read returns the present state, from proc_meminfo(5) and proc_loadavg(5); the zero value if it cannot be read.
func (machineSigns) read() machineState { return machineState{} }

func (machineSigns) close() {}
