//go:build unix

package admission

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// pipeNotifiers are named pipes, one for each waiter, beside the ledger. A pipe keeps a wake-up for the waiter that is not asleep yet,
// needs none of the host's few inotify instances, and wakes one process instead of all.
type pipeNotifiers struct{ l *Ledger }

type pipeNotifier struct{ f *os.File }

// listen makes the named pipe into which others write to wake the waiter id.
func (p pipeNotifiers) listen(id string) (notifier, error) {
	path := p.l.notifierPath(id)
	err := unix.Mkfifo(path, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = unix.Mkfifo(path, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	// Opened for both, it is never at its end when a ringer closes it.
	f, err := openPipe(path, unix.O_RDWR)
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return &pipeNotifier{f}, nil
}

// wake writes to the waiter's pipe. It does nothing for a waiter that has ended: its pipe has no reader.
func (p pipeNotifiers) wake(id string) { p.writeByte(id, ringByte) }

// watch writes to the waiter's pipe a byte that only shortens its sleep.
func (p pipeNotifiers) watch(id string) { p.writeByte(id, watchByte) }

// What is written into a pipe.
const (
	ringByte  = '\n'
	watchByte = 'w'
)

// writeByte writes one byte into the pipe of the waiter with this ID, without waiting. It does nothing if nobody reads there; errors are
// ignored.
func (p pipeNotifiers) writeByte(id string, what byte) {
	if f, err := openPipe(p.l.notifierPath(id), unix.O_WRONLY); err == nil {
		_, _ = f.Write([]byte{what})
		f.Close()
	}
}

// openPipe opens a named pipe without waiting for the other end; anything else of that name is an error.
func openPipe(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		f.Close()
		return nil, errors.Join(err, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no pipe")})
	}
	return f, nil
}

// wait returns nil after d, or earlier when a ring is read from the pipe; any other byte shortens the wait to lookFirst. If the pipe cannot be
// read, it only sleeps. The error is the cause of ctx.
func (b *pipeNotifier) wait(ctx context.Context, d time.Duration) error {
	until := time.Now().Add(d)
	if err := b.f.SetReadDeadline(until); err != nil {
		return sleep(ctx, d)
	}
	stop := context.AfterFunc(ctx, func() { _ = b.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var rings [64]byte
		n, err := b.f.Read(rings[:])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return sleep(ctx, time.Until(until))
		}
		if err != nil || bytes.IndexByte(rings[:n], ringByte) >= 0 {
			return nil
		}
		until = earliest(until, time.Now().Add(lookFirst))
		if err := b.f.SetReadDeadline(until); err != nil {
			return sleep(ctx, time.Until(until))
		}
	}
}

func (b *pipeNotifier) polls() bool { return false }
func (b *pipeNotifier) close()      { b.f.Close() }
