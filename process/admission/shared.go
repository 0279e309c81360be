package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of a shared directory, which anybody may write.
const (
	// MaxShared bounds the files in it that are looked at; what is beyond is not seen, with a [Warning].
	MaxShared = 4096
	// SharedLockTimeout bounds the time for which a decision waits for those of other users, whoever holds the lock and why ever. After
	// that it goes on, with a warning.
	SharedLockTimeout = 2 * time.Second

	sharedRetry = 30 * time.Second // after a timeout the lock is only tried, so that a stopped process costs 2 s once and not at each poll
	draftKept   = time.Minute      // a file is filled and named within a millisecond
)

// SharedError is the reason why claims are not shared with other users through a directory.
type SharedError struct {
	Dir string
	Err error
}

// Error names the directory and the cause.
func (e *SharedError) Error() string {
	return fmt.Sprintf("claims are not shared with other users through %s: %v", e.Dir, e.Err)
}

// Unwrap returns the cause.
func (e *SharedError) Unwrap() error { return e.Err }

// ErrSharedLocked is wrapped by a [SharedError] in a warning when the lock of the shared directory was
// not released in time.
var ErrSharedLocked = errors.New("its lock is held by another process, which may be stopped; this decision does not wait for it any longer")

// Others returns the live claims of other users in a shared directory ([Options].Shared), without taking a lock or changing anything. There are
// at most two warnings: about files there that are ignored, and about more than [MaxShared] files. The error is a [*SharedError]; an empty
// directory is not an error.
func Others(dir string) ([]Holder, []Warning, error) {
	d, err := openShared(dir)
	if err != nil {
		return nil, nil, &SharedError{dir, err}
	}
	defer d.close()
	seen, err := d.scan(self().Boot, false)
	if err != nil {
		return nil, nil, &SharedError{dir, err}
	}
	return seen.others, seen.warnings(dir), nil
}

// sharedClaims is the result of one look into the shared directory.
type sharedClaims struct {
	others []Holder
	own    []Holder // of this user, in whatever ledger
	odd    []string // files that are ignored, and why
	more   bool     // than MaxShared files are there
}

// warnings returns at most two warnings, however many files somebody puts there.
func (s sharedClaims) warnings(dir string) []Warning {
	var list []Warning
	if len(s.odd) > 0 {
		text := fmt.Sprintf("a file in %s is ignored: %s", dir, s.odd[0])
		if len(s.odd) > 1 {
			text = fmt.Sprintf("%d files in %s are ignored, the first: %s", len(s.odd), dir, s.odd[0])
		}
		list = append(list, Warning{About: "shared", Path: dir, Text: text})
	}
	if s.more {
		list = append(list, Warning{About: "shared", Path: dir, Text: fmt.Sprintf(
			"more than %d files are in %s: some claims of other users are not seen; look whose they are (ls -l) and remove them", MaxShared, dir)})
	}
	return list
}

// sharing holds what a Ledger remembers about its shared directory: the warnings given, and when the lock was not to be had.
type sharing struct {
	mu      sync.Mutex
	said    map[string]bool
	stuckAt time.Time // when the lock was not given back
}

// maxSaid bounds the warnings that are remembered so as to be given once by each Ledger.
const maxSaid = 64

// sayOnce returns true the first time that it is called with a text, and records it. After maxSaid texts it always returns false.
func (s *sharing) sayOnce(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[text] || len(s.said) >= maxSaid {
		return false
	}
	if s.said == nil {
		s.said = map[string]bool{}
	}
	s.said[text] = true
	return true
}

// lockPatience returns the longest time to wait for the lock of the shared directory: 0 for sharedRetry after a wait in vain.
func (s *sharing) lockPatience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stuckAt.IsZero() && time.Since(s.stuckAt) < sharedRetry {
		return 0
	}
	return SharedLockTimeout
}

// recordLocked records that we got the lock of the shared directory, so that the next wait may be long again.
func (s *sharing) recordLocked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuckAt = time.Time{}
}

// recordTimeout records that the lock of the shared directory was not to be had in time.
func (s *sharing) recordTimeout() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuckAt.IsZero() || time.Since(s.stuckAt) >= sharedRetry {
		s.stuckAt = time.Now()
	}
}

// warnShared hands a warning out, once for each text.
func (l *Ledger) warnShared(w Warning) {
	if l.sharing.sayOnce(w.Text) {
		l.opts.Warn(w)
	}
}

// warnUnshared warns that claims are not shared, and why; once for each reason.
func (l *Ledger) warnUnshared(err error) {
	e := &SharedError{l.opts.Shared, err}
	l.warnShared(Warning{About: "shared", Path: l.opts.Shared, Text: e.Error(), Err: e})
}

// checkShared opens the shared directory, if there is one, to warn at once when it is not fit for sharing.
func (l *Ledger) checkShared() {
	if l.opts.Shared == "" {
		return
	}
	d, err := openShared(l.opts.Shared)
	if err != nil {
		l.warnUnshared(err)
		return
	}
	d.close()
}

// readShared returns the live claims in the shared directory; none if there is no such directory. With tidy it removes the files of dead owners
// that this user may remove. Errors become warnings.
func (l *Ledger) readShared(tidy bool) sharedClaims {
	if l.opts.Shared == "" {
		return sharedClaims{}
	}
	d, err := openShared(l.opts.Shared)
	if err != nil {
		l.warnUnshared(err)
		return sharedClaims{}
	}
	defer d.close()
	seen, err := d.scan(l.owner.Boot, tidy)
	if err != nil {
		l.warnUnshared(err)
	}
	for _, w := range seen.warnings(l.opts.Shared) {
		l.warnShared(w)
	}
	return seen
}

// otherClaims returns the claims in the shared directory that are not in this ledger: those of other users, and those of our own user in another
// ledger (another runtime directory, or a container that has the shared directory too). One of ours may have left this ledger since it was seen
// there; it then left the shared directory first, and so each that is not in the ledger is looked for there once more.
func (b *book) otherClaims() []Holder {
	list := slices.Clone(b.seen.others)
	for _, h := range b.seen.own {
		if b.findEntry(h.ID) == nil && b.ledger.isHeldElsewhere(h.ID) {
			list = append(list, h)
		}
	}
	sortHolders(list)
	return list
}

// isHeldElsewhere reports whether the claim id of our own user is held now, by its file in the shared directory.
func (l *Ledger) isHeldElsewhere(id string) bool {
	d, err := openShared(l.opts.Shared)
	if err != nil { // said when it was seen
		return false
	}
	defer d.close()
	return d.isHeld(l.owner.Boot, id)
}

// lockOutOthers waits until no other user decides, and keeps others from deciding until leave is called. leave is never nil. It is called before the
// ledger's own lock is taken, so that waiting for other users holds up none of our own runs that do not decide. Our own decisions first wait for each
// other, as long as it takes, so that the bounded wait is for other users alone. With an error, other users may decide at the same time; the user has
// been warned of that.
func (l *Ledger) lockOutOthers(ctx context.Context) (leave func(), err error) {
	nothing := func() {}
	if l.opts.Shared == "" {
		return nothing, nil
	}
	turn, err := openRegular(filepath.Join(l.dir, "turn"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nothing, l.unavailableError(err)
	}
	if err := l.waitForLock(ctx, turn); err != nil {
		return nothing, err
	}
	l.writeSignature(turn)
	d, err := openShared(l.opts.Shared)
	if err != nil { // said by others
		return func() { turn.Close() }, err
	}
	defer d.close()
	lock, err := d.lock(ctx, l.sharing.lockPatience())
	if lock != nil {
		l.sharing.recordLocked()
		return func() { lock.Close(); turn.Close() }, nil
	}
	switch {
	case ctx.Err() != nil: // told by what comes next
	case errors.Is(err, ErrSharedLocked):
		l.sharing.recordTimeout()
		l.warnShared(Warning{
			About: "shared", Path: l.opts.Shared, Err: &SharedError{l.opts.Shared, err},
			Text: fmt.Sprintf("decisions of other users may overlap: %s: %v", l.opts.Shared, err),
		})
	case err != nil:
		l.warnShared(Warning{
			About: "shared", Path: l.opts.Shared, Err: &SharedError{l.opts.Shared, err},
			Text: fmt.Sprintf("decisions of other users may overlap: the lock in %s cannot be taken: %v", l.opts.Shared, err),
		})
	}
	return func() { turn.Close() }, err
}

// share publishes a claim for other users. It returns nil when there is no shared directory, e is nested, or that fails; the claim is held all
// the same. A run that was started by force may have reserved more than the machine has: the published size is at most machine, the memory and
// swap of this machine, unless that is 0 (not known).
func (b *book) share(e *entry, machine limit.Bytes) *sharedClaim {
	dir := b.ledger.opts.Shared
	if dir == "" || e.Parent != "" {
		return nil
	}
	d, err := openShared(dir)
	if err != nil { // said by others
		return nil
	}
	defer d.close()
	most := cmp.Or(machine, maxReserved)
	c, err := d.publish(note{
		Schema: schema, Boot: b.ledger.owner.Boot, UID: os.Geteuid(), ID: e.ID,
		Tool: cleanTool(e.Tool), Reservation: min(e.Reservation, maxReserved, most), Since: e.Since,
	})
	if err != nil {
		b.addWarning("shared", dir, "other users do not see this run: %v", err)
		b.warnings[len(b.warnings)-1].Err = &SharedError{dir, err}
		return nil
	}
	return c
}

// addOthers adds to the capacity what is reserved in other ledgers and not used yet. A claim of more than the machine's memory and swap
// holds back nothing: no Plimsoll has shared it, and no process could come to use it; what its process uses is missing from the available
// memory anyway. The claims of one user together count for at most what the machine has. Slots are each ledger's own. The run around r,
// when another ledger has it, is left out: it waits for r.
func (b *book) addOthers(g *capacity, r Request) {
	sums := map[string]limit.Bytes{}
	for _, h := range b.otherClaims() {
		if h.ID == r.Parent && h.User == userName(os.Geteuid()) {
			continue
		}
		g.holders = append(g.holders, h)
		if g.known && h.Reservation > g.machine {
			if b.ledger.sharing.sayOnce("beyond " + h.User) {
				b.addWarning("shared", b.ledger.opts.Shared, "user %s claims %s for %s, more than the memory and swap of this machine (%s): no run can use that, so it holds nothing back",
					h.User, h.Reservation.Human(), h.Tool, g.machine.Human())
			}
			continue
		}
		sums[h.User] = headroom.AddCapped(sums[h.User], h.Unused())
	}
	for name, sum := range sums {
		if g.known && sum > g.capacity {
			text := fmt.Sprintf("user %s claims %s, more than this machine's %s, and counts for that only; start anyway with --force",
				name, sum.Human(), g.capacity.Human())
			if b.ledger.sharing.sayOnce("capped " + name) {
				b.addWarning("shared", b.ledger.opts.Shared, "%s", text)
			}
			sum = g.capacity
		}
		g.claimed = headroom.AddCapped(g.claimed, sum)
	}
}
