package memories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/facts"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Feed finds the episodes that facts are drawn from in the background: what was said by people and models, not by tools, since facts were
// first switched on. What was said before is for `plimsoll memory learn`.
type Feed struct {
	m    *Memory
	tail memory.Tail
	seen func(id string) bool
	from time.Time // older records are not read

	state feedState
}

const (
	feedFile = "feed.json"
	// feedSlack bounds how much older than the newest episode one may be that is still read: another process may have been writing it.
	feedSlack = 10 * time.Minute
	// feedBatch is the number of episodes put into the queue at once.
	feedBatch = 100
)

// feedState is the content of the file.
type feedState struct {
	// Since is the time when facts were first switched on.
	Since time.Time `json:"since"`
	// Through is the time when the newest episode was recorded that was put into the queue.
	Through time.Time `json:"through"`
}

// OpenFeed returns a feed that begins where the last one ended, with a slack of ten minutes, or now when there was none; that is written
// down at once.
func (m *Memory) OpenFeed() (*Feed, error) {
	f := &Feed{m: m}
	path := filepath.Join(m.FactsDir(), feedFile)
	text, err := statefile.Read(path, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		f.state.Since = time.Now().Truncate(time.Millisecond) // as exact as what it is compared with: see [memory.Record]
		f.state.Through, f.from = f.state.Since, f.state.Since
		return f, f.save()
	}
	if err == nil {
		err = json.Unmarshal(text, &f.state)
	}
	if err != nil {
		return nil, fmt.Errorf("how far the memory was read for facts cannot be read: %w; remove %s to begin with what is said from now on", err, path)
	}
	if f.from = f.state.Through.Add(-feedSlack); f.from.Before(f.state.Since) {
		f.from = f.state.Since
	}
	return f, nil
}

// save writes the state into the file of the feed.
func (f *Feed) save() error {
	text, err := json.Marshal(f.state)
	if err != nil {
		return err
	}
	return f.m.writeFactsFile(feedFile, append(text, '\n'))
}

// Push puts the new episodes into the queue of an extractor and writes down how far it came. Those that the extractor has seen are left out, as
// are quarantined ones and the words of tools.
func (f *Feed) Push(ctx context.Context, x *facts.Extractor) error {
	var err error
	if f.seen, _, err = x.EpisodesRead(); err != nil {
		return err
	}
	var ids []string
	before := f.state.Through
	push := func() error {
		if len(ids) == 0 {
			return nil
		}
		err := x.Push(ctx, ids...)
		ids = ids[:0]
		return err
	}
	err = f.m.Store.Follow(ctx, &f.tail, func(r memory.Record) error {
		if r.Kind != memory.KindEpisode || r.Quarantined || r.Origin == memory.OriginTool || r.Recorded.Before(f.from) || f.seen(r.ID) {
			return nil
		}
		ids = append(ids, r.ID)
		if r.Recorded.After(f.state.Through) {
			f.state.Through = r.Recorded
		}
		if len(ids) < feedBatch {
			return nil
		}
		return push()
	})
	if err = errors.Join(err, push()); err != nil || f.state.Through.Equal(before) {
		return err
	}
	return f.save()
}

// Newest returns when the newest passage was recorded that was put into the queue, or the zero time.
func (f *Feed) Newest() time.Time { return f.state.Through }

// writeFactsFile writes a small file beside the queue and makes the directory.
func (m *Memory) writeFactsFile(name string, text []byte) error {
	if err := os.MkdirAll(m.FactsDir(), 0o700); err != nil {
		return fmt.Errorf("the directory of facts: %w", err)
	}
	return atomicfile.Write(filepath.Join(m.FactsDir(), name), text, 0o600, atomicfile.Durable)
}
