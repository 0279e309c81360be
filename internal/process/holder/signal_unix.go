//go:build unix

package holder

import "syscall"

const sigContinue = syscall.SIGCONT
