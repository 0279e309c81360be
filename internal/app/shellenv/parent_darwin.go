package shellenv

import (
	"os"

	"golang.org/x/sys/unix"
)

// parent returns the name of the program that started this one, "" when it cannot be told (sysctl kern.proc.pid).
func parent() string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getppid())
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Proc.P_comm[:])
}
