package admission

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of a ledger.
const (
	// MaxClaims is how many runs may hold claims at once, nested ones included.
	MaxClaims = 4096
	// MaxWaiters is how many runs may wait.
	MaxWaiters = 1024
	// MaxRemains is the largest JSON that [Claim.Record] takes, in bytes.
	MaxRemains = 64 << 10
)

// DefaultLockTimeout is how long an operation tries to get the ledger's lock, which is
// held for a millisecond or so at a time.
const DefaultLockTimeout = 10 * time.Second

// Options configure a [Ledger].
type Options struct {
	// Dir is the runtime directory; the ledger lives in Dir/ledger/BOOT. It is made with
	// mode 0700 when it is missing.
	Dir string
	// Shared is a directory, made by an admin (root's, mode 1777), through which the claims of other users
	// count in the sum and ours in theirs; "" is none. When it is not fit for that, a
	// [Warning] with a [*SharedError] says so, and each user is alone. Unix only.
	Shared string
	// LockTimeout bounds the wait for the ledger's lock ([DefaultLockTimeout]).
	LockTimeout time.Duration
	// Current tells what a holder uses now, in bytes; 0 when it cannot tell, and then what
	// the run itself published by [Claim.Observe] is taken. It is called with the
	// ledger's lock held, so it must take microseconds.
	Current func(Holder) limit.Bytes
	// Reap removes what a dead owner left, by its [Holder.Remains]; see [Ledger.Sweep]. Without
	// it, dead claims that recorded remains are kept as stale ones.
	Reap func(Holder) error
	// Warn hears what the user should know and what stops nothing. It is called without
	// the lock, on the goroutine of the call that found it out.
	Warn func(Warning)
	// KeepOld leaves the ledgers of earlier boots alone: for a look that changes nothing.
	KeepOld bool

	noBell bool // only poll: set by tests that run on a fake clock
}

// Warning is something the user should know that stops nothing.
type Warning struct {
	// About is the subject: "ledger", "stale", "headroom", "nested", "shared" or "bound".
	About string
	// Text says what happened and what was done about it.
	Text string
	// Path is the file it is about, if any: a damaged ledger is here under its new name.
	Path string
	// Err is the cause of a "stale" warning: what Reap returned; for some "shared" ones a [*SharedError].
	Err error
}

// UnavailableError says that there is no ledger to be had: its directory cannot be made
// or written, its lock is not released, a newer version of Plimsoll has written it, or the disk
// is full. The caller decides whether runs go on without admission.
type UnavailableError struct {
	// Dir is the directory of the ledger.
	Dir string
	// Err is the cause.
	Err error
}

// Error names the directory and the cause.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("admission: no ledger in %s: %v", e.Dir, e.Err)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrLocked is wrapped when the ledger's lock was not released in time.
var ErrLocked = errors.New("another plimsoll process holds the lock; is it stopped (state T in ps)?")

// ErrNewer is wrapped when the ledger has a schema that this version does not know.
var ErrNewer = errors.New("it was written by a newer version of plimsoll; update this one or wait until its runs have ended")

// Ledger is the record of who holds and who waits on this host since it booted. It is
// safe for concurrent use, by goroutines and by processes.
type Ledger struct {
	opts    Options
	dir     string // of this boot
	owner   Owner
	bell    func(dir string) bell
	sharing sharing
}

// Open finds or makes the ledger of this boot. The error is an [*UnavailableError].
func Open(o Options) (*Ledger, error) {
	if o.LockTimeout <= 0 {
		o.LockTimeout = DefaultLockTimeout
	}
	if o.Warn == nil {
		o.Warn = func(Warning) {}
	}
	if o.Current == nil {
		o.Current = func(Holder) limit.Bytes { return 0 }
	}
	l := &Ledger{opts: o, owner: self(), bell: openBell}
	if o.noBell {
		l.bell = func(string) bell { return deafBell{} }
	}
	if o.Dir == "" {
		return nil, &UnavailableError{Dir: "(none)", Err: errors.New("no runtime directory is known; set PLIMSOLL_STATE_DIR")}
	}
	boots := filepath.Join(o.Dir, "ledger")
	l.dir = filepath.Join(boots, l.owner.Boot)
	if err := l.makeDirs(); err != nil {
		return nil, l.unavailable(err)
	}
	if !o.KeepOld {
		l.oldBoots(bootsAtOnce, removeBoot)
	}
	l.checkShared()
	return l, nil
}

// Dir is the directory of this boot's ledger.
func (l *Ledger) Dir() string { return l.dir }

func (l *Ledger) makeDirs() error {
	if err := os.MkdirAll(l.claims(), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.lockPath(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l *Ledger) claims() string     { return filepath.Join(l.dir, "claims") }
func (l *Ledger) lockPath() string   { return filepath.Join(l.dir, "lock") }
func (l *Ledger) ledgerPath() string { return filepath.Join(l.dir, "ledger.json") }
func (l *Ledger) bellPath() string   { return filepath.Join(l.dir, "bell") }

func (l *Ledger) unavailable(err error) error {
	if _, ok := errors.AsType[*UnavailableError](err); ok {
		return err
	}
	return &UnavailableError{Dir: l.dir, Err: err}
}

// locked runs do with the ledger loaded under its lock, and writes the ledger back when
// do marked it changed. Warnings are passed on after the lock is released.
func (l *Ledger) locked(ctx context.Context, do func(*book) error) error {
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	b := &book{ledger: l, now: time.Now()}
	err = func() error {
		defer lock.Close() // closing releases it
		if err := b.load(); err != nil {
			return l.unavailable(err)
		}
		doErr := do(b)
		if b.changed {
			if err := b.store(); err != nil {
				return errors.Join(l.unavailable(err), doErr)
			}
		}
		return doErr
	}()
	for _, w := range b.warnings {
		l.opts.Warn(w)
	}
	return err
}

// lock takes the ledger's lock. It asks again and again rather than blocking in the
// kernel, so that ctx and the timeout are heard even when the holder is stopped.
func (l *Ledger) lock(ctx context.Context) (*os.File, error) {
	pause, waited := 200*time.Microsecond, time.Duration(0)
	for {
		f, err := l.tryLock()
		if err != nil {
			return nil, l.unavailable(err)
		}
		if f != nil {
			return f, nil
		}
		if waited >= l.opts.LockTimeout {
			return nil, l.unavailable(fmt.Errorf("%s: %w", l.lockPath(), ErrLocked))
		}
		nap := pause/2 + rand.N(pause)
		if err := sleep(ctx, nap); err != nil {
			return nil, err
		}
		waited += nap
		pause = min(2*pause, 5*time.Millisecond)
	}
}

// tryLock returns nil, nil while another process has the lock.
func (l *Ledger) tryLock() (*os.File, error) {
	f, err := os.OpenFile(l.lockPath(), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // the directory was removed under us
		if err := l.makeDirs(); err != nil {
			return nil, err
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ok, err := tryLockFile(f)
	if err != nil || !ok {
		f.Close()
		return nil, err
	}
	// A clean-up may have removed the file between open and lock; a lock on a file that
	// has no name any more excludes nobody.
	ours, err := f.Stat()
	if err == nil {
		if named, statErr := os.Stat(l.lockPath()); statErr == nil && os.SameFile(ours, named) {
			return f, nil
		}
	}
	f.Close()
	return nil, err
}

// sleep waits for d or for ctx, whose cause is then the error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
