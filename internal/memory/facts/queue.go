package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/store"
)

// MaxQueue is the largest number of waiting episodes; past it the one that has waited longest goes, and is counted.
const MaxQueue = 1000

const (
	// maxID bounds the id of a record, in bytes.
	maxID = 256
	// maxLine is more than a line of the file has, in bytes, with an id all of escapes.
	maxLine = 6*maxID + 256
)

// Queue is the file of the episodes that wait to be read, shared by any number of processes. It holds only ids.
//
// The file is lines of JSON, replaced whole with each change (a thousand ids are 60 kB): a process that dies leaves either file.
type Queue struct {
	dir      string
	maxItems int
}

// item is a line of the file.
type item struct {
	ID    string    `json:"id"`
	Tries int       `json:"tries,omitempty"`
	After time.Time `json:"after,omitzero"` // not to be tried before
}

const queueFile = "queue.jsonl"

// NewQueue returns the queue in a directory, which is made with the first episode. It holds at most maxItems; 0 means [MaxQueue].
func NewQueue(dir string, maxItems int) *Queue {
	if maxItems <= 0 {
		maxItems = MaxQueue
	}
	return &Queue{dir: dir, maxItems: maxItems}
}

// Push adds the episodes that are not in the queue yet, and returns how many it dropped to make room, those that have waited longest first.
func (q *Queue) Push(ctx context.Context, ids ...string) (dropped int, err error) {
	err = q.changeItems(ctx, func(all []item) []item {
		have := map[string]bool{}
		for _, i := range all {
			have[i.ID] = true
		}
		for _, id := range ids {
			if id != "" && len(id) <= maxID && !strings.ContainsAny(id, "\n\r") && !have[id] {
				have[id] = true
				all = append(all, item{ID: id})
			}
		}
		dropped = max(0, len(all)-q.maxItems)
		return all[dropped:]
	})
	return dropped, err
}

// Len returns the number of waiting episodes.
func (q *Queue) Len() (int, error) {
	text, err := q.file().Read()
	if err != nil {
		return 0, fmt.Errorf("the queue of facts: %w", err)
	}
	return len(q.parseItems(text)), nil
}

// Forget removes episodes from the queue.
func (q *Queue) Forget(ctx context.Context, ids ...string) error {
	return q.changeItems(ctx, func(all []item) []item {
		return slices.DeleteFunc(all, func(i item) bool { return slices.Contains(ids, i.ID) })
	})
}

// takeDue returns up to n episodes whose time has come, the oldest first. They stay in the queue, with one more try, but nobody gets them
// again within lease. So they are not lost if this process dies.
func (q *Queue) takeDue(ctx context.Context, n int, now time.Time, lease time.Duration) (taken []item, err error) {
	err = q.changeItems(ctx, func(all []item) []item {
		for i := range all {
			if len(taken) < n && !all[i].After.After(now) {
				taken = append(taken, all[i])
				all[i].Tries++
				all[i].After = now.Add(lease)
			}
		}
		return all
	})
	return taken, err
}

// putOff puts off the next try of taken episodes to the time at. With tried false the try that takeDue has counted is taken back.
func (q *Queue) putOff(ctx context.Context, taken []item, at time.Time, tried bool) error {
	return q.changeItems(ctx, func(all []item) []item {
		for i := range all {
			k := slices.IndexFunc(taken, func(t item) bool { return t.ID == all[i].ID })
			if k < 0 {
				continue
			}
			all[i].After = at
			if !tried {
				all[i].Tries = taken[k].Tries
			}
		}
		return all
	})
}

// file returns the file of the queue, which need not exist.
func (q *Queue) file() store.File {
	return store.File{Path: filepath.Join(q.dir, queueFile), Max: int64(q.maxItems) * maxLine, Kept: atomicfile.Durable}
}

// changeItems lets edit change the items of the queue under the lock of its file.
func (q *Queue) changeItems(ctx context.Context, edit func([]item) []item) error {
	err := q.file().Change(ctx, func(old []byte) ([]byte, error) {
		var fresh []byte
		for _, i := range edit(q.parseItems(old)) {
			line, err := json.Marshal(i)
			if err != nil {
				return nil, err
			}
			fresh = append(append(fresh, line...), '\n')
		}
		return fresh, nil
	})
	if err != nil {
		return fmt.Errorf("the queue of facts: %w; %s", err, archive.NextStep(q.dir, err))
	}
	return nil
}

// parseItems returns the items. It ignores invalid lines: at worst an episode is not read.
func (q *Queue) parseItems(text []byte) (all []item) {
	for line := range bytes.Lines(text) {
		var i item
		if len(all) < q.maxItems && json.Unmarshal(line, &i) == nil && i.ID != "" && len(i.ID) <= maxID {
			all = append(all, i)
		}
	}
	return all
}
