package admission

import (
	"io/fs"
	"os"
	"time"
)

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
