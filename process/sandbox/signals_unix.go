//go:build unix

package sandbox

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal says whether this process has a controlling terminal. With one, the command
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
// second Ctrl-C. Without one they are passed on. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are
// passed on always, to the command's pid and never to a group. A second SIGTERM, SIGHUP or
// (without a terminal) SIGINT ends the whole run after grace. Signals that were ignored
// when we started stay ignored, for the command too.
func (r *Run) Attend(terminal bool, grace time.Duration) (stop func()) {
	forward := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	swallow := []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
	if !terminal {
		forward = append(forward, swallow...)
		swallow = nil
	}
	signals := make(chan os.Signal, 16)
	for _, s := range append(forward, swallow...) {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	if terminal {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		asked := 0
		for {
			select {
			case <-quit:
				return
			case s := <-signals:
				if terminal && (s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGTSTP) {
					continue
				}
				sig := s.(syscall.Signal)
				_ = r.Freeze(false)
				_ = r.Signal(sig)
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
	}
}

func (r *Run) killAfter(grace time.Duration, quit <-chan struct{}) {
	select {
	case <-quit:
	case <-r.done:
	case <-time.After(grace):
		_ = r.Kill()
	}
}

// StopWith stops this process because the command pid has stopped, so that a shell gives
// its prompt back, and lets the command go on when we do. It is what [Spec].OnStop is for.
// The stop is always SIGSTOP: Go's runtime swallows a SIGTSTP that it has once been
// notified of, and to a shell both are a stopped job.
func StopWith(pid int) {
	raiseStop(syscall.SIGSTOP)
	// fg continues the whole group; kill -CONT of our pid alone must reach the command too.
	_ = unix.Kill(pid, unix.SIGCONT)
}
