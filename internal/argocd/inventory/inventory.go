// Package inventory answers questions about everything that an Argo CD instance has: pages of sorted listings, and searches over all kinds at once.
// The tools of package toolset are its users.
//
//	l, err := v.List(ctx, client, inventory.ListRequest{Kind: argocd.Applications, Health: []string{"degraded"}, Page: 2})
//	found, err := v.Search(ctx, client, inventory.SearchRequest{Pattern: "payments-(dev|stg)"})
//
// Argo CD has no pages, no order and no search. So every question is one pass over whole lists, an object at a time, and answers are exact because
// every object was read. A list that breaks off is an error; nothing of it is shown. An invalid pattern is a [BadPattern], more than
// Options.MaxMatches are a [TooMany] with exact totals.
//
// Rows are sorted in runs of Options.RunBytes on an unlinked scratch file and merged: nothing grows with the list, and the first pages need no disk.
// A full disk and Options.MaxScratchBytes are errors that name the folder; each bound counts in [Stats]. With Options.SnapshotTTL the rows of a
// question stay on the disk for that long, and all its pages come from them; passes are shared by all who ask the same, and end when the last that
// waits has gone. An Inventory may be used by many goroutines.
package inventory

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/limit"
)

// Source lists objects, as an *argocd.Client does.
type Source interface {
	Name() string
	// Who identifies the credential: answers are never shared between sources with another Who or URL.
	Who() string
	URL() string
	List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func(item []byte) error) (argocd.ListInfo, error)
}

// Options of an [Inventory]. The zero value works.
type Options struct {
	// Dir is the folder for scratch files, which are unlinked as soon as they are open, and have mode 0600. "" means [os.TempDir].
	Dir string
	// SnapshotTTL is the time for which the pages of a listing come from one reading; 0 reads the server for every page.
	SnapshotTTL time.Duration
	// MaxSnapshots bounds the readings that are kept; 0 means 32. The least recently used one is dropped first. Each has two open files.
	MaxSnapshots int
	// MaxSnapshotBytes bounds the disk space of all snapshots; 0 means 512 MiB.
	MaxSnapshotBytes limit.Bytes
	// MaxScratchBytes bounds all disk space, including that of running sorts; 0 means 4 GiB. A listing that would take more is an error.
	MaxScratchBytes limit.Bytes
	// RunBytes is the memory for one sort; 0 means 2 MiB.
	RunBytes limit.Bytes
	// MaxMatches bounds the matches of a search; 0 means 1000. More are the error [TooMany].
	MaxMatches int
	// MaxSorts bounds the passes that run at one time, others wait; 0 means 8.
	MaxSorts int
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Inventory answers questions about sources. It may be used by many goroutines.
type Inventory struct {
	o     Options
	disk  *scratchDisk
	ctx   context.Context // ends with Close
	end   context.CancelFunc
	wg    sync.WaitGroup
	turns chan struct{}

	mu        sync.Mutex
	closed    bool
	waiting   map[string]*pass // those that have not begun yet, by key
	running   map[string]*pass
	snapshots map[string]*snapshot
	kept      int64 // bytes of the snapshots
	uses      uint64
	stats     Stats
}

// New returns an Inventory, with a default for each bound that is 0. It opens no files.
func New(o Options) *Inventory {
	o.MaxSnapshots = cmp.Or(max(o.MaxSnapshots, 0), 32)
	o.MaxSnapshotBytes = cmp.Or(max(o.MaxSnapshotBytes, 0), 512*limit.MiB)
	o.MaxScratchBytes = cmp.Or(max(o.MaxScratchBytes, 0), 4*limit.GiB)
	o.RunBytes = cmp.Or(max(o.RunBytes, 0), 2*limit.MiB)
	o.MaxMatches = cmp.Or(max(o.MaxMatches, 0), 1000)
	o.MaxSorts = cmp.Or(max(o.MaxSorts, 0), 8)
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &Inventory{
		o:         o,
		disk:      &scratchDisk{dir: o.Dir, max: int64(o.MaxScratchBytes)},
		turns:     make(chan struct{}, o.MaxSorts),
		waiting:   map[string]*pass{},
		running:   map[string]*pass{},
		snapshots: map[string]*snapshot{},
	}
	v.ctx, v.end = context.WithCancel(context.Background())
	return v
}

// Close ends the passes that run, waits for them, and frees the snapshots. Later requests fail. Its error is always nil.
func (v *Inventory) Close() error {
	v.mu.Lock()
	v.closed = true
	for _, s := range v.snapshots {
		v.evictSnapshot(s)
	}
	v.mu.Unlock()
	v.end()
	v.wg.Wait()
	return nil
}

// Stats has counts since [New], and current numbers.
type Stats struct {
	Requests     int64 // requests for listings and searches
	Passes       int64 // readings that were begun
	Shared       int64 // requests that joined the pass of another
	FromSnapshot int64 // requests that were answered from a snapshot
	Refused      int64 // requests refused because too many others waited
	Read         int64 // bytes that servers sent in completed passes

	Snapshots       int   // current ones
	SnapshotBytes   int64 // their size
	Expired         int64 // snapshots that were dropped for their age
	Evicted         int64 // snapshots that were dropped to make room
	TooLarge        int64 // answers that were too large to be kept
	ScratchBytes    int64 // current bytes on the disk
	ScratchPeak     int64 // the largest ScratchBytes so far
	ScratchRefused  int64 // writes beyond Options.MaxScratchBytes
	Waiting, Active int   // current passes
}

// Stats returns the counts.
func (v *Inventory) Stats() Stats {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.stats
	s.Snapshots, s.SnapshotBytes = len(v.snapshots), v.kept
	s.ScratchBytes, s.ScratchPeak, s.ScratchRefused = v.disk.used.Load(), v.disk.peak.Load(), v.disk.refused.Load()
	s.Waiting, s.Active = len(v.waiting), len(v.turns)
	return s
}
