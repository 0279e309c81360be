//go:build linux || darwin

package shim

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

func init() {
	if len(os.Args) < 2 || os.Args[0] != Beside {
		return
	}
	switch os.Args[1] {
	case Witness:
		witness()
	case Guard:
		supervisor := os.Getppid()
		if !saidGoodbye() && len(os.Args) > 3 {
			waitForEnd(supervisor)
			_ = syscall.Exec(os.Args[2], os.Args[3:], os.Environ())
		}
	}
	os.Exit(0)
}

// maxDying bounds the wait for the end of a supervisor that has closed its end of our pipe.
const maxDying = 5 * time.Second

// waitForEnd waits until the supervisor, our parent, has ended. The kernel closes the files of a process that dies one after the other, and
// gives its children another parent after that: until then it may still hold the lock of its claim, and whoever cleans up would take it
// for alive.
func waitForEnd(supervisor int) {
	for end := time.Now().Add(maxDying); os.Getppid() == supervisor && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// witness writes the number of every signal that it gets to standard output, one byte each, until standard input ends.
func witness() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		saidGoodbye()
		os.Exit(0)
	}()
	_, _ = os.Stdout.Write([]byte{0}) // it is ready
	for s := range signals {
		_, _ = os.Stdout.Write([]byte{byte(s.(syscall.Signal))})
	}
}

// saidGoodbye waits for the end of standard input, and reports whether a byte came before.
func saidGoodbye() bool {
	said := false
	for {
		n, err := os.Stdin.Read(make([]byte, 1))
		if said = said || n > 0; err != nil {
			return said
		}
	}
}
