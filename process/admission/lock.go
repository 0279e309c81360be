package admission

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// DefaultLockTimeout is the time that one and the same process may keep the ledger's lock while it is
// stopped, before those that wait for the lock give up and name it. The lock is held for about a
// millisecond at a time, and the wait itself has no bound as long as the lock goes from hand to hand.
const DefaultLockTimeout = 10 * time.Second

// busyFactor multiplies the wait for a holder that is not stopped: on a host with a
// thousand runnable processes a holder may not get the processor for many seconds.
const busyFactor = 6

// ErrLocked is wrapped when the ledger's lock was not released in time.
var ErrLocked = errors.New("the lock on who holds memory is not released")

// openRegular opens a regular file of the ledger; anything else of that name, such as a link or a pipe, is an error.
func openRegular(path string, flags int) (*os.File, error) { return statefile.Open(path, flags, 0o600) }

// lock takes the ledger's lock; the caller closes the file to give it up. Those that wait get it in the order in which they came, and ctx ends
// the wait at once.
func (l *Ledger) lock(ctx context.Context) (*os.File, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f, err := l.openLock()
		if err != nil {
			return nil, l.unavailableError(err)
		}
		if f == nil { // the directory was removed under us and has been made again
			continue
		}
		if err := l.waitForLock(ctx, f); err != nil {
			return nil, err
		}
		// A clean-up may have removed the file between open and lock.
		if there, err := os.Lstat(l.lockPath()); filelock.Named(f, there, err) {
			l.writeSignature(f)
			return f, nil
		}
		f.Close()
	}
}

// openLock opens the lock file. It returns nil and no error when it had to make the directory again.
func (l *Ledger) openLock() (*os.File, error) {
	f, err := openRegular(l.lockPath(), os.O_RDWR|os.O_CREATE)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.makeDirs()
	}
	return f, err
}

// waitForLock locks f. If it cannot, it closes f and returns the reason: one process has kept the lock for too long, or the cause of ctx.
func (l *Ledger) waitForLock(ctx context.Context, f *os.File) error {
	ok, err := filelock.Try(f, filelock.Exclusive)
	if err != nil {
		f.Close()
		return l.unavailableError(err)
	}
	if ok {
		return nil
	}
	failpoint("lock busy")
	wait, giveUp := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { l.watchLockHolder(wait, f, giveUp) })
	err = filelock.Lock(wait, f, filelock.Exclusive)
	giveUp(nil)
	watch.Wait()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return l.unavailableError(err)
}

// watchLockHolder calls giveUp when one process keeps the lock of f for too long: a stopped one for Options.LockTimeout, any other one for busyFactor
// times that. It returns when wait is done.
func (l *Ledger) watchLockHolder(wait context.Context, f *os.File, giveUp context.CancelCauseFunc) {
	every := time.NewTicker(l.opts.LockTimeout / 8)
	defer every.Stop()
	since, last := time.Now(), readSignature(f)
	for {
		select {
		case <-wait.Done():
			return
		case <-every.C:
		}
		now := readSignature(f)
		if now != last {
			since, last = time.Now(), now
			continue
		}
		waited := time.Since(since)
		if waited < l.opts.LockTimeout {
			continue
		}
		stopped, who := now.describe(l.owner)
		if stopped || waited >= busyFactor*l.opts.LockTimeout {
			giveUp(fmt.Errorf("%w: %s has had %s for %s; continue it (kill -CONT) or end it",
				ErrLocked, who, l.lockPath(), waited.Round(time.Second)))
			return
		}
	}
}

// lockSignature is written by the holder of the lock into its file: its process, and the time at which it was given the lock.
type lockSignature struct {
	pid       int
	start     uint64
	namespace uint64
	at        int64 // Unix nanoseconds: tells one time of holding from the next
}

// writeSignature writes this process into the lock's file, for the message of those that wait. An error is ignored.
func (l *Ledger) writeSignature(f *os.File) {
	_, _ = f.WriteAt(fmt.Appendf(nil, "%010d %020d %020d %020d\n", l.owner.PID, l.owner.Start, l.owner.PIDNamespace, time.Now().UnixNano()), 0)
}

// readSignature returns who holds the lock, as the lock's file says; the zero value if nobody has signed.
func readSignature(f *os.File) lockSignature {
	var text [74]byte
	n, _ := f.ReadAt(text[:], 0)
	return parseSignature(text[:n])
}

// parseSignature reads a signature; it returns the zero one for a file that nobody has signed.
func parseSignature(text []byte) lockSignature {
	fields := strings.Fields(string(text))
	if len(fields) != 4 {
		return lockSignature{}
	}
	var n [4]uint64
	for i, field := range fields {
		var err error
		if n[i], err = strconv.ParseUint(field, 10, 63); err != nil {
			return lockSignature{}
		}
	}
	return lockSignature{pid: int(n[0]), start: n[1], namespace: n[2], at: int64(n[3])}
}

// describe returns words for the process that holds the lock, as far as us, this process, can see it, and whether it is stopped.
func (s lockSignature) describe(us Owner) (stopped bool, who string) {
	switch {
	case s.pid == 0:
		return false, "another process"
	case s.namespace != us.PIDNamespace:
		return false, fmt.Sprintf("process %d of another container", s.pid)
	case s.start != 0 && startTime(s.pid) != s.start: // it has ended, and somebody has a copy of its lock
		return false, fmt.Sprintf("what process %d, which has ended, left", s.pid)
	}
	if stopped = processStopped(s.pid); stopped {
		return true, fmt.Sprintf("plimsoll (pid %d), which is stopped,", s.pid)
	}
	return false, fmt.Sprintf("plimsoll (pid %d)", s.pid)
}
