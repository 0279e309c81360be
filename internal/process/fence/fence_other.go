//go:build !linux

package fence

import (
	"runtime"

	"github.com/plimsoll/plimsoll/process/admission"
)

// adopted is true where a process whose parent ends gets another one: launchd on macOS, none on Windows.
const adopted = runtime.GOOS != "windows"

func elsewhere([]admission.Supervisor) Finding { return Finding{} }

// programOf and cookieOf are not known here: the name that the list of processes has must do.
func programOf(int) string { return "" }

func cookieOf(int) string { return "" }
