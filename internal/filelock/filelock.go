// Package filelock locks files between processes: flock(2) on Unix, LockFileEx on Windows.
//
//	f, err := filelock.Open(ctx, path+".lock") // makes the file, waits, is exclusive
//	defer filelock.Release(f)
//
//	ok, err := filelock.Try(f, filelock.Shared)
//	err := filelock.Lock(ctx, f, filelock.Exclusive)
//
// A lock belongs to the open file. It ends when the file is closed or its process ends, however it ends, and not while that is stopped. [Lock]
// and [Open] wait asleep in the kernel, in the order in which they came: of hundreds of processes that poll some would wait for seconds behind
// others that came later. Who locks a file that others remove asks [Named] whether it is still that file; [Open] does so itself.
//
// All functions may be called from any goroutine.
package filelock

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Mode selects what a lock keeps out. The zero value is Exclusive.
type Mode uint8

const (
	// Exclusive keeps out every other lock.
	Exclusive Mode = 0
	// Shared keeps out exclusive locks only.
	Shared Mode = 1 << 0
	// Readable leaves the content readable to others on Windows, where nobody else may read a byte that is
	// locked exclusively: the byte that is locked lies far behind the end of the file. All who lock the
	// file must say so. Elsewhere locks keep nobody from reading.
	Readable Mode = 1 << 1
)

// MaxAbandoned bounds the threads of this process that sleep on behind waits whose context has ended.
const MaxAbandoned = 32

var abandoned atomic.Int32

// How often a lock is tried while too many threads sleep: first soon, then at most five times a second.
const (
	minPoll = 5 * time.Millisecond
	maxPoll = 200 * time.Millisecond
)

// Try takes the lock on f unless somebody else's is in the way; then it returns false. A lock that
// f has already is replaced by the new one.
func Try(f *os.File, m Mode) (bool, error) { return lock(f, m, false) }

// Unlock gives up the lock on a file that stays open.
func Unlock(f *os.File) { unlock(f) }

// Release gives up the lock on f and closes it. Others can take the lock at once, while after Close alone a child
// that this process has just forked may have it until it executes its program.
func Release(f *os.File) error {
	unlock(f)
	return f.Close()
}

// Lock takes the lock on f and waits for it until ctx ends, whose cause is then the error. A free lock is taken even if ctx has ended. On an error f
// is closed, at once or as soon as the kernel lets go of it.
func Lock(ctx context.Context, f *os.File, m Mode) error {
	ok, err := lock(f, m, false)
	switch {
	case ok:
		return nil
	case err != nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case ctx.Done() == nil:
		_, err = lock(f, m, true)
	case abandoned.Load() >= MaxAbandoned:
		err = poll(ctx, f, m)
	default:
		return lockInThread(ctx, f, m)
	}
	if err != nil {
		_ = f.Close()
	}
	return err
}

// lockInThread waits for the lock in a goroutine, which blocks a thread of its own. If ctx ends first, the goroutine closes f once the kernel
// returns.
func lockInThread(ctx context.Context, f *os.File, m Mode) error {
	granted, givenUp := make(chan error), make(chan struct{})
	go func() {
		_, err := lock(f, m, true)
		select {
		case granted <- err:
		case <-givenUp:
			_ = f.Close()
			abandoned.Add(-1)
		}
	}()
	select {
	case err := <-granted:
		if err != nil {
			_ = f.Close()
		}
		return err
	case <-ctx.Done():
		abandoned.Add(1)
		close(givenUp)
		return context.Cause(ctx)
	}
}

// poll tries to take the lock again and again until ctx ends, with pauses that become longer.
func poll(ctx context.Context, f *os.File, m Mode) error {
	for pause := minPoll; ; pause = min(2*pause, maxPoll) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		if ok, err := lock(f, m, false); ok || err != nil {
			return err
		}
	}
}

// Open makes the file at path with mode 0600 if there is none and takes its exclusive lock, for which it waits until ctx ends. It begins again if the
// file was removed or replaced meanwhile. What is no regular file is an error that wraps [statefile.ErrNotRegular].
func Open(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := Lock(ctx, f, Exclusive); err != nil {
			return nil, err
		}
		there, err := os.Lstat(path)
		if Named(f, there, err) {
			return f, nil
		}
		_ = f.Close()
	}
}

// While makes the directory of path if necessary, takes the lock of [Open], calls do and releases the lock. It returns the error of do, or the one
// before it.
func While(ctx context.Context, path string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = Release(lock) }()
	return do()
}

// Named reports whether the file under the name of f, which [os.Lstat] has answered for, is still f. A
// lock on a file that has lost its name excludes nobody.
func Named(f *os.File, there fs.FileInfo, err error) bool {
	if err != nil {
		return false
	}
	ours, err := f.Stat()
	return err == nil && os.SameFile(ours, there)
}
