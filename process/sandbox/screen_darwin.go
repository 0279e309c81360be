package sandbox

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TIOCGETA

// stopWithin bounds the wait for the SIGCONT that ended a stop, should it get lost.
const stopWithin = time.Second

// raiseStop stops this process and returns when it was continued. A signal to a whole
// process may take effect after kill(2) returns, so the SIGCONT that ends the stop is
// waited for.
func raiseStop(s syscall.Signal) {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = unix.Kill(unix.Getpid(), s)
	select {
	case <-continued:
	case <-time.After(stopWithin):
	}
}
