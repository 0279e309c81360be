//go:build !linux

package fence

import (
	"runtime"

	"github.com/plimsoll/plimsoll/process/admission"
)

// adopted is true where a process whose parent ends gets another one: launchd on macOS, none on Windows.
const adopted = runtime.GOOS != "windows"

// checkNamespace finds nothing: there are no PID namespaces here.
func checkNamespace([]admission.Supervisor) Finding { return Finding{} }

// readProgramName returns "": it is not known here, and the name in the list of processes must do.
func readProgramName(int) string { return "" }

// readCookie returns "": the environment of another process cannot be read here.
func readCookie(int) string { return "" }
