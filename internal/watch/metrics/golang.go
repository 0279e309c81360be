package metrics

import (
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"strings"
	"time"
)

// Names of package runtime/metrics that more than one family goes by.
const (
	heapObjects  = "/memory/classes/heap/objects:bytes"
	heapUnused   = "/memory/classes/heap/unused:bytes"
	heapReleased = "/memory/classes/heap/released:bytes"
	heapFree     = "/memory/classes/heap/free:bytes"
	stacks       = "/memory/classes/heap/stacks:bytes"
	mspanInUse   = "/memory/classes/metadata/mspan/inuse:bytes"
	mcacheInUse  = "/memory/classes/metadata/mcache/inuse:bytes"
	tinyObjects  = "/gc/heap/tiny/allocs:objects"
)

// goFamilies are the families of Prometheus' library for Go, each the sum of these values of package runtime/metrics, which reads them
// without stopping the program.
var goFamilies = []struct {
	name string
	kind kind
	help string
	sum  []string
}{
	{"go_gc_gogc_percent", gauging, "Heap size target percentage configured by the user, otherwise 100.", []string{"/gc/gogc:percent"}},
	{"go_gc_gomemlimit_bytes", gauging, "Go runtime memory limit configured by the user, otherwise math.MaxInt64.", []string{"/gc/gomemlimit:bytes"}},
	{"go_sched_gomaxprocs_threads", gauging, "Number of operating system threads that can execute user-level Go code simultaneously.", []string{"/sched/gomaxprocs:threads"}},
	{"go_memstats_alloc_bytes", gauging, "Number of bytes allocated in heap and currently in use.", []string{heapObjects}},
	{"go_memstats_alloc_bytes_total", counting, "Total number of bytes allocated in heap until now, even if released already.", []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_sys_bytes", gauging, "Number of bytes obtained from system.", []string{"/memory/classes/total:bytes"}},
	{"go_memstats_mallocs_total", counting, "Total number of heap objects allocated, both live and gc-ed.", []string{"/gc/heap/allocs:objects", tinyObjects}},
	{"go_memstats_frees_total", counting, "Total number of heap objects frees.", []string{"/gc/heap/frees:objects", tinyObjects}},
	{"go_memstats_heap_alloc_bytes", gauging, "Number of heap bytes allocated and currently in use, same as go_memstats_alloc_bytes.", []string{heapObjects}},
	{"go_memstats_heap_sys_bytes", gauging, "Number of heap bytes obtained from system.", []string{heapObjects, heapUnused, heapReleased, heapFree}},
	{"go_memstats_heap_idle_bytes", gauging, "Number of heap bytes waiting to be used.", []string{heapReleased, heapFree}},
	{"go_memstats_heap_inuse_bytes", gauging, "Number of heap bytes that are in use.", []string{heapObjects, heapUnused}},
	{"go_memstats_heap_released_bytes", gauging, "Number of heap bytes released to OS.", []string{heapReleased}},
	{"go_memstats_heap_objects", gauging, "Number of currently allocated objects.", []string{"/gc/heap/objects:objects"}},
	{"go_memstats_stack_inuse_bytes", gauging, "Number of bytes obtained from system for stack allocator in non-CGO environments.", []string{stacks}},
	{"go_memstats_stack_sys_bytes", gauging, "Number of bytes obtained from system for stack allocator.", []string{stacks, "/memory/classes/os-stacks:bytes"}},
	{"go_memstats_mspan_inuse_bytes", gauging, "Number of bytes in use by mspan structures.", []string{mspanInUse}},
	{"go_memstats_mspan_sys_bytes", gauging, "Number of bytes used for mspan structures obtained from system.", []string{mspanInUse, "/memory/classes/metadata/mspan/free:bytes"}},
	{"go_memstats_mcache_inuse_bytes", gauging, "Number of bytes in use by mcache structures.", []string{mcacheInUse}},
	{"go_memstats_mcache_sys_bytes", gauging, "Number of bytes used for mcache structures obtained from system.", []string{mcacheInUse, "/memory/classes/metadata/mcache/free:bytes"}},
	{"go_memstats_buck_hash_sys_bytes", gauging, "Number of bytes used by the profiling bucket hash table.", []string{"/memory/classes/profiling/buckets:bytes"}},
	{"go_memstats_gc_sys_bytes", gauging, "Number of bytes used for garbage collection system metadata.", []string{"/memory/classes/metadata/other:bytes"}},
	{"go_memstats_other_sys_bytes", gauging, "Number of bytes used for other system allocations.", []string{"/memory/classes/other:bytes"}},
	{"go_memstats_next_gc_bytes", gauging, "Number of heap bytes when next garbage collection will take place.", []string{"/gc/heap/goal:bytes"}},
}

// gcQuantiles are those of pauses that debug.ReadGCStats gives when it is asked for five.
var gcQuantiles = []float64{0, 0.25, 0.5, 0.75, 1}

// showGo shows what Go tells of this process.
func showGo(all *instruments) {
	var samples []runtimemetrics.Sample
	for _, f := range goFamilies {
		for _, name := range f.sum {
			samples = append(samples, runtimemetrics.Sample{Name: name})
		}
	}
	runtimemetrics.Read(samples)
	for _, f := range goFamilies {
		sum, known := uint64(0), true
		for _, s := range samples[:len(f.sum)] {
			if s.Value.Kind() == runtimemetrics.KindUint64 {
				sum += s.Value.Uint64()
			} else {
				known = false // another version of Go
			}
		}
		samples = samples[len(f.sum):]
		if known {
			all.addNamed(f.kind, f.name, f.help+" Equals to "+strings.Join(f.sum, " + ")+".", nil).setFloat(float64(sum), nil)
		}
	}
	threads, _ := runtime.ThreadCreateProfile(nil)
	all.addNamed(gauging, "go_threads", "Number of OS threads created.", nil).set(int64(threads), nil)
	all.addNamed(gauging, "go_goroutines", "Number of goroutines that currently exist.", nil).set(int64(runtime.NumGoroutine()), nil)
	all.addNamed(gauging, "go_info", "Information about the Go environment.", nil).set(1, makeLabels(label{"version", runtime.Version()}))

	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, len(gcQuantiles))}
	debug.ReadGCStats(&stats)
	last := float64(0)
	if stats.NumGC > 0 {
		last = float64(stats.LastGC.UnixNano()) / 1e9
	}
	all.addNamed(gauging, "go_memstats_last_gc_time_seconds", "Number of seconds since 1970 of last garbage collection.", nil).setFloat(last, nil)
	pauses := all.addNamed(summing, "go_gc_duration_seconds", "A summary of the wall-time pause (stop-the-world) duration in garbage collection cycles.", gcQuantiles)
	pauses.setSummary(stats.PauseQuantiles, stats.PauseTotal, uint64(stats.NumGC))
}

// What every process shows under these names, by the conventions of Prometheus' client libraries ("Writing client libraries",
// standard and runtime collectors), and what the library for Go adds.
const (
	processCPU          = "process_cpu_seconds_total"
	processMaxFiles     = "process_max_fds"
	processReceived     = "process_network_receive_bytes_total"
	processSent         = "process_network_transmit_bytes_total"
	processOpenFiles    = "process_open_fds"
	processResident     = "process_resident_memory_bytes"
	processStarted      = "process_start_time_seconds"
	processVirtual      = "process_virtual_memory_bytes"
	processVirtualLimit = "process_virtual_memory_max_bytes"
)

var processFamilies = []struct {
	name string
	kind kind
	help string
}{
	{processCPU, counting, "Total user and system CPU time spent in seconds."},
	{processMaxFiles, gauging, "Maximum number of open file descriptors."},
	{processReceived, counting, "Number of bytes received by the process over the network."},
	{processSent, counting, "Number of bytes sent by the process over the network."},
	{processOpenFiles, gauging, "Number of open file descriptors."},
	{processResident, gauging, "Resident memory size in bytes."},
	{processStarted, gauging, "Start time of the process since unix epoch in seconds."},
	{processVirtual, gauging, "Virtual memory size in bytes."},
	{processVirtualLimit, gauging, "Maximum amount of virtual memory available in bytes."},
}

// showProcess shows what the system tells of this process; what it does not tell is left out.
func showProcess(all *instruments) {
	told := readProcess()
	for _, f := range processFamilies {
		if v, ok := told[f.name]; ok {
			all.addNamed(f.kind, f.name, f.help, nil).setFloat(v, nil)
		}
	}
}
