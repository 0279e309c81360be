package admission

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// bootID returns random(4)'s boot_id: a new one at every boot, the same in every container
// of a host.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		host, _ := os.Hostname()
		return "host-" + host
	}
	return string(text)
}

// pidNamespace returns the inode number of this process's PID namespace, such as 4026531836 of pid:[4026531836]; 0 when it is unknown.
func pidNamespace() uint64 {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	_, text, _ := strings.Cut(link, "[")
	n, _ := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64)
	return n
}

// startTime returns the start of a process in clock ticks since boot (field 22 of /proc/PID/stat, proc_pid_stat(5)), or 0.
func startTime(pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	return parseStart(text)
}

// parseStart returns field 22 of a stat file, or 0. It skips the command name, which may hold spaces and brackets.
func parseStart(text []byte) uint64 {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return 0
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return n
}

// processStopped reports whether a process is stopped by a signal or by a debugger (state T or t in /proc/PID/stat).
func processStopped(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	end := bytes.LastIndexByte(text, ')')
	if end < 0 || end+2 >= len(text) {
		return false
	}
	return text[end+2] == 'T' || text[end+2] == 't'
}
