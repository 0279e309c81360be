package admission

import (
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
