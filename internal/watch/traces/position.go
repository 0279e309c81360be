package traces

import (
	"cmp"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/store"
)

const (
	positionName = "sent.json"
	// maxPositions bounds the runs whose position is kept; beyond it the oldest are dropped, whose spans could be sent twice.
	maxPositions = 10_000
	// maxPositionFile bounds the file that is read: a position has less than 200 bytes.
	maxPositionFile = 4 << 20
)

// position is the place in a run up to which its spans were sent.
type position struct {
	// Place is the place of the last span sent, At the time at which that ended.
	Place uint64    `json:"place"`
	At    time.Time `json:"at"`
}

// positions are the positions of all runs of the last hours, stored in a file.
type positions struct {
	file store.Document[positionFile]
	to   string // the collector that they are about

	mu    sync.Mutex
	runs  map[string]position
	dirty bool
}

// positionFile is the content of that file.
type positionFile struct {
	Schema int                 `json:"schema"`
	To     string              `json:"to"`
	Runs   map[string]position `json:"runs"`
}

// loadPositions reads from where on spans are to be sent to the collector to. After an error, and if the file is about another collector,
// there are none, and sending begins anew.
func loadPositions(dir, to string) (*positions, error) {
	p := &positions{to: to, runs: map[string]position{}, file: store.Document[positionFile]{
		// After a power cut spans may be sent twice, under the same ids.
		File: store.File{Path: filepath.Join(dir, positionName), Max: maxPositionFile, Kept: atomicfile.Volatile},
	}}
	file, err := p.file.Read()
	if file.Schema == 1 && file.To == to && file.Runs != nil {
		p.runs = file.Runs
	}
	return p, err
}

// sent reports whether a span was sent already, or need not be.
func (p *positions) sent(run string, place uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return place <= p.runs[run].Place
}

// advance records that spans were sent, or will never be. [positions.save] writes it.
func (p *positions) advance(batch []queued) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range batch {
		at := p.runs[q.run]
		p.runs[q.run] = position{max(at.Place, q.place), latest(at.At, q.end)}
		p.dirty = true
	}
}

// latest returns the later one of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// save writes the file when something has changed. Runs whose last span ended before oldest are dropped, as spans so old are not sent again, and
// the oldest ones beyond maxPositions.
func (p *positions) save(oldest time.Time) error {
	p.mu.Lock()
	if !p.dirty {
		p.mu.Unlock()
		return nil
	}
	maps.DeleteFunc(p.runs, func(_ string, at position) bool { return at.At.Before(oldest) })
	if over := len(p.runs) - maxPositions; over > 0 {
		ids := sorting.CollectBy(maps.Keys(p.runs), func(a, b string) int { return cmp.Or(p.runs[a].At.Compare(p.runs[b].At), cmp.Compare(a, b)) })
		for _, id := range ids[:over] {
			delete(p.runs, id)
		}
	}
	file := positionFile{Schema: 1, To: p.to, Runs: maps.Clone(p.runs)}
	p.dirty = false
	p.mu.Unlock()
	err := p.file.Write(file)
	if err != nil {
		p.mu.Lock()
		p.dirty = true
		p.mu.Unlock()
	}
	return err
}
