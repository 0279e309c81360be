package proctree

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	// canStop: Windows has no signal that stops a process.
	canStop = false
	// orphansGoToInit: a process keeps the number of its dead parent.
	orphansGoToInit = false

	sigStop = syscall.Signal(0)
	sigCont = syscall.Signal(0)
)

// listProcesses lists all processes. Those that do not let themselves be opened have start
// time 0, and so are never younger than the root.
func listProcesses() ([]Process, error) {
	var out []Process
	err := eachProcess(func(p Process) bool {
		p.Start, _ = readStart(p.PID)
		out = append(out, p)
		return true
	})
	return out, err
}

// eachProcess calls yield with every process, without its start time, until it returns false.
func eachProcess(yield func(Process) bool) error {
	handle, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(handle)
	var entry windows.ProcessEntry32
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Process32First(handle, &entry); err == nil; err = windows.Process32Next(handle, &entry) {
		if !yield(Process{
			CPU: -1, PID: int(entry.ProcessID), PPID: int(entry.ParentProcessID),
			Name: windows.UTF16ToString(entry.ExeFile[:]), Threads: int(entry.Threads),
		}) {
			return nil
		}
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return err
	}
	return nil
}

// readStart returns when a process was created, or an error if this process may not open it.
func readStart(pid int) (uint64, error) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, err
	}
	defer windows.CloseHandle(handle)
	return creationTime(handle)
}

// creationTime returns the time at which the process behind handle began, in units of 100 ns since 1601. For a process that has ended, but
// can still be opened because somebody holds a handle of it, it returns [ErrGone].
func creationTime(handle windows.Handle) (uint64, error) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user); err != nil {
		return 0, err
	}
	if exited != (windows.Filetime{}) {
		return 0, ErrGone
	}
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), nil
}

// Lookup returns the process that has this PID now. The error wraps [ErrGone] when there is none.
func Lookup(pid int) (Process, error) {
	start, err := readStart(pid)
	if err != nil || start == 0 {
		return Process{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	found := Process{}
	err = eachProcess(func(p Process) bool {
		if p.PID == pid {
			found = p
		}
		return p.PID != pid
	})
	switch {
	case err != nil:
		return Process{}, err
	case found.PID != pid:
		return Process{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	found.Start = start
	return found, nil
}

var getProcessMemoryInfo = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// memoryCounters is PROCESS_MEMORY_COUNTERS_EX of psapi.h.
type memoryCounters struct {
	size, pageFaults                                uint32
	peakWorkingSet, workingSet                      uintptr
	peakPagedPool, pagedPool                        uintptr
	peakNonPagedPool, nonPagedPool                  uintptr
	pagefileUsage, peakPagefileUsage, privateCommit uintptr
}

// readMemory returns the private commit charge, which a job's limit counts, and the
// working set.
func readMemory(p Process) (private, resident limit.Bytes, err error) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(p.PID))
	if err != nil {
		return 0, 0, err
	}
	defer windows.CloseHandle(handle)
	if start, err := creationTime(handle); err != nil || start != p.Start {
		return 0, 0, ErrGone
	}
	counters := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	ok, _, err := getProcessMemoryInfo.Call(uintptr(handle), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size))
	if ok == 0 {
		return 0, 0, err
	}
	return limit.Bytes(counters.privateCommit), limit.Bytes(counters.workingSet), nil
}

// Signal ends p when sig is SIGTERM, SIGKILL or SIGINT, after comparing the creation time
// on the very handle that is used; signal 0 only asks. Others are not supported.
func Signal(p Process, sig syscall.Signal) error {
	switch sig {
	case 0, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGINT:
	default:
		return fmt.Errorf("signal %v to process %v: %w on Windows", sig, p, errors.ErrUnsupported)
	}
	if p.PID <= 4 || p.PID == os.Getpid() {
		return fmt.Errorf("end process %d: refused, it is the system or this process", p.PID)
	}
	handle, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(p.PID))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return fmt.Errorf("process %d: %w", p.PID, ErrGone)
	}
	if err != nil {
		return fmt.Errorf("end process %v: %w", p, err)
	}
	defer windows.CloseHandle(handle)
	if start, err := creationTime(handle); err != nil || start != p.Start {
		return fmt.Errorf("process %d: %w", p.PID, ErrGone)
	}
	if sig == 0 {
		return nil
	}
	if err := windows.TerminateProcess(handle, 128+uint32(sig)); err != nil {
		return fmt.Errorf("end process %v: %w", p, err)
	}
	return nil
}

// Private returns the private commit charge of one process in bytes; 0 when it is not known.
func Private(pid int) limit.Bytes {
	start, err := readStart(pid)
	if err != nil {
		return 0
	}
	private, _, err := readMemory(Process{PID: pid, Start: start})
	if err != nil {
		return 0
	}
	return min(private, maxBytes)
}

// PeakPrivate returns the most private memory that the process behind handle ever had committed, in bytes, also after it has ended; 0 when
// it is not known.
func PeakPrivate(process windows.Handle) limit.Bytes {
	counters := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	ok, _, _ := getProcessMemoryInfo.Call(uintptr(process), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size))
	if ok == 0 {
		return 0
	}
	return min(limit.Bytes(counters.peakPagefileUsage), maxBytes)
}
