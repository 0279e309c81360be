package admission

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// retryStale is how long a waiting process leaves a claim alone whose clean-up failed.
const retryStale = 30 * time.Second

// A supervisor that is killed between fork and exec leaves its child with a copy of the
// claim's lock until that child has executed the command: 10 to 120 ms were measured on a
// busy host. A new run looks again for orphanPatience before it takes such a claim for held.
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

// Which locks are probed at every look: those of few holders and waiters, and some of many in turn. Beyond that a process is
// asked for by its number, which takes a fraction of a microsecond and finds all that were killed but those whose parent has not noticed.
const (
	probedHolders = 64
	probedWaiters = 16
	probedInTurn  = 32
)

// reconcile brings the ledger in line with the locks: it adopts claims it did not know,
// drops waiters whose owner is dead, marks dead holders as stale, and hands out at most
// take of them, with their locks. Those in tried rest for retryStale. With all, every lock is probed.
func (b *book) reconcile(take int, tried map[string]time.Time, all bool) (found []dead) {
	if all || len(b.file.Entries) <= probedHolders {
		if err := b.adopt(); err != nil {
			b.warn("ledger", b.ledger.claims(), "the claim files cannot be listed: %v", err)
		}
	}
	holders := 0
	for _, e := range b.file.Entries {
		if e.State == Holding {
			holders++
		}
	}
	few := holders <= probedHolders
	fewWait := len(b.file.Entries)-holders <= probedWaiters
	turn := b.turn()
	var gone []string
	for i, e := range b.file.Entries {
		probed := all || !e.StaleAt.IsZero() || i >= turn && i < turn+probedInTurn
		if e.State == Holding {
			probed = probed || few
		} else {
			probed = probed || fewWait
		}
		if !probed && !e.Owner.ended(b.ledger.owner) {
			continue
		}
		lock, free := b.ledger.probe(e.ID)
		if !free && b.ledger.lockMissing(e.ID) && !e.Owner.alive(b.ledger.owner) {
			lock, free = b.ledger.takeMissing(e.ID)
		}
		if !free {
			e.reaping = !e.StaleAt.IsZero()
			b.orphaned = b.orphaned || b.patient && e.State == Holding && few && e.Owner.gone(b.ledger.owner)
			continue
		}
		if e.State == Waiting {
			lock.Close()
			gone = append(gone, e.ID)
			continue
		}
		if e.StaleAt.IsZero() {
			e.StaleAt, b.changed = b.now, true
		}
		if len(found) >= take || b.now.Sub(tried[e.ID]).Abs() < retryStale {
			lock.Close()
			continue
		}
		found = append(found, dead{e, lock})
	}
	for _, id := range gone {
		b.remove(id)
	}
	return found
}

// turn is where the probing of some goes on. The clock moves it, so that it needs not be written down.
func (b *book) turn() int {
	rounds := (len(b.file.Entries) + probedInTurn - 1) / probedInTurn
	if rounds == 0 {
		return 0
	}
	return int(b.now.UnixNano()/int64(time.Millisecond)%int64(rounds)) * probedInTurn
}

// lockMissing reports a claim whose lock file was removed by somebody else (a cleaner of
// temporary files). Its owner then counts as long as its process is there.
func (l *Ledger) lockMissing(id string) bool {
	_, err := os.Lstat(l.claimLock(id))
	return errors.Is(err, fs.ErrNotExist)
}

func (l *Ledger) takeMissing(id string) (*os.File, bool) {
	f, err := os.OpenFile(l.claimLock(id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, false
	}
	if ok, err := tryLockFile(f); err != nil || !ok {
		f.Close()
		return nil, false
	}
	return f, true
}

// holding are the entries that hold, oldest first.
func (b *book) holding() []*entry { return b.in(Holding) }

// waiting are the entries that wait, in the order of the queue.
func (b *book) waiting() []*entry { return b.in(Waiting) }

func (b *book) in(s State) []*entry {
	var list []*entry
	for _, e := range b.file.Entries {
		if e.State == s {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(x, y *entry) int { return cmp.Compare(x.Ticket, y.Ticket) })
	return list
}

// maxNesting bounds a chain of runs inside runs.
const maxNesting = 32

// nested reports whether e draws on a run that is there: its own reservation and slot
// then do not count. When that run has gone, e stands for itself.
func (b *book) nested(e *entry) bool {
	at := e
	for range maxNesting {
		if at.Parent == "" {
			return at != e
		}
		above := b.byID(at.Parent)
		if above == nil || above.State != Holding {
			return at != e
		}
		at = above
	}
	return false // a circle
}

// byID is find for many questions.
func (b *book) byID(id string) *entry {
	if len(b.index) != len(b.file.Entries) {
		b.index = make(map[string]*entry, len(b.file.Entries))
		for _, e := range b.file.Entries {
			b.index[e.ID] = e
		}
	}
	return b.index[id]
}
