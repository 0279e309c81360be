package proctree

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	// canStop is true when a process can be held still while the rest of its tree is found.
	canStop = true
	// orphansGoToInit is true when launchd, process 1, becomes the parent of orphans.
	orphansGoToInit = true

	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

// listProcesses returns all processes, by one call of sysctl.
func listProcesses() ([]Process, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	out := make([]Process, 0, len(all))
	for i := range all {
		out = append(out, newProcess(&all[i]))
	}
	return out, nil
}

// newProcess returns a process from the kernel's description of it. Its CPU time is -1, not known.
func newProcess(k *unix.KinfoProc) Process {
	p := Process{
		CPU: -1, // not in this structure
		PID: int(k.Proc.P_pid), PPID: int(k.Eproc.Ppid), PGID: int(k.Eproc.Pgid),
		Start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
	}
	var name []byte
	for _, c := range k.Proc.P_comm {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	p.Name = string(name)
	switch k.Proc.P_stat { // SIDL … SZOMB in sys/proc.h
	case 1:
		p.State = 'I'
	case 2:
		p.State = 'R'
	case 3:
		p.State = 'S'
	case 4:
		p.State = 'T'
	case 5:
		p.State = 'Z'
	}
	return p
}

// Lookup returns the process that has this PID now. The error wraps [ErrGone] when there is none.
func Lookup(pid int) (Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return Process{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return newProcess(k), nil
}

// rusageInfo is struct rusage_info_v0 of sys/resource.h.
type rusageInfo struct {
	uuid                                  [16]byte
	user, system, idleWakeups, interrupts uint64
	pageins, wired, resident, footprint   uint64
	startAbs, exitAbs                     uint64
}

// readMemory returns the physical footprint, which includes what the kernel compressed, and the resident size of a process. It makes the
// system call under proc_pid_rusage(3): call 9, PROC_INFO_CALL_PIDRUSAGE, flavour 0, RUSAGE_INFO_V0. Only one's own processes answer.
func readMemory(p Process) (private, resident limit.Bytes, err error) {
	var info rusageInfo
	const procInfo = 336 // SYS_proc_info of sys/syscall.h; there is no wrapper without cgo
	_, _, errno := unix.Syscall6(procInfo, 9, uintptr(p.PID), 0, 0,
		uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info))
	if errno != 0 {
		return 0, 0, errno
	}
	return limit.Bytes(info.footprint), limit.Bytes(info.resident), nil
}

// Signal sends sig to p after comparing its start time. Between the two the number could
// in principle go to another process; macOS has nothing that pins a process.
func Signal(p Process, sig syscall.Signal) error {
	if p.PID <= 1 || p.PID == os.Getpid() {
		return fmt.Errorf("signal %v to process %d: refused, it is launchd or this process", sig, p.PID)
	}
	now, err := Lookup(p.PID)
	if err != nil {
		return err
	}
	if now.Start != p.Start {
		return fmt.Errorf("process %d: %w, its number belongs to another one now", p.PID, ErrGone)
	}
	switch err := unix.Kill(p.PID, sig); err {
	case nil:
		return nil
	case unix.ESRCH:
		return fmt.Errorf("process %d: %w", p.PID, ErrGone)
	default:
		return fmt.Errorf("signal %v to process %v: %w", sig, p, err)
	}
}

// Private returns the physical footprint of one process in bytes; 0 when it is not known.
func Private(pid int) limit.Bytes {
	private, _, err := readMemory(Process{PID: pid})
	if err != nil {
		return 0
	}
	return min(private, maxBytes)
}
