//go:build unix

package guard

import "syscall"

const sigContinue = syscall.SIGCONT
