//go:build !unix

package app

import (
	"context"
	"os"
	"os/signal"
)

// Exit ends this process with the command's status.
func (s Status) Exit() { os.Exit(s.Code) }

// interruptible cancels the context on the first Ctrl-C.
func interruptible(ctx context.Context) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

func ignoresHangup() bool { return false }
