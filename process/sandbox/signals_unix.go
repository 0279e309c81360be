//go:build unix

package sandbox

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// Terminal reports whether this process has a controlling terminal. With one, the command
// shares our process group and gets the terminal's signals itself.
func Terminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// Attend makes this process a transparent parent of the run until stop is called.
//
// With a terminal, SIGINT, SIGQUIT, SIGTSTP and SIGWINCH are only kept from ending us: the
// command is in the same process group and has them already, and a second copy would be a
// second Ctrl-C. Without one they are passed on, but not what a [Spec].Caller sent to the whole group. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are
// passed on always, to the command's pid and never to a group. A second SIGTERM, SIGHUP or
// (without a terminal) SIGINT ends the whole run after grace. While leftovers are waited
// for, the first of these, Ctrl-C at a terminal among them, ends the waiting: they are then
// treated as by [KillLeftovers]. SIGHUP and SIGINT stay ignored where they were when we
// started, for the command too (of other signals Go's runtime does not tell).
func (r *Run) Attend(terminal bool, grace time.Duration) (stop func()) {
	signals := r.signals
	if signals == nil {
		signals = catchSignals()
	}
	if terminal && !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	if r.spec.Caller != nil {
		// The streams end with the caller. Who writes to standard error then would be ended, unless somebody listens.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		wg.Go(func() { r.watchCaller(grace, quit) })
	}
	wg.Go(func() {
		asked := 0
		for n := 0; ; n++ {
			select {
			case <-quit:
				return
			case s := <-signals:
				if s != syscall.SIGUSR1 && s != syscall.SIGUSR2 && s != syscall.SIGTSTP {
					r.stopWaiting()
				}
				if terminal && (s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGTSTP) {
					continue
				}
				sig := s.(syscall.Signal)
				_ = r.Freeze(false)
				if seen := r.witness != nil && r.witness.sawGroupSignal(sig); !seen || n < r.early {
					_ = r.Signal(sig)
				}
				if sig == syscall.SIGTERM || sig == syscall.SIGHUP || sig == syscall.SIGINT {
					if asked++; asked == 2 {
						wg.Go(func() { r.killAfter(grace, quit) })
					}
				}
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(quit)
		wg.Wait()
		if r.witness != nil {
			r.witness.stop()
		}
	}
}

// catchSignals returns a channel with the signals that [Run.Attend] attends to, and so keeps them from ending this process.
func catchSignals() chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{
		syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT, syscall.SIGQUIT,
	} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// askToEnd sends SIGTERM to the command, and lets it go on if it is stopped.
func (r *Run) askToEnd() {
	_ = r.Signal(syscall.SIGTERM)
	_ = r.Signal(syscall.SIGCONT)
}

// killAfter kills the run after grace, unless quit is closed or the run is done before.
func (r *Run) killAfter(grace time.Duration, quit <-chan struct{}) {
	select {
	case <-quit:
	case <-r.done:
	case <-time.After(grace):
		_ = r.Kill()
	}
}

// StopWith stops this process because the command pid has stopped, so that a shell gives
// its prompt back, and lets the command go on when we do. It is meant for [Spec].OnStop.
// The stop is always SIGSTOP: Go's runtime swallows a SIGTSTP that it has once been
// notified of, and to a shell both are a stopped job. Where no shell could continue us (the
// main process of a container, a command of ssh -t) only the command stays stopped.
func StopWith(pid int) {
	// A stop that is told when fg has already continued both of us is over: stopping for it would leave a job that nobody waits for.
	if p, err := proctree.Lookup(pid); isOrphanedGroup() || err == nil && p.State != 0 && p.State != 'T' && p.State != 't' {
		return
	}
	raiseStop(syscall.SIGSTOP)
	// fg continues the whole group; kill -CONT of our pid alone must reach the command too.
	_ = unix.Kill(pid, unix.SIGCONT)
}

// isOrphanedGroup reports whether no process of our session outside of our process group is a parent of ours: then nobody has job control over us.
func isOrphanedGroup() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	for pid := unix.Getppid(); ; {
		if of, err := unix.Getsid(pid); pid <= 0 || err != nil || of != session {
			return true
		}
		if of, err := unix.Getpgid(pid); err == nil && of != group {
			return false
		}
		p, err := proctree.Lookup(pid)
		if err != nil {
			return false
		}
		pid = p.PPID
	}
}
