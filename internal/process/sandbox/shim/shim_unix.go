//go:build linux || darwin

package shim

import (
	"os"
	"syscall"
)

// LimitFailed precedes the error number when a limit could not be set; without it the
// command could not be executed.
const LimitFailed = "limit "

// Limits are the resource limits to set, in the kernel's units; 0 leaves one alone.
type Limits struct {
	Data, AddressSpace, Processes uint64
}

// Encode writes the limits as three decimal numbers.
func (l Limits) Encode() string {
	return decimal(l.Data) + "," + decimal(l.AddressSpace) + "," + decimal(l.Processes)
}

func init() {
	if len(os.Args) < 5 || os.Args[0] != Name {
		return
	}
	report := int(parse(os.Args[2]))
	syscall.CloseOnExec(report)
	text := ""
	if errno := limitSelf(os.Args[1]); errno != 0 {
		text = LimitFailed + decimal(uint64(errno))
	} else if errno := become(os.Args[3], os.Args[4:]); errno != 0 {
		text = decimal(uint64(errno))
	}
	_, _ = syscall.Write(report, []byte(text))
	os.Exit(127)
}

func limitSelf(limits string) syscall.Errno {
	var numbers [3]uint64
	i := 0
	for _, c := range []byte(limits) {
		switch {
		case c == ',' && i < 2:
			i++
		case c >= '0' && c <= '9':
			numbers[i] = numbers[i]*10 + uint64(c-'0')
		}
	}
	for i, resource := range []int{syscall.RLIMIT_DATA, syscall.RLIMIT_AS, rlimitNproc} {
		if errno := lower(resource, numbers[i]); errno != 0 {
			return errno
		}
	}
	return 0
}

func become(path string, args []string) syscall.Errno {
	err := syscall.Exec(path, args, os.Environ())
	if err == syscall.ENOEXEC { // a script without an interpreter line, as execvp(3) does it
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), os.Environ())
	}
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.EINVAL
}

// lower sets the soft and the hard limit, never above the present hard limit.
func lower(resource int, to uint64) syscall.Errno {
	if to == 0 {
		return 0
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err.(syscall.Errno)
	}
	to = min(to, now.Max)
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: to, Max: to}); err != nil {
		return err.(syscall.Errno)
	}
	return 0
}

func decimal(n uint64) string {
	var buf [20]byte
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(buf[i:])
		}
	}
}
