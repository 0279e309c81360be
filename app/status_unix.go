//go:build unix

package app

import (
	"context"
	"os"
	"os/signal"
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
func interruptible(ctx context.Context) (context.Context, func()) {
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
	go func() {
		select {
		case s := <-signals:
			cancel(&interrupted{int(s.(syscall.Signal))})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// ignoresHangup says that SIGHUP was ignored when this process started, as under nohup.
func ignoresHangup() bool { return signal.Ignored(syscall.SIGHUP) }
