// Package shim is the few instructions that run in the child between fork and exec: it
// sets resource limits on itself and becomes the command.
//
// Go's fork can't set resource limits, so the supervisor executes its own binary again
// under the name [Name]; the init of this package sees that name, does its work and never
// returns. It imports next to nothing and is initialised before the packages that take
// time, so that the detour costs a millisecond or two. Any program that imports
// process/sandbox has it, test binaries included.
//
// Arguments: NAME, the limits (see [Encode]), the descriptor to report a failure on, the
// path, then the command's own argument vector. On success the descriptor closes on exec
// and the supervisor reads nothing; on failure it reads the error number.
package shim

import (
	"os"
	"syscall"
)

// Name is the argument zero that makes this binary act as the shim.
const Name = "plimsoll-shim"

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
	if errno := become(os.Args[1], os.Args[3], os.Args[4:]); errno != 0 {
		_, _ = syscall.Write(report, []byte(decimal(uint64(errno))))
	}
	os.Exit(127)
}

// rlimitNproc is RLIMIT_NPROC, which package syscall does not name.
const rlimitNproc = 6

func become(limits, path string, args []string) syscall.Errno {
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

func parse(s string) uint64 {
	var n uint64
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			n = n*10 + uint64(c-'0')
		}
	}
	return n
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
