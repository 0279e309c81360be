package footprint

import (
	"runtime"
	"runtime/debug"
)

// garbage is GOGC of a small process: the collector runs when a quarter of what is in use has been added. Go's own 100 waits
// for 4 MiB, and a process that waits makes little garbage.
const garbage = 25

// Shrink gives back what starting took: garbage, free pages, and the pages of the program that were only read to start. It
// leaves one processor to the process, because each that Go plans for keeps memory of its own. The function it returns
// undoes the settings; the memory comes back as it is used.
func Shrink() (restore func()) {
	percent := debug.SetGCPercent(garbage)
	processors := runtime.GOMAXPROCS(1)
	Release()
	return func() {
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(processors)
	}
}

// Release gives memory back and leaves all settings as they are, for a process that goes on to serve requests.
func Release() {
	debug.FreeOSMemory()
	releaseProgram()
}
