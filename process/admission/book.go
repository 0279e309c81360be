package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/limit"
)

// schema is the version of the claim files.
const schema = 1

// maxLedger bounds what is read of a ledger file: MaxClaims + MaxWaiters entries of at most about 3 KiB.
const maxLedger = 16 << 20

// entry is one line of the ledger: a run that holds or waits.
type entry struct {
	ID          string      `json:"id"`
	State       State       `json:"state"`
	Ticket      uint64      `json:"ticket"` // order of arrival
	Tool        string      `json:"tool"`
	Project     string      `json:"project,omitempty"`
	Variant     string      `json:"variant,omitempty"` // in the claim's own file only
	Parent      string      `json:"parent,omitempty"`
	Reservation limit.Bytes `json:"reservation_bytes"`
	Owner       Owner       `json:"owner"`
	Since       time.Time   `json:"since"`
	Forced      bool        `json:"forced,omitempty"`
	NoSlot      bool        `json:"no_slot,omitempty"`

	// What a waiter asks for, so that those behind it can tell whether they harm it.
	MinFree      limit.Bytes `json:"min_free_bytes,omitempty"`
	CountSwap    bool        `json:"count_swap,omitempty"`
	SlotsPerTool int         `json:"slots_per_tool,omitempty"`
	SlotsTotal   int         `json:"slots_total,omitempty"`

	Bypassed int       `json:"bypassed,omitempty"`  // how often it was overtaken to its cost
	ReadyAt  time.Time `json:"ready_at,omitzero"`   // since when it could go and has not
	Missed   bool      `json:"missed,omitempty"`    // it let its turn pass: it is stopped
	StaleAt  time.Time `json:"stale_at,omitzero"`   // since when its owner is known dead
	StaleWhy string    `json:"stale_why,omitempty"` // why it could not be cleaned up

	reaping bool        // by another process, now
	record  int         // its place in the table, 0 for none yet
	used    limit.Bytes // how much of the reservation was in use at the time of book.sum
}

// slot returns the name under which the entry's slot is counted, see slotName.
func (e *entry) slot() string { return slotName(e.Tool) }

// staleUnread is the [entry.StaleWhy] of an entry read from the table, which has no room for the text: the claim's own file has it.
const staleUnread = "see its claim file"

// ledgerFile is the ledger as a whole.
type ledgerFile struct {
	Schema  int      `json:"schema"`
	Ticket  uint64   `json:"ticket"` // the last one given out
	Entries []*entry `json:"entries"`
}

// claimFile is the file of one claim: a copy of its entry, so that a lost ledger can be rebuilt,
// and what the run has recorded about itself.
type claimFile struct {
	Schema  int             `json:"schema"`
	Entry   *entry          `json:"entry"`
	Remains json.RawMessage `json:"remains,omitempty"`
}

// claimLockPath, claimFilePath and usePath return the paths of a claim's files.
func (l *Ledger) claimLockPath(id string) string { return filepath.Join(l.claimsDir(), id+".lock") }
func (l *Ledger) claimFilePath(id string) string { return filepath.Join(l.claimsDir(), id+".json") }
func (l *Ledger) usePath(id string) string       { return filepath.Join(l.claimsDir(), id+".use") }

// book is the ledger in memory, between taking its lock and giving it back.
type book struct {
	ledger       *Ledger
	now          time.Time
	file         ledgerFile
	index        map[string]*entry // see lookUp
	changed      bool
	awaitOrphans bool // wait for claims that are locked although their owner is dead
	orphaned     bool // there is such a claim: its lock will be free in a moment
	warnings     []Warning
	seen         sharedClaims // in the shared directory
	toWake       []string     // the waiters to wake when the lock is released
	toWatch      []string     // those that are to look within lookFirst

	table       *os.File // nil when there is none yet
	image       []byte   // the table as it was read
	sum         snapshot
	damage      error  // what was wrong with a file that was set aside
	damagedPath string // its new name
	// sample reads the use of a holder; nil asks its files and [Options].Current.
	sample func(*entry) Holder
}

// addWarning adds a warning, to be handed out when the lock is released.
func (b *book) addWarning(about, path, format string, args ...any) {
	b.warnings = append(b.warnings, Warning{About: about, Path: path, Text: fmt.Sprintf(format, args...)})
}

// setAside renames a damaged file, and records the damage for the warning. The ledger is then rebuilt from the claim files.
func (b *book) setAside(path string, damage error) error {
	aside, err := store.SetAsidePath(path)
	if err != nil {
		return fmt.Errorf("%s is damaged (%w) and cannot be set aside: %w", path, damage, err)
	}
	b.damage, b.damagedPath, b.changed = damage, aside, true
	return nil
}

// validate returns an error if the entry has values that this package does not write.
func (e *entry) validate() error {
	switch {
	case e == nil:
		return errors.New("null")
	case !ValidID(e.ID):
		return fmt.Errorf("bad id %q", e.ID)
	case e.Reservation < 0 || e.MinFree < 0 || e.Bypassed < 0:
		return fmt.Errorf("%s: a negative size or count", e.ID)
	case e.State != Holding && e.State != Waiting:
		return fmt.Errorf("%s: unknown state %q", e.ID, e.State)
	}
	return nil
}

// adoptUnlisted adds the claims that have files but are not in the ledger: after a damaged ledger, or when a process was killed between writing
// the two. It removes the files of a claim that had not written anything. A claim that is held but cannot be read is added with a reservation
// of 0, and a warning.
func (b *book) adoptUnlisted() error {
	names, err := os.ReadDir(b.ledger.claimsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return b.ledger.makeDirs()
	}
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(b.file.Entries))
	for _, e := range b.file.Entries {
		known[e.ID] = true
	}
	for _, name := range names {
		id, isLock := strings.CutSuffix(name.Name(), ".lock")
		if !isLock {
			id, _, _ = strings.Cut(name.Name(), ".")
		}
		if known[id] || !ValidID(id) {
			continue
		}
		if !isLock && !b.ledger.isLockMissing(id) { // told by its lock file
			continue
		}
		c, err := b.ledger.readClaimFile(id)
		lock, free, _ := b.ledger.tryClaimLock(id)
		if lock != nil {
			lock.Close()
		}
		switch {
		case err != nil && !isLock: // what is left of a removal that was cut short
			_ = os.Remove(filepath.Join(b.ledger.claimsDir(), name.Name()))
			continue
		case err != nil && free: // killed before it had written anything, so it has started nothing
			b.ledger.removeFiles(id)
			continue
		case err != nil:
			c.Entry = &entry{ID: id, State: Holding, Tool: "unknown", Since: b.now}
			b.addWarning("ledger", b.ledger.claimFilePath(id), "claim %s is held, but its file cannot be read (%v): its reservation counts as 0", id, err)
		}
		known[id] = true
		b.file.Entries = append(b.file.Entries, c.Entry)
		b.file.Ticket = max(b.file.Ticket, c.Entry.Ticket)
		b.changed = true
		if len(b.file.Entries) >= MaxClaims+MaxWaiters {
			break
		}
	}
	return nil
}

// findEntry returns the entry with this ID, or nil.
func (b *book) findEntry(id string) *entry {
	for _, e := range b.file.Entries {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// addEntry appends an entry to the ledger in memory, which is written out later, and raises the ledger's last ticket to that of the entry.
func (b *book) addEntry(e *entry) {
	b.file.Entries = append(b.file.Entries, e)
	b.file.Ticket = max(b.file.Ticket, e.Ticket)
	b.index, b.changed = nil, true
}

// removeEntry takes the entry out of the ledger and deletes its files. The claim file goes first: without it, the rest of a removal that is
// cut short is a dead claim with nothing to clean up.
func (b *book) removeEntry(id string) {
	b.ledger.removeFiles(id)
	b.dropEntry(id)
}

// dropEntry takes the entry out of the ledger in memory and leaves its files.
func (b *book) dropEntry(id string) {
	before := len(b.file.Entries)
	b.file.Entries = slices.DeleteFunc(b.file.Entries, func(e *entry) bool { return e.ID == id })
	b.changed = b.changed || len(b.file.Entries) != before
	b.index = nil
}

// removeFiles removes all files of a claim, the lock file last. Errors are ignored: the next clean-up finds what is left.
func (l *Ledger) removeFiles(id string) {
	_ = os.Remove(l.claimFilePath(id))
	failpoint("card removed")
	_ = os.Remove(l.usePath(id))
	_ = os.Remove(l.notifierPath(id))
	_ = os.Remove(l.wishPath(id))
	_ = os.Remove(l.answerPath(id))
	_ = os.Remove(l.claimLockPath(id))
	failpoint("lock removed")
}

// tryClaimLock tries to take a claim's lock. free is true when the owner is dead; the lock is then ours, and the caller closes it. removed is
// true when there is no lock file.
func (l *Ledger) tryClaimLock(id string) (lock *os.File, free, removed bool) {
	f, err := openRegular(l.claimLockPath(id), os.O_RDWR)
	if err != nil {
		return nil, false, errors.Is(err, fs.ErrNotExist)
	}
	if ok, err := filelock.Try(f, filelock.Exclusive); err != nil || !ok {
		f.Close()
		return nil, false, false
	}
	return f, true, false
}

// readClaimFile reads the file of a claim. It is an error if that is about another claim.
func (l *Ledger) readClaimFile(id string) (claimFile, error) {
	text, err := statefile.Read(l.claimFilePath(id), maxLedger)
	if err != nil {
		return claimFile{}, err
	}
	return parseClaimFile(text, id)
}

// parseClaimFile reads the text of a claim file; it is an error if the text is about another claim than id.
func parseClaimFile(text []byte, id string) (claimFile, error) {
	var c claimFile
	if err := json.Unmarshal(text, &c); err != nil {
		return claimFile{}, err
	}
	if c.Schema != schema {
		return claimFile{}, fmt.Errorf("schema %d", c.Schema)
	}
	if err := c.Entry.validate(); err != nil {
		return claimFile{}, err
	}
	if c.Entry.ID != id {
		return claimFile{}, fmt.Errorf("it is about %s", c.Entry.ID)
	}
	return c, nil
}

// writeClaimFile replaces the claim's file, with the current schema.
func (l *Ledger) writeClaimFile(c claimFile) error {
	c.Schema = schema
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return replaceFile(l.claimFilePath(c.Entry.ID), text)
}

// replaceFile writes path so that a reader sees the old or the new content, whenever the
// writer dies. There is one writer at a time, so the temporary name is fixed and one that
// was left behind is written over. Volatile: the ledger is of this boot, and a power cut ends it.
func replaceFile(path string, text []byte) error {
	return atomicfile.Replacement{
		Name: path, Perm: 0o600, Kept: atomicfile.Volatile, Temporary: path + ".tmp",
		Before: func() { failpoint("temporary written") },
	}.Write(text)
}

// failpoint is called between the steps that a kill may fall between. Tests replace it.
var failpoint = func(string) {}
