package admission

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// retryStale is the time for which a process leaves a claim alone after its clean-up has failed.
const retryStale = 30 * time.Second

// A supervisor that is killed between fork and exec leaves its child with a copy of the
// claim's lock until that child has executed the command: 10 to 120 ms were measured on a
// busy host. A new run retries for orphanPatience before it treats such a claim as held.
const (
	orphanPatience = 500 * time.Millisecond
	orphanPoll     = 2 * time.Millisecond
)

// dead is a claim whose owner is gone; its lock is ours until it is closed, so that no
// second sweeper works on it.
type dead struct {
	entry *entry
	lock  *os.File
}

// These bounds choose the owners that are checked at each look. Probing a lock is certain and costs about 10 µs: with few holders and
// waiters all are probed, with many a part in turn. Asking whether a process exists costs less than a microsecond. It finds every killed
// owner except a zombie. With many holders, and for waiters far back in the queue, a part is asked in turn.
const (
	probedHolders = 64
	probedWaiters = 16
	probedInTurn  = 16
	askedHolders  = 512
	askedInTurn   = 128
)

// probeDepth says how many owners one look checks.
type probeDepth int

const (
	someOwners probeDepth = iota // as the constants above say
	allHolders                   // also every process of a holder: before somebody has to wait
	everyLock                    // before somebody is refused
)

// reconcile brings the ledger in line with the locks: it adopts claims that the ledger does not list, removes waiters whose owner is dead, and marks
// dead holders as stale. It returns at most maxDead of the dead holders for clean-up, with their locks, which the caller closes. It leaves out those
// tried within retryStale. depth says how many owners are checked. It sets b.orphaned if a holder's owner is gone but its lock is not.
func (b *book) reconcile(maxDead int, tried map[string]time.Time, depth probeDepth) (found []dead) {
	if depth == everyLock || len(b.file.Entries) <= probedHolders {
		if err := b.adoptUnlisted(); err != nil {
			b.addWarning("ledger", b.ledger.claimsDir(), "the claim files cannot be listed: %v", err)
		}
	}
	near, holders := b.lastExaminedTicket()
	few := holders <= probedHolders
	fewWait := len(b.file.Entries)-holders <= probedWaiters
	allAsked := depth == allHolders || holders <= askedHolders
	probeTurn, askTurn := b.probeStart(probedInTurn), b.probeStart(askedInTurn)
	var deadWaiters []string
	for i, e := range b.file.Entries {
		probed := depth == everyLock || !e.StaleAt.IsZero() || i >= probeTurn && i < probeTurn+probedInTurn
		asked := i >= askTurn && i < askTurn+askedInTurn
		if e.State == Holding {
			probed, asked = probed || few, asked || allAsked
		} else {
			probed, asked = probed || fewWait, asked || e.Ticket <= near
		}
		if !probed && (!asked || !e.Owner.hasNoPID(b.ledger.owner)) {
			continue
		}
		lock, free, removed := b.ledger.tryClaimLock(e.ID)
		if removed && !e.Owner.isAlive(b.ledger.owner) {
			lock, free = b.ledger.recreateLock(e.ID)
		}
		if !free {
			e.reaping = !e.StaleAt.IsZero()
			b.orphaned = b.orphaned || b.awaitOrphans && e.State == Holding && few && e.Owner.isGone(b.ledger.owner)
			continue
		}
		if e.State == Waiting {
			lock.Close()
			deadWaiters = append(deadWaiters, e.ID)
			continue
		}
		if e.StaleAt.IsZero() {
			e.StaleAt, b.changed = b.now, true
		}
		if len(found) >= maxDead || b.now.Sub(tried[e.ID]).Abs() < retryStale {
			lock.Close()
			continue
		}
		found = append(found, dead{e, lock})
	}
	for _, id := range deadWaiters {
		b.removeEntry(id)
	}
	return found
}

// probeStart returns the index of the first entry to check in this look. It follows from the clock, so no state has to be stored.
func (b *book) probeStart(atATime int) int {
	rounds := (len(b.file.Entries) + atATime - 1) / atATime
	if rounds == 0 {
		return 0
	}
	return int(b.now.UnixNano()/int64(time.Millisecond)%int64(rounds)) * atATime
}

// lastExaminedTicket returns the ticket of the last waiter that a decision examines, and the number of holders. Owners of later tickets
// need not be checked now.
func (b *book) lastExaminedTicket() (ticket uint64, holders int) {
	tickets := make([]uint64, 0, len(b.file.Entries))
	for _, e := range b.file.Entries {
		if e.State == Waiting {
			tickets = append(tickets, e.Ticket)
		}
	}
	holders = len(b.file.Entries) - len(tickets)
	if len(tickets) <= lookAhead {
		return math.MaxUint64, holders
	}
	slices.Sort(tickets)
	return tickets[lookAhead-1], holders
}

// isLockMissing reports whether the lock file of a claim is gone: somebody else (a cleaner of temporary files) has removed it. The owner then
// counts as alive as long as its process exists.
func (l *Ledger) isLockMissing(id string) bool { return isMissing(l.claimLockPath(id)) }

// recreateLock makes the lock file of a claim whose file is gone, and locks it; false if another process was faster.
func (l *Ledger) recreateLock(id string) (*os.File, bool) {
	f, err := os.OpenFile(l.claimLockPath(id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, false
	}
	if ok, err := filelock.Try(f, filelock.Exclusive); err != nil || !ok {
		f.Close()
		return nil, false
	}
	return f, true
}

// holders returns the entries that hold, in the order of their tickets.
func (b *book) holders() []*entry { return b.entriesIn(Holding) }

// waiters returns the entries that wait, in the order of the queue.
func (b *book) waiters() []*entry { return b.entriesIn(Waiting) }

// entriesIn returns the entries in a state, in the order of their tickets.
func (b *book) entriesIn(s State) []*entry {
	var list []*entry
	for _, e := range b.file.Entries {
		if e.State == s {
			list = append(list, e)
		}
	}
	sorting.StableBy(list, func(x, y *entry) int { return cmp.Compare(x.Ticket, y.Ticket) })
	return list
}

// maxNesting bounds a chain of runs inside runs.
const maxNesting = 32

// isNested reports whether e draws on the claim of a run around it that holds: e's own reservation and slot do not count then. After that run
// has gone, e counts by itself.
func (b *book) isNested(e *entry) bool {
	at := e
	for range maxNesting {
		if at.Parent == "" {
			return at != e
		}
		above := b.lookUp(at.Parent)
		if above == nil || above.State != Holding {
			return at != e
		}
		at = above
	}
	return false // a circle
}

// lookUp is findEntry for many look-ups: it builds an index at the first.
func (b *book) lookUp(id string) *entry {
	if len(b.index) != len(b.file.Entries) {
		b.index = make(map[string]*entry, len(b.file.Entries))
		for _, e := range b.file.Entries {
			b.index[e.ID] = e
		}
	}
	return b.index[id]
}

// isMissing reports whether there is no file of this name.
func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
