//go:build !unix

package core

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// Exit ends this process with the command's status.
func Exit(status, _ int) { os.Exit(status) }

// Interruptible cancels the context on the first Ctrl-C.
func Interruptible(ctx context.Context, _ time.Duration) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// Endable cancels the context on a request to end that is not Ctrl-C: there is none here.
func Endable(ctx context.Context) (context.Context, func()) { return context.WithCancel(ctx) }
