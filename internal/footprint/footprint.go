// Package footprint makes a process small that waits for hours beside other people's work.
//
//	small := footprint.Shrink() // once it has started
//	defer small.Restore()
//	small.Again() // every minute
//
// A process that has too little address space for this program (ulimit -v) ends with one line that says so, as soon as this package is
// initialised.
//
// Memory comes back as it is used, so nothing but the time of some page faults is lost. On other systems than Linux only
// Go's own memory is given back.
package footprint

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// garbage is GOGC of a small process: the collector runs when a quarter of what is in use has been added. Go's own 100 waits
// for 4 MiB, and a process that waits makes little garbage.
const garbage = 25

// starting is GOGC of a process that may be over in a moment: it collects from 8 MiB on, not from 4, and a command that is looked after
// for a tenth of a second is over without a collection, which would be a tenth of what it costs.
const starting = 200

// Start sets the garbage collector for the start of a process. The caller calls settled when the process begins to wait for something, which
// puts back the setting from before, unless it was changed in between, as [Shrink] does. If GOGC is set, Start does nothing.
func Start() (settled func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(starting)
	return sync.OnceFunc(func() {
		if now := debug.SetGCPercent(before); now != starting { // somebody has set it since
			debug.SetGCPercent(now)
		}
	})
}

// One leaves one processor to a process that starts, and will wait then: each that Go plans for fills pages of its own with what is made on it,
// 0.2 MB from two of them by the time a supervisor waits, and more where a machine has more. What it returns gives all of them back.
func One() (restore func()) {
	processors := max(runtime.GOMAXPROCS(1), processorsBefore)
	return sync.OnceFunc(func() { runtime.GOMAXPROCS(processors) })
}

// processorsBefore is the number of processors before package first.
var processorsBefore int

// Had records the number of processors that there were, where package first has left one before main.
func Had(processors int) { processorsBefore = processors }

// CollectAt sets GOGC for a process whose memory counts more than its time, where nobody has set it.
func CollectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Bound sets a soft limit for the memory of Go in bytes, where GOMEMLIMIT sets none: near it those who allocate help to collect first, where
// a percentage alone lets garbage grow while the collector waits for a processor that others use. What is really needed is still had.
func Bound(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
}

// A Small process waits, and makes next to no garbage meanwhile. Go collects it every two minutes all the same, and its second
// collection files all memory under lists that the first has left empty, 0.4 MB of them for good, more than the garbage of an hour.
// So the collector rests until there is enough garbage to be worth it.
type Small struct {
	mu         sync.Mutex
	percent    int
	limit      int64
	processors int
	resting    bool
	held       int64 // what it held when it began to rest, bytes
	round      int   // how often it began to
	over       bool  // Restore was called
}

const (
	// worthwhile is the growth of a process after which the collector is called, in bytes.
	worthwhile = 384 << 10
	// burst is the memory that Go may take before it collects, in bytes: a process that waits has some 7 MB, half of them only reserved.
	burst = 16 << 20
	// alreadySmall is the memory of a process below which the first collection costs more than it frees, in bytes: the lists and the
	// marks of the collector are 0.5 MB, and the garbage of a start is 0.2.
	alreadySmall = 9 << 19
)

// isTuned reports whether the person has set the collector: then they decide.
func isTuned() bool { return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" }

// Shrink gives back what starting took: garbage, free pages, and the pages of the program that were only read to start. It
// leaves one processor to the process, because each that Go plans for keeps memory of its own: after the collection, since the pages of
// one that goes before it are filed under lists that are otherwise empty, 0.4 MB of them. A process that is small already is not
// collected: the first collection takes more than it would give back. The memory comes back as it is used.
func Shrink() *Small {
	s := &Small{percent: debug.SetGCPercent(-1), limit: debug.SetMemoryLimit(-1)}
	if held, ok := privateMemory(); ok && held < alreadySmall && !isTuned() {
		releaseProgram()
	} else {
		debug.SetGCPercent(garbage)
		Release()
	}
	s.processors = runtime.GOMAXPROCS(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauseCollector()
	return s
}

// Again is to be called once a minute. It gives back the pages of the program that were read since the last time, and collects garbage if there is
// enough to be worth it. After Restore it does nothing.
func (s *Small) Again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if held, ok := privateMemory(); ok && s.resting && held < s.held+worthwhile {
		releaseProgram()
		return
	}
	debug.SetGCPercent(garbage)
	Release()
	s.pauseCollector()
}

// pauseCollector turns the garbage collector off until the memory in use reaches a limit, unless the user has tuned the collector, or the
// memory in use cannot be read. The caller holds mu.
func (s *Small) pauseCollector() {
	if isTuned() {
		return
	}
	held, ok := privateMemory()
	if !ok {
		return
	}
	s.resting, s.held = true, held
	s.round++
	debug.SetMemoryLimit(burst)
	debug.SetGCPercent(-1)
	// What nobody holds is gone after the next collection, which nothing but the limit begins: then there is more to do than to wait.
	runtime.SetFinalizer(&rest{s, s.round}, func(r *rest) { r.of.resumeCollector(r.round) })
}

// rest is one time of resting.
type rest struct {
	of    *Small
	round int
}

// resumeCollector turns the garbage collector on again, as for a small process. It does nothing if the pause with this number is over.
func (s *Small) resumeCollector(round int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.resting || s.round != round { // Again has called it
		return
	}
	s.resting = false
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(s.limit)
}

// Restore puts back the settings that [Shrink] found. A second call does nothing.
func (s *Small) Restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over, s.resting = true, false
	debug.SetGCPercent(s.percent)
	debug.SetMemoryLimit(s.limit)
	runtime.GOMAXPROCS(s.processors)
}

// Release gives memory back and leaves all settings as they are, for a process that goes on to serve requests.
func Release() {
	debug.FreeOSMemory()
	releaseProgram()
}
