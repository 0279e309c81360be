//go:build unix

package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Exit ends this process the way the command ended. A command that died of SIGINT,
// SIGQUIT, SIGHUP or SIGTERM makes us die of it too: a shell stops its loop only when it
// sees that, and not on status 130.
func (s Status) Exit() {
	sig := syscall.Signal(s.Signal)
	switch sig {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM:
		if !signal.Ignored(sig) {
			// The core, if any, is the command's; ours would only overwrite it.
			_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
			if defaultAction(sig) {
				_ = syscall.Kill(os.Getpid(), sig)
				time.Sleep(time.Second) // until the signal has been delivered
			}
		}
	}
	os.Exit(s.Code)
}

// interruptible cancels the context on the first Ctrl-C or request to end. What was ignored
// when we started stays ignored: nohup is for the queue too.
// What does not notice within patience ends with the process, so that no signal is swallowed; 0
// waits for ever.
func interruptible(ctx context.Context, patience time.Duration) (context.Context, func()) {
	var heard []os.Signal
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			heard = append(heard, s)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	if len(heard) > 0 { // none would mean all
		signal.Notify(signals, heard...)
	}
	over := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			cancel(&interrupted{int(s.(syscall.Signal))})
			var late <-chan time.Time
			if patience > 0 {
				signal.Stop(signals) // a second one has its usual effect
				late = time.After(patience)
			}
			select {
			case <-over:
			case <-late:
				Status{Code: 128 + int(s.(syscall.Signal)), Signal: int(s.(syscall.Signal))}.Exit()
			}
		case <-over:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
	})
}

// ownFile says that a file is this user's.
func ownFile(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// ignoresHangup says that SIGHUP was ignored when this process started, as under nohup.
func ignoresHangup() bool { return signal.Ignored(syscall.SIGHUP) }
