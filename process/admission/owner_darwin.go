package admission

import (
	"os"

	"golang.org/x/sys/unix"
)

// bootID returns kern.bootsessionuuid: a new one at every boot.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || id == "" {
		host, _ := os.Hostname()
		return "host-" + host
	}
	return id
}

// pidNamespace returns 0: there are no PID namespaces here.
func pidNamespace() uint64 { return 0 }
