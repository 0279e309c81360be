package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// reapAtOnce bounds how many dead claims are worked on in one go, since each holds a file
// open; the next round takes the next ones.
const reapAtOnce = 32

// Swept is the result of a sweep.
type Swept struct {
	// Removed are dead claims that are gone now.
	Removed []Holder
	// Stale are dead claims that could not be cleaned up; [Holder.StaleWhy] is the reason.
	Stale []Holder
}

// Sweep cleans up after owners that died: for each claim whose lock is free it calls reap and, when that succeeds, removes the claim. A claim
// whose reap fails stays in the ledger as stale, takes no slot, counts with its current use only, and is tried again by the next Sweep. reap is
// called without the ledger's lock and with the claim's own, so that no other sweeper works on it; it may be called again for things that it has
// removed before. When reap is nil, claims with recorded remains stay.
func (l *Ledger) Sweep(ctx context.Context, reap func(Holder) error) (Swept, error) {
	var done Swept
	tried := map[string]time.Time{}
	began, orphaned := time.Now(), false
	l.readShared(true)
	for {
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		var found []dead
		err := l.withLock(ctx, func(b *book) error {
			b.awaitOrphans = time.Since(began) < orphanPatience
			found = b.reconcile(reapAtOnce, tried, everyLock)
			orphaned = b.orphaned
			return nil
		})
		if err != nil {
			closeAll(found)
			return done, err
		}
		if len(found) == 0 && orphaned {
			if err := sleep(ctx, orphanPoll); err != nil {
				return done, err
			}
			continue
		}
		if len(found) == 0 {
			return done, nil
		}
		if err := l.reapAll(ctx, found, reap, tried, &done, time.Time{}); err != nil {
			return done, err
		}
	}
}

// closeAll closes the locks of dead claims.
func closeAll(found []dead) {
	for _, d := range found {
		d.lock.Close()
	}
}

// reapAll calls reap for the dead claims in found. It removes those that were reaped from the ledger, records why the others are stale, adds
// both to done and the time to tried, and closes the locks. After deadline, unless that is zero, no reap is begun.
func (l *Ledger) reapAll(ctx context.Context, found []dead, reap func(Holder) error, tried map[string]time.Time, done *Swept, deadline time.Time) error {
	defer closeAll(found)
	failpoint("dead found")
	results := make(map[string]error, len(found))
	holders := make(map[string]Holder, len(found))
	for _, d := range found {
		if ctx.Err() != nil || !deadline.IsZero() && time.Now().After(deadline) {
			break
		}
		id := d.entry.ID
		h := (&book{ledger: l}).describeEntry(d.entry)
		holders[id] = h
		results[id] = l.reapOne(h, reap)
		tried[id] = time.Now()
		failpoint("reaped")
	}
	// Also after ctx is done: what was reaped is written down.
	return l.withLock(context.WithoutCancel(ctx), func(b *book) error {
		for _, d := range found {
			id := d.entry.ID
			err, reaped := results[id]
			if !reaped {
				continue
			}
			h := holders[id]
			if err == nil {
				d.lock.Close()
				b.removeEntry(id)
				done.Removed = append(done.Removed, h)
				b.wakeFront(b.waiters())
				continue
			}
			h.State, h.StaleWhy = Stale, clipText(err.Error())
			done.Stale = append(done.Stale, h)
			if e := b.findEntry(id); e != nil && e.StaleWhy != h.StaleWhy {
				e.StaleWhy, b.changed = h.StaleWhy, true
				b.writeStaleReason(e)
			}
			b.addWarning("stale", l.claimFilePath(id), "what %s (pid %d, since %s) left cannot be cleaned up: %v; plimsoll gc tries again",
				h.Tool, h.Owner.PID, h.Since.Format(time.RFC3339), err)
			b.warnings[len(b.warnings)-1].Err = err
		}
		return nil
	})
}

// writeStaleReason writes into the claim's own file why it is stale. We have its lock, so nobody else writes the file.
func (b *book) writeStaleReason(e *entry) {
	c, err := b.ledger.readClaimFile(e.ID)
	if err != nil {
		return
	}
	c.Entry.StaleAt, c.Entry.StaleWhy = e.StaleAt, e.StaleWhy
	_ = b.ledger.writeClaimFile(c) // without it only the reason is lost
}

// clipText cuts the text of an error to what the ledger stores.
func clipText(s string) string { return limit.Short(s, 512) }

var errNoReaper = errors.New("this process has nothing to clean it up with")

// reapOne calls reap for one claim. A panic becomes an error, as a claim's file may hold anything. Without reap, a claim with recorded remains
// is an error.
func (l *Ledger) reapOne(h Holder, reap func(Holder) error) (err error) {
	defer func() { // a claim's file may hold anything
		if p := recover(); p != nil {
			err = fmt.Errorf("clean-up failed: %v", p)
		}
	}()
	switch {
	case reap != nil:
		return reap(h)
	case len(h.Remains) > 0:
		return errNoReaper
	}
	return nil
}

// reapDead cleans up after dead claims before a decision, for sweepBudget at most in all, and calls [Request].Removed for each holder removed.
func (a *acquisition) reapDead(ctx context.Context, found []dead) error {
	var done Swept
	began := time.Now()
	err := a.ledger.reapAll(ctx, found, a.ledger.opts.Reap, a.tried, &done, began.Add(sweepBudget-a.spent))
	a.spent += time.Since(began)
	for _, h := range done.Removed {
		if a.request.Removed != nil && h.State != Waiting {
			a.request.Removed(h)
		}
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}
