//go:build !linux && !darwin

package admission

import "os"

// bootID returns a name of the host alone: claims of an earlier boot are then found dead by their locks instead of being set apart by their
// directory.
func bootID() string {
	host, _ := os.Hostname()
	return "host-" + host
}

// pidNamespace returns 0: there are no PID namespaces here.
func pidNamespace() uint64 { return 0 }
