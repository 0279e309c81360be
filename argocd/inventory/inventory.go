package inventory

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/argocd"
	"github.com/plimsoll/plimsoll/limit"
)

// Source lists objects: an *argocd.Client.
type Source interface {
	Name() string
	// Who identifies the credential: answers are never shared between
	// sources with another Who or URL.
	Who() string
	URL() string
	List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func(item []byte) error) (argocd.ListInfo, error)
}

// Options of an [Inventory]. The zero value works.
type Options struct {
	// Dir holds the scratch files. They are unlinked as soon as they are open, and have
	// mode 0600. Empty is [os.TempDir].
	Dir string
	// SnapshotTTL is the time that pages of one listing come from one reading; 0 reads the
	// server for every page.
	SnapshotTTL time.Duration
	// MaxSnapshots bounds the readings that are kept; 0 is 32. The one used longest ago goes
	// first. Each has two open files.
	MaxSnapshots int
	// MaxSnapshotBytes bounds their disk space together; 0 is 512 MiB.
	MaxSnapshotBytes limit.Bytes
	// MaxScratchBytes bounds all disk space together, with that of sorts under way;
	// 0 is 4 GiB. A listing that would take more is an error.
	MaxScratchBytes limit.Bytes
	// RunBytes is the memory of one sort; 0 is 2 MiB.
	RunBytes limit.Bytes
	// MaxMatches bounds the matches of a search; 0 is 1000. More are a [TooMany].
	MaxMatches int
	// MaxSorts bounds the passes at one time, the others wait; 0 is 8.
	MaxSorts int
	// Now is the clock; nil is [time.Now].
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
	waiting   map[string]*pass // not begun yet
	running   map[string]*pass
	snapshots map[string]*snapshot
	kept      int64 // bytes of the snapshots
	uses      uint64
	stats     Stats
}

// New makes an Inventory. It opens nothing.
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

// Close ends what runs, waits for it, and frees the snapshots.
func (v *Inventory) Close() error {
	v.mu.Lock()
	v.closed = true
	for _, s := range v.snapshots {
		v.evict(s)
	}
	v.mu.Unlock()
	v.end()
	v.wg.Wait()
	return nil
}

// Stats counts what happened since [New], and what is there now.
type Stats struct {
	Requests     int64 // listings and searches that were asked for
	Passes       int64 // readings that were begun
	Shared       int64 // requests that waited for a pass of another
	FromSnapshot int64 // requests that were answered from a snapshot
	Refused      int64 // requests that found too many others waiting
	Read         int64 // bytes that servers sent for passes that came to their end

	Snapshots       int   // there are now
	SnapshotBytes   int64 // and what they take
	Expired         int64 // snapshots that were too old
	Evicted         int64 // snapshots that went for others
	TooLarge        int64 // answers that were too large to be kept
	ScratchBytes    int64 // disk of everything now
	ScratchPeak     int64 // the most it ever was
	ScratchRefused  int64 // writes beyond Options.MaxScratchBytes
	Waiting, Active int   // passes now
}

// Stats returns the counters of now.
func (v *Inventory) Stats() Stats {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.stats
	s.Snapshots, s.SnapshotBytes = len(v.snapshots), v.kept
	s.ScratchBytes, s.ScratchPeak, s.ScratchRefused = v.disk.used.Load(), v.disk.peak.Load(), v.disk.refused.Load()
	s.Waiting, s.Active = len(v.waiting), len(v.turns)
	return s
}
