package sandbox

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Terminal reports whether this process has a console. With one, the command shares it and
// gets Ctrl-C, Ctrl-Break and the closing of the window itself.
func Terminal() bool {
	console, err := openConsole("CONIN$")
	if err != nil {
		return false
	}
	_ = windows.CloseHandle(console)
	return true
}

// Attend makes this process a transparent parent of the run until stop is called.
//
// With a console, Ctrl-C and Ctrl-Break are only kept from ending us: the command has them
// already. Without one, where the command is in a process group of its own, they are
// passed on as Ctrl-Break, which is all that can be sent to a group; the run ends after
// grace if that could be sent, and at once if not. When the window closes, the user logs
// out or the system shuts down, the command is told by Windows; what is left of the run
// after grace is ended.
func (r *Run) Attend(terminal bool, grace time.Duration) (stop func()) {
	signals := r.signals
	if signals == nil {
		signals = catchSignals()
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ending := false
		for {
			select {
			case <-quit:
				return
			case s := <-signals:
				r.stopWaiting()
				if terminal && s == os.Interrupt || ending {
					continue
				}
				ending = true
				if !terminal && windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(r.pid)) != nil {
					_ = r.Kill()
					continue
				}
				wg.Go(func() {
					select {
					case <-quit:
					case <-r.done:
					case <-time.After(grace):
						_ = r.Kill()
					}
				})
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(quit)
		wg.Wait()
	}
}

// askToEnd sends Ctrl-Break to a command with a process group of its own; another one cannot
// be asked without asking its neighbours too.
func (r *Run) askToEnd() {
	if r.spec.Detach {
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(r.pid))
	}
}

// catchSignals returns a channel with the signals that [Run.Attend] attends to, and so keeps them from ending this process.
func catchSignals() chan os.Signal {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals
}

// StopWith does nothing: Windows has no job control.
func StopWith(int) {}
