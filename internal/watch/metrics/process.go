package metrics

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
			all.named(f.kind, f.name, f.help, nil).put(v, nil)
		}
	}
}
