package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// State says whether a run in the ledger holds its reservation, waits, or is dead.
type State string

// The states of a [Holder].
const (
	// Holding means that the run has its reservation.
	Holding State = "holding"
	// Waiting means that it is in the queue.
	Waiting State = "waiting"
	// Stale means that its owner is dead and its remains are not cleaned up yet.
	Stale State = "stale"
)

// Holder is a run in the ledger, as seen at one moment.
type Holder struct {
	ID      string
	State   State
	Tool    string
	Project string
	// Variant names the use of a generic tool ("test" of make), "" for others.
	Variant string
	// User owns the run when it is in another ledger and seen through [Options.Shared]: another
	// user's, or our own user's with another runtime directory. Nothing is known of such a run's Project,
	// Owner.PID and Remains. "" is a run in this ledger.
	User string
	// Parent is the claim that this run draws on, "" when it stands for itself.
	Parent string
	// Reservation is the memory it asked for, in bytes.
	Reservation limit.Bytes
	// Current is its use of memory now, in bytes; 0 when nobody can tell, and for waiters.
	Current limit.Bytes
	// Swapped has its bytes in swap: it has had those of its reservation as well.
	Swapped limit.Bytes
	Owner   Owner
	// Since is the time at which it was admitted, or began to wait.
	Since time.Time
	// Forced is true when it was started against the sum or the slots.
	Forced bool
	// Remains is the last argument of [Claim.Record]; nil before that.
	Remains json.RawMessage
	// StaleWhy is the reason why a stale claim could not be cleaned up.
	StaleWhy string
}

// Unused returns what the run has reserved and does not use yet, which nobody else gets: max(0, reservation − current).
func (h Holder) Unused() limit.Bytes {
	return h.Reservation - min(h.Reservation, headroom.AddCapped(h.Current, h.Swapped))
}

// sortHolders sorts by Since, the oldest first.
func sortHolders(list []Holder) {
	sorting.By(list, func(a, b Holder) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
}

// describeEntry returns the entry as a [Holder]. It reads the claim's file for the names and, for a holder, what the run uses, with [Options].Current
// or as the run has published it.
func (b *book) describeEntry(e *entry) Holder {
	if b.sample != nil {
		return b.sample(e)
	}
	h := Holder{ // names are copied: those of a record share the memory of the whole table
		ID: strings.Clone(e.ID), State: e.State, Tool: strings.Clone(e.Tool), Project: strings.Clone(e.Project), Parent: strings.Clone(e.Parent),
		Reservation: e.Reservation, Owner: e.Owner, Since: e.Since, Forced: e.Forced, StaleWhy: e.StaleWhy,
	}
	if c, err := b.ledger.readCard(e.ID); err == nil {
		h.Remains = c.remains
		h.Tool, h.Project, h.Variant = c.tool, c.project, c.variant
		if e.StaleWhy == staleUnread {
			h.StaleWhy = c.staleWhy
		}
	}
	if e.State == Waiting {
		return h
	}
	if !e.StaleAt.IsZero() {
		h.State = Stale
	}
	h.Swapped = max(0, b.ledger.opts.Swapped(h))
	if h.Current = max(0, b.ledger.opts.Current(h)); h.Current == 0 {
		h.Current = b.ledger.Observed(e.ID)
	}
	return h
}

// Observed returns the use that the run published last by [Claim.Observe], 0 for none.
func (l *Ledger) Observed(id string) limit.Bytes {
	text, err := statefile.Read(l.usePath(id), 64)
	if err != nil {
		return 0
	}
	return parseUse(text)
}

// parseUse reads the number that writeUse wrote; 0 for anything else.
func parseUse(text []byte) limit.Bytes {
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return limit.Bytes(max(0, n))
}

// writeUse writes a number of a fixed width in one call, so that a reader never sees a
// part of one and no rename is needed.
func writeUse(f *os.File, n limit.Bytes) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "%020d\n", int64(n)), 0)
	return err
}

// Holders returns all runs in the ledger: first those that hold, oldest first, then the runs in other ledgers that are seen, then those
// that wait, in the order of the queue. Runs whose owner is dead are listed as stale until the next [Ledger.Sweep] or [Ledger.Acquire];
// waiters whose owner is dead are left out.
func (l *Ledger) Holders(ctx context.Context) ([]Holder, error) {
	var list []Holder
	seen := l.readShared(false)
	err := l.withLock(ctx, func(b *book) error {
		b.seen = seen
		b.reconcile(0, nil, everyLock)
		for _, e := range b.holders() {
			list = append(list, b.describeEntry(e))
		}
		sortHolders(list)
		list = append(list, b.otherClaims()...)
		for _, e := range b.waiters() {
			list = append(list, b.describeEntry(e))
		}
		l.cards.dropExcept(b.file.Entries)
		return nil
	})
	return list, err
}

// oldestHolder returns the oldest run that holds what e waits for, alone in a slice; nil when there is none.
func (b *book) oldestHolder(e *entry, reason Reason) []Holder {
	var first *entry
	for _, h := range b.file.Entries {
		if h.State != Holding || reason == ToolSlots && h.slot() != e.slot() || b.isNested(h) {
			continue
		}
		if first == nil || h.Since.Before(first.Since) {
			first = h
		}
	}
	if first == nil {
		return nil
	}
	return []Holder{b.describeEntry(first)}
}

// card is the part of a [Holder] that is read from its claim file. That file is hardly ever written anew, so that whoever lists the runs
// each second, as every supervisor of many and every viewer does, only checks whether it is still the same file.
type card struct {
	tool, project, variant, staleWhy string
	remains                          json.RawMessage // shared by all who ask; nobody changes it
}

// cards stores the cards that were read, by the ID of the claim.
type cards struct {
	mu    sync.Mutex
	known map[string]knownCard
}

type knownCard struct {
	card
	file os.FileInfo
}

// unsettled is the age up to which a file is read again in any case: a newer file may have the same time and inode, because the clocks of
// file systems have steps of up to 10 ms and an inode is given away again at once.
const unsettled = time.Second

// readCard returns the card of a claim. It is kept in memory, and the file is read again only when it has changed.
func (l *Ledger) readCard(id string) (card, error) {
	file, err := os.Lstat(l.claimFilePath(id)) // before it is read: when it is replaced in between, the next look finds another
	if err != nil {
		return card{}, err
	}
	l.cards.mu.Lock()
	defer l.cards.mu.Unlock()
	if k, ok := l.cards.known[id]; ok && os.SameFile(k.file, file) && k.file.Size() == file.Size() && k.file.ModTime().Equal(file.ModTime()) {
		return k.card, nil
	}
	delete(l.cards.known, id)
	c, err := l.readClaimFile(id)
	if err != nil {
		return card{}, err
	}
	out := card{
		tool: strings.Clone(c.Entry.Tool), project: strings.Clone(c.Entry.Project), variant: strings.Clone(c.Entry.Variant), staleWhy: strings.Clone(c.Entry.StaleWhy),
		remains: c.Remains,
	}
	if time.Since(file.ModTime()) > unsettled {
		if l.cards.known == nil {
			l.cards.known = map[string]knownCard{}
		}
		l.cards.known[id] = knownCard{out, file}
	}
	return out, nil
}

// dropExcept drops the cards of claims that are not in living.
func (c *cards) dropExcept(living []*entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) <= len(living) {
		return
	}
	ids := make(map[string]bool, len(living))
	for _, e := range living {
		ids[e.ID] = true
	}
	for id := range c.known {
		if !ids[id] {
			delete(c.known, id)
		}
	}
}
