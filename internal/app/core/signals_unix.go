//go:build unix

package core

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Exit ends this process the way a command ended: with its status, or by the signal that ended it (0 for none). A command that died of SIGINT,
// SIGQUIT, SIGHUP or SIGTERM makes us die of it too: a shell stops its loop only when it sees that, and not on status 130.
func Exit(status, signalled int) {
	sig := syscall.Signal(signalled)
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
	os.Exit(status)
}

// Interruptible cancels the context on the first Ctrl-C or request to end. What was ignored when we started stays ignored: nohup is for the queue
// too. What does not notice within patience ends with the process, so that no signal is swallowed; 0 waits for ever.
func Interruptible(ctx context.Context, patience time.Duration) (context.Context, func()) {
	return cancelledBy(ctx, patience, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
}

// Endable cancels the context on a request to end that is not Ctrl-C, as [Interruptible] does.
func Endable(ctx context.Context) (context.Context, func()) {
	return cancelledBy(ctx, 0, syscall.SIGTERM, syscall.SIGHUP)
}

// cancelledBy returns a context that the first of these signals cancels, with [Interrupted] as its cause. Signals that this process ignores
// do not count. With a patience, a second signal has its usual effect, and the process exits by the signal if the returned function, which
// ends the watch, was not called in that time.
func cancelledBy(ctx context.Context, patience time.Duration, by ...os.Signal) (context.Context, func()) {
	var heard []os.Signal
	for _, s := range by {
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
			cancel(&Interrupted{int(s.(syscall.Signal))})
			var late <-chan time.Time
			if patience > 0 {
				signal.Stop(signals) // a second one has its usual effect
				late = time.After(patience)
			}
			select {
			case <-over:
			case <-late:
				Exit(128+int(s.(syscall.Signal)), int(s.(syscall.Signal)))
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
