//go:build !unix

package app

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// Exit ends this process with the command's status.
func (s Status) Exit() { os.Exit(s.Code) }

// interruptible cancels the context on the first Ctrl-C.
func interruptible(ctx context.Context, _ time.Duration) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// ownFile: there TMPDIR is the user's own.
func ownFile(os.FileInfo) bool { return true }

func ignoresHangup() bool { return false }
