package metrics

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// mostHandles is the largest number of handles of a process: Windows bounds them by this for all ("Pushing the Limits of Windows:
// Handles").
const mostHandles = 1 << 24

var (
	kernel32              = windows.NewLazySystemDLL("kernel32.dll")
	getProcessMemoryInfo  = kernel32.NewProc("K32GetProcessMemoryInfo")
	getProcessHandleCount = kernel32.NewProc("GetProcessHandleCount")
)

// memoryCounters is PROCESS_MEMORY_COUNTERS_EX of psapi.h.
type memoryCounters struct {
	size, _                         uint32
	_, workingSet                   uintptr
	_, _, _, _, _, _, privateCommit uintptr
}

// readProcess returns the figures of this process by the names of their metrics, without those that Windows does not tell; handles count
// as open files, and committed memory as virtual memory.
func readProcess() map[string]float64 {
	told := map[string]float64{processMaxFiles: mostHandles}
	self := windows.CurrentProcess()
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(self, &created, &exited, &kernel, &user) == nil {
		told[processStarted] = float64(created.Nanoseconds() / 1e9)
		told[processCPU] = toSeconds(kernel) + toSeconds(user)
	}
	memory := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	if ok, _, _ := getProcessMemoryInfo.Call(uintptr(self), uintptr(unsafe.Pointer(&memory)), uintptr(memory.size)); ok != 0 {
		told[processResident], told[processVirtual] = float64(memory.workingSet), float64(memory.privateCommit)
	}
	var handles uint32
	if ok, _, _ := getProcessHandleCount.Call(uintptr(self), uintptr(unsafe.Pointer(&handles))); ok != 0 {
		told[processOpenFiles] = float64(handles)
	}
	return told
}

// toSeconds returns a duration, which Windows tells in steps of 100 ns, in seconds.
func toSeconds(t windows.Filetime) float64 {
	return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
}
