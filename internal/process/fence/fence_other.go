//go:build !linux

package fence

import (
	"runtime"

	"github.com/plimsoll/plimsoll/process/admission"
)

// adopted is true where a process whose parent ends gets another one: launchd on macOS, none on Windows.
const adopted = runtime.GOOS != "windows"

// checkNamespace decides for a process whose visible ancestors are all outside. A process in a PID namespace of its own sees none of those above
// it, so it may belong to any run that is alive outside. From the first namespace all processes are seen.
func checkNamespace([]admission.Supervisor) Finding { return Finding{} }

// programOf and cookieOf are not known here: the name that the list of processes has must do.
func programOf(int) string { return "" }

// cookieOf returns the ID of a run in the environment that a process was started with; "" also if its environment cannot be read.
func cookieOf(int) string { return "" }
