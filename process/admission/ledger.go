package admission

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of a ledger.
const (
	// MaxClaims bounds the runs that hold claims at once, nested ones included.
	MaxClaims = 8192
	// MaxWaiters bounds the runs that wait.
	MaxWaiters = 1024
	// MaxRemains is the largest JSON that [Claim.Record] takes, in bytes.
	MaxRemains = 64 << 10
)

// Options configure a [Ledger].
type Options struct {
	// Dir is the runtime directory; the ledger lives in Dir/ledger/BOOT. It is made with
	// mode 0700 when it is missing.
	Dir string
	// Shared is a directory, made by an admin (root's, mode 1777), through which the claims of other users count in the sum and ours in
	// theirs; "" for none. When it is not fit for that, a [Warning] with a [*SharedError] says so, and claims are not shared. Unix only.
	Shared string
	// LockTimeout is the time that a stopped process may keep the ledger's lock before Acquire fails and names
	// it ([DefaultLockTimeout]).
	LockTimeout time.Duration
	// Current returns the use of a holder now, in bytes; 0 when it is unknown, and then what
	// the run itself published by [Claim.Observe] is taken. It is called with the
	// ledger's lock held, so it must take microseconds.
	Current func(Holder) limit.Bytes
	// Swapped returns what a holder has in swap, in bytes, which counts as had of its reservation: what an idle run gives back to the machine
	// would else be missing from it twice. It is called as Current is; nil is nothing.
	Swapped func(Holder) limit.Bytes
	// Reap removes what a dead owner left, by its [Holder.Remains]; see [Ledger.Sweep]. Without
	// it, dead claims that recorded remains are kept as stale ones.
	Reap func(Holder) error
	// Warn receives what the user should know and what stops nothing. It is called without
	// the lock, on the goroutine of the call that found it out.
	Warn func(Warning)
	// KeepOld leaves the ledgers of earlier boots alone, which [Open] otherwise removes: for a look that changes nothing.
	KeepOld bool

	alwaysPoll bool // wake waiters within this process only: set by tests that run on a fake clock
}

// Warning is something the user should know that stops nothing.
type Warning struct {
	// About is the subject: "ledger", "stale", "headroom", "nested", "shared" or "bound".
	About string
	// Text describes the event and the reaction to it.
	Text string
	// Path is the file it is about, if any: a damaged ledger is here under its new name.
	Path string
	// Err is the cause of a "stale" warning: what Reap returned; for some "shared" ones a [*SharedError].
	Err error
}

// UnavailableError means that the ledger cannot be used: its directory cannot be made or written, its lock is not released, a newer version
// of Plimsoll has written it, or the disk is full. The caller decides whether runs go on without admission.
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

// Unwritable reports whether the ledger cannot be written at all (no permission, a read-only or full file system), so that no run of this
// user is coordinated. Any other cause, such as a lock that is not released, is a reason to start no run: others do coordinate theirs.
func (e *UnavailableError) Unwritable() bool {
	return e.Dir == NoDir || errors.Is(e.Err, fs.ErrPermission) || isUnwritable(e.Err)
}

// NoDir is [UnavailableError].Dir when no directory for a ledger is known.
const NoDir = "(none)"

// ErrNewer is wrapped by errors about a ledger whose schema this version does not know.
var ErrNewer = errors.New("it was written by a newer version of plimsoll; update this one or wait until its runs have ended")

// Ledger records which runs hold a claim and which wait, on this host since it booted. It is safe for concurrent use, by goroutines and by
// processes.
type Ledger struct {
	opts      Options
	dir       string // of this boot
	owner     Owner
	notifiers notifiers
	sharing   sharing
	cards     cards
}

// Open returns the ledger of this boot, and makes it if there is none. The error is an [*UnavailableError].
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
	if o.Swapped == nil {
		o.Swapped = func(Holder) limit.Bytes { return 0 }
	}
	l := &Ledger{opts: o, owner: self()}
	l.notifiers = pipeNotifiers{l}
	if o.alwaysPoll {
		l.notifiers = &memoryNotifiers{waiting: map[string]*memoryNotifier{}}
	}
	if o.Dir == "" {
		return nil, &UnavailableError{Dir: NoDir, Err: errors.New("no runtime directory is known; set PLIMSOLL_STATE_DIR")}
	}
	boots := filepath.Join(o.Dir, "ledger")
	l.dir = filepath.Join(boots, l.owner.Boot)
	if err := l.makeDirs(); err != nil {
		return nil, l.unavailableError(err)
	}
	if !o.KeepOld {
		l.forOldBoots(bootsAtOnce, removeBoot)
	}
	l.checkShared()
	return l, nil
}

// Dir returns the directory of this boot's ledger.
func (l *Ledger) Dir() string { return l.dir }

// makeDirs makes the ledger's directories and its lock file, if they are missing.
func (l *Ledger) makeDirs() error {
	if err := os.MkdirAll(l.claimsDir(), 0o700); err != nil {
		return err
	}
	f, err := openRegular(l.lockPath(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}

// claimsDir returns the directory of the claims' files, and lockPath the file of the ledger's lock.
func (l *Ledger) claimsDir() string { return filepath.Join(l.dir, "claims") }
func (l *Ledger) lockPath() string  { return filepath.Join(l.dir, "lock") }

// unavailableError returns err as an [*UnavailableError] about this ledger, unless it is one already.
func (l *Ledger) unavailableError(err error) error {
	if _, ok := errors.AsType[*UnavailableError](err); ok {
		return err
	}
	return &UnavailableError{Dir: l.dir, Err: err}
}

// withLock loads the ledger under its lock, calls do, and writes the ledger back if do has set changed, also when do returns an error. Without
// the lock it then wakes the marked waiters, unless the ledger could not be written, and passes the warnings on.
func (l *Ledger) withLock(ctx context.Context, do func(*book) error) error {
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	b := &book{ledger: l, now: time.Now()}
	stored := true
	err = func() error {
		defer lock.Close() // closing releases it
		defer b.close()
		if err := b.load(); err != nil {
			return l.unavailableError(err)
		}
		doErr := do(b)
		if b.changed {
			if err := b.writeTable(); err != nil {
				stored = false
				return errors.Join(l.unavailableError(err), doErr)
			}
		}
		return doErr
	}()
	if stored { // also where do refuses: a waiter that is marked as ready and not told would miss its turn
		l.wakeWaiters(b)
	}
	for _, w := range b.warnings {
		l.opts.Warn(w)
	}
	return err
}

// sleep waits for d, or until ctx is done, and then returns its cause.
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

// Glance is the state of the ledger's file at one moment, taken without the ledger's lock. Take one before [Ledger.Holders] and another one
// later: if nothing was written between the two, a run that was alone in the ledger still is.
type Glance struct {
	table fs.FileInfo // nil where nothing can be told
	at    time.Time
}

// coarse is more than the step to which file systems round times, within which two writes may have the same time.
const coarse = 2 * time.Second

// Glance returns the present state of the ledger's file.
func (l *Ledger) Glance() Glance {
	table, err := os.Lstat(l.tablePath())
	if err != nil {
		return Glance{}
	}
	return Glance{table, time.Now()}
}

// Unchanged reports whether nothing was written from g on until later was taken; false where that is unsure.
func (g Glance) Unchanged(later Glance) bool {
	if g.table == nil || later.table == nil || !os.SameFile(g.table, later.table) || g.table.Size() != later.table.Size() {
		return false
	}
	written := g.table.ModTime()
	return written.Equal(later.table.ModTime()) && g.at.Sub(written) > coarse
}

// maxPeeks bounds how many claims [Peek] reads.
const maxPeeks = 256

// unopened returns the ledger of this boot in a runtime directory, whether it exists or not. It locks and makes nothing.
func unopened(dir string) *Ledger {
	return &Ledger{dir: filepath.Join(dir, "ledger", fileName(bootID()))}
}

// Peek returns the claims in a runtime directory as their own files describe them, at most 256, in no order. It takes no lock and does not
// read the table: State may be out of date, Current is 0, and owners may be dead. It is for callers that must be quick, such as a status
// line.
func Peek(dir string) []Holder {
	l := unopened(dir)
	ids, _, _ := l.claimNames(maxPeeks)
	var list []Holder
	for _, id := range ids {
		if c, err := l.readClaimFile(id); err == nil {
			e := c.Entry
			list = append(list, Holder{
				ID: e.ID, State: e.State, Tool: e.Tool, Project: e.Project, Variant: e.Variant, Parent: e.Parent,
				Reservation: e.Reservation, Owner: e.Owner, Since: e.Since, Forced: e.Forced, Remains: c.Remains,
			})
		}
	}
	return list
}

// PeekUse returns the use that a run published last by [Claim.Observe], in bytes; 0 when it has published nothing or is gone.
func PeekUse(dir, id string) limit.Bytes {
	if !ValidID(id) {
		return 0
	}
	return unopened(dir).Observed(id)
}
