package admission

import (
	"io/fs"
	"os"
	"time"
)

// Glance detects, without its lock, whether the ledger was written to. Take one before [Ledger.Holders], and another one later: who was
// alone in the ledger then is so still when nothing was written between the two.
type Glance struct {
	table fs.FileInfo // nil where nothing can be told
	at    time.Time
}

// coarse is more than what file systems round times to, so that two writes may have the same.
const coarse = 2 * time.Second

// Glance looks at the ledger.
func (l *Ledger) Glance() Glance {
	table, err := os.Lstat(l.tablePath())
	if err != nil {
		return Glance{}
	}
	return Glance{table, time.Now()}
}

// Unchanged reports whether nothing was written from g on until later was taken.
func (g Glance) Unchanged(later Glance) bool {
	if g.table == nil || later.table == nil || !os.SameFile(g.table, later.table) || g.table.Size() != later.table.Size() {
		return false
	}
	written := g.table.ModTime()
	return written.Equal(later.table.ModTime()) && g.at.Sub(written) > coarse
}
