package e2e

import "golang.org/x/sys/unix"

// unread asks how much of a pipe waits to be read.
const unread = unix.TIOCINQ
