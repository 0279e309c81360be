//go:build linux || darwin

package shim

import (
	"os"
	"os/signal"
	"syscall"
)

func init() {
	if len(os.Args) < 2 || os.Args[0] != Beside {
		return
	}
	switch os.Args[1] {
	case Witness:
		witness()
	case Guard:
		if !saidGoodbye() && len(os.Args) > 3 {
			_ = syscall.Exec(os.Args[2], os.Args[3:], os.Environ())
		}
	}
	os.Exit(0)
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
