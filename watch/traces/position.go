package traces

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	positionName = "sent.json"
	// maxPositions bounds the runs whose position is kept; of more the oldest are forgotten, and could be sent twice.
	maxPositions = 10_000
	// maxPositionFile bounds what is read: a position has less than 200 bytes.
	maxPositionFile = 4 << 20
)

// position marks the last span of a run that was sent.
type position struct {
	// Place is that of the last span, At when that ended.
	Place uint64    `json:"place"`
	At    time.Time `json:"at"`
}

// positions are those of all runs of the last time, which a file keeps.
type positions struct {
	path string
	to   string // the collector that they are about

	mu    sync.Mutex
	runs  map[string]position
	dirty bool
}

// positionFile is the file.
type positionFile struct {
	Schema int                 `json:"schema"`
	To     string              `json:"to"`
	Runs   map[string]position `json:"runs"`
}

// loadPositions reads the positions for a collector. An error leaves none, with which sending begins anew.
func loadPositions(dir, to string) (*positions, error) {
	p := &positions{path: filepath.Join(dir, positionName), to: to, runs: map[string]position{}}
	text, err := statefile.Read(p.path, maxPositionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	var file positionFile
	if err := json.Unmarshal(text, &file); err != nil {
		return p, fmt.Errorf("%s cannot be read: %w", p.path, err)
	}
	if file.Schema == 1 && file.To == to && file.Runs != nil {
		p.runs = file.Runs
	}
	return p, nil
}

// sent reports whether a span has not to be sent any more.
func (p *positions) sent(run string, place uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return place <= p.runs[run].Place
}

// advance notes what was sent, or is never to be.
func (p *positions) advance(batch []queued) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range batch {
		at := p.runs[q.run]
		p.runs[q.run] = position{max(at.Place, q.place), later(at.At, q.end)}
		p.dirty = true
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// save writes what has changed. Runs whose last span ended before oldest are left out: nothing so old is sent again.
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
	body, err := json.Marshal(positionFile{Schema: 1, To: p.to, Runs: p.runs})
	p.dirty = false
	p.mu.Unlock()
	if err == nil {
		// After a power cut spans may be sent twice, under the same ids.
		err = atomicfile.Write(p.path, append(body, '\n'), 0o600, atomicfile.Volatile)
	}
	if err != nil {
		p.mu.Lock()
		p.dirty = true
		p.mu.Unlock()
	}
	return err
}
