package admission

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Versions of Plimsoll before the table keep everybody in ledger.json, under the same lock, and add whom they find among the claim
// files and not there. So the two count each other as long as ledger.json never says less than the claim files do: whatever an
// older version has written is taken over into the table, and ledger.json is removed. The next older process then reads every
// claim's own file.

// loadOlder reads the ledger.json that an older version has written since the last look.
func (b *book) loadOlder() (older ledgerFile, err error) {
	path := b.ledger.ledgerPath()
	text, err := statefile.Read(path, maxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return older, nil
	}
	if err != nil {
		return older, err
	}
	older, err = parseLedger(text)
	if errors.Is(err, ErrNewer) {
		return ledgerFile{}, err
	}
	if err != nil {
		return ledgerFile{}, b.setAside(path, err)
	}
	b.older = true
	return older, nil
}

// merge takes over the runs of an older version that have come since the table was written, those that it has admitted, and
// those that have ended.
func (b *book) merge(older ledgerFile) {
	if !b.older {
		return
	}
	b.file.Ticket = max(b.file.Ticket, older.Ticket)
	there := make(map[string]bool, len(older.Entries))
	for _, e := range older.Entries {
		there[e.ID] = true
	}
	b.file.Entries = slices.DeleteFunc(b.file.Entries, func(e *entry) bool {
		return !there[e.ID] && b.ledger.lockMissing(e.ID) && b.ledger.claimFileMissing(e.ID)
	})
	known := make(map[string]*entry, len(b.file.Entries))
	for _, e := range b.file.Entries {
		known[e.ID] = e
	}
	var came *entry
	for _, e := range older.Entries {
		switch k := known[e.ID]; {
		case k == nil && b.ledger.lockMissing(e.ID) && !e.Owner.alive(b.ledger.owner): // it has ended
		case k == nil:
			b.add(e)
			came = e
		case k.State == Waiting && e.State == Holding:
			k.State, k.Since, k.Forced, b.changed = Holding, e.Since, e.Forced, true
			k.ReadyAt, k.Missed = time.Time{}, false
		}
	}
	if came != nil {
		b.warn("ledger", b.ledger.ledgerPath(), "an older version of plimsoll starts runs in the same state directory (pid %d, %s): they are counted, "+
			"but one that does not get the lock of the ledger within 10 seconds starts all the same and is not; update it", came.Owner.PID, came.Tool)
	}
}

// removeOlder has the next older process read the claim files.
func (b *book) removeOlder() error {
	if err := os.Remove(b.ledger.ledgerPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	failpoint("older removed")
	return nil
}
