package inventory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// answer is the result of one pass. It does not change any more.
type answer struct {
	table  *table
	total  int // number of matches; the table may only have the first of them
	counts *Counts
	widths Widths
	bytes  int64
	reread bool
	at     time.Time // when the reading began
	// The fields below are set by searches.
	totals, scanned map[argocd.Kind]int
	failed          map[argocd.Kind]string

	refs int // guarded by Inventory.mu; with the last one the table is closed
}

// pass is one reading of a server, which several requests may wait for.
type pass struct {
	key    string
	need   int  // how many of the first rows are needed; guarded by Inventory.mu until it starts
	refs   int  // number of requests that wait; guarded by Inventory.mu
	kept   bool // the answer becomes a snapshot
	cancel context.CancelFunc
	ready  chan struct{}

	ans      *answer
	err      error
	panicked string
}

// allRows is the need of a pass all of whose rows are kept.
const allRows = math.MaxInt

// maxWaiting bounds the different listings that may wait for their turn. Callers bound them far below that; this is for a mistake of
// theirs.
const maxWaiting = 1024

// errClosed is the error of requests after Close.
var errClosed = errors.New("the inventory is closed: the server is about to end")

// runner reads a server, and keeps at least the first need rows.
type runner func(ctx context.Context, need int) (*answer, error)

// answerFor returns the answer for key: from a snapshot, from a pass that another request waits for, or from a new pass, which calls read. A pass
// that has begun is only shared if snapshots are allowed: a request after a change must not get what was read before it. The caller calls
// release when it is done with the answer. The key "" is never shared.
func (v *Inventory) answerFor(ctx context.Context, key string, need int, fresh bool, read runner) (ans *answer, release func(), err error) {
	kept := v.o.SnapshotTTL > 0 && key != ""
	if kept {
		need = allRows
	}
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return nil, nil, errClosed
	}
	v.stats.Requests++
	if key == "" {
		v.uses++
		key = "alone " + strconv.FormatUint(v.uses, 10)
	}
	p := v.waiting[key]
	if !fresh && kept {
		if s := v.freshSnapshot(key); s != nil {
			v.stats.FromSnapshot++
			s.ans.refs++
			v.mu.Unlock()
			return s.ans, func() { v.releaseAnswer(s.ans) }, nil
		}
		if running := v.running[key]; running != nil {
			p = running
		}
	}
	if p != nil {
		v.stats.Shared++
		p.need = max(p.need, need)
	} else {
		if len(v.waiting) >= maxWaiting {
			v.stats.Refused++
			v.mu.Unlock()
			return nil, nil, fmt.Errorf("%d listings wait for their turn already; ask again later", maxWaiting)
		}
		// The pass does not end with ctx, but when all requests that wait for it have gone.
		run, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p = &pass{key: key, need: need, kept: kept, cancel: cancel, ready: make(chan struct{})}
		v.waiting[key] = p
		v.wg.Go(func() { v.runPass(run, p, read) })
	}
	p.refs++
	v.mu.Unlock()

	select {
	case <-p.ready:
	case <-ctx.Done():
		v.leavePass(p)
		return nil, nil, context.Cause(ctx)
	}
	switch {
	case p.panicked != "":
		panic(p.panicked) // in the caller's goroutine, where its deferred functions see it
	case p.err != nil:
		return nil, nil, p.err
	}
	return p.ans, func() { v.releaseAnswer(p.ans) }, nil
}

// leavePass takes a caller whose context has ended from those that wait for the pass, and cancels the pass if no other waits for it. If the
// answer has come meanwhile, the caller's reference to it is dropped.
func (v *Inventory) leavePass(p *pass) {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-p.ready:
		if p.ans != nil {
			v.dropReference(p.ans)
		}
		return
	default:
	}
	if p.refs--; p.refs == 0 {
		p.cancel()
		v.forgetPass(p)
	}
}

// forgetPass removes a pass from the maps in which other requests find it. The caller holds v.mu.
func (v *Inventory) forgetPass(p *pass) {
	for _, list := range []map[string]*pass{v.waiting, v.running} {
		if list[p.key] == p {
			delete(list, p.key)
		}
	}
}

// runPass waits for a turn, reads the answer, keeps it as a snapshot if the pass is to be kept, and wakes the callers by closing p.ready.
func (v *Inventory) runPass(ctx context.Context, p *pass, read runner) {
	defer p.cancel()
	stop := context.AfterFunc(v.ctx, p.cancel)
	defer stop()
	var ans *answer
	var err error
	var panicked string
	select {
	case v.turns <- struct{}{}:
		ans, panicked, err = v.performPass(ctx, p, read)
		<-v.turns
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && v.ctx.Err() != nil {
		err = errClosed
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forgetPass(p)
	if ans != nil {
		v.stats.Read += ans.bytes
		ans.refs = p.refs + 1
		if p.kept && !v.closed && ctx.Err() == nil {
			v.storeSnapshot(p.key, ans)
		}
		v.dropReference(ans)
	}
	p.ans, p.err, p.panicked = ans, err, panicked
	close(p.ready)
}

// performPass calls read and sets the time of the answer to when that began. A panic of read is returned as text, with its stack.
func (v *Inventory) performPass(ctx context.Context, p *pass, read runner) (ans *answer, panicked string, err error) {
	v.mu.Lock()
	need := p.need
	if v.waiting[p.key] == p {
		delete(v.waiting, p.key)
		v.running[p.key] = p
	}
	v.stats.Passes++
	v.mu.Unlock()
	defer func() {
		if what := recover(); what != nil {
			ans, panicked, err = nil, fmt.Sprintf("%v\n\n%s", what, debug.Stack()), nil
		}
	}()
	at := v.o.Now()
	if ans, err = read(ctx, need); err != nil {
		return nil, "", err
	}
	ans.at = at
	return ans, "", nil
}

func (v *Inventory) releaseAnswer(ans *answer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dropReference(ans)
}

// dropReference gives one reference back. The caller holds v.mu.
func (v *Inventory) dropReference(ans *answer) {
	if ans.refs--; ans.refs == 0 {
		ans.table.close()
	}
}

// snapshot is an answer that is kept for later pages.
type snapshot struct {
	key   string
	ans   *answer
	used  uint64 // the number of its last use, to find the least recently used
	timer *time.Timer
}

// freshSnapshot returns the snapshot of key, which counts as a use; nil if there is none. One that is too old is removed. The caller holds v.mu.
func (v *Inventory) freshSnapshot(key string) *snapshot {
	s := v.snapshots[key]
	if s == nil {
		return nil
	}
	if v.o.Now().Sub(s.ans.at) >= v.o.SnapshotTTL {
		v.stats.Expired++
		v.evictSnapshot(s)
		return nil
	}
	v.uses++
	s.used = v.uses
	return s
}

// storeSnapshot stores ans as the snapshot of key in place of an older one, and removes those that were not used for the longest time until it
// fits. Its age counts from when the reading began. If it is too old or too large, it is not stored. The caller holds v.mu.
func (v *Inventory) storeSnapshot(key string, ans *answer) {
	if old := v.snapshots[key]; old != nil {
		v.evictSnapshot(old)
	}
	left := v.o.SnapshotTTL - v.o.Now().Sub(ans.at)
	if left <= 0 {
		return // the reading took longer than that
	}
	size := ans.table.weight()
	if size > int64(v.o.MaxSnapshotBytes) {
		v.stats.TooLarge++
		return
	}
	for len(v.snapshots) >= v.o.MaxSnapshots || v.kept+size > int64(v.o.MaxSnapshotBytes) {
		var oldest *snapshot
		for _, s := range v.snapshots {
			if oldest == nil || s.used < oldest.used {
				oldest = s
			}
		}
		v.stats.Evicted++
		v.evictSnapshot(oldest)
	}
	v.uses++
	s := &snapshot{key: key, ans: ans, used: v.uses}
	s.timer = time.AfterFunc(left, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.snapshots[key] == s {
			v.stats.Expired++
			v.evictSnapshot(s)
		}
	})
	ans.refs++
	v.snapshots[key] = s
	v.kept += size
}

// evictSnapshot drops a snapshot. Requests that read it can do so to the end. The caller holds v.mu.
func (v *Inventory) evictSnapshot(s *snapshot) {
	s.timer.Stop()
	delete(v.snapshots, s.key)
	v.kept -= s.ans.table.weight()
	v.dropReference(s.ans)
}
