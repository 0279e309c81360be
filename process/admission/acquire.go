package admission

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// acquisition is one Acquire under way.
type acquisition struct {
	ledger         *Ledger
	request        Request
	began          time.Time
	tried          map[string]time.Time // dead claims whose clean-up was tried
	spent          time.Duration        // on cleaning up since we last slept
	claim          *Claim               // once our files are there
	queued         bool
	tidied         bool // the shared directory, once
	lastProgress   Progress
	lastProgressAt time.Time
	warned         bool     // of a headroom that cannot be read
	notifier       notifier // nil until it waits
	exactAt        time.Time
}

// waitUntilDecided repeats decisions until the run is admitted or refused: it cleans up after dead claims, and waits in the queue. With an
// error, the queue has been left and the claim's files are removed.
func (a *acquisition) waitUntilDecided(ctx context.Context) (_ *Claim, err error) {
	defer func() {
		if err != nil && a.claim != nil {
			a.releaseAfterError()
		}
	}()
	defer func() {
		if a.notifier != nil {
			a.notifier.close()
			_ = os.Remove(a.ledger.notifierPath(a.claim.id))
		}
	}()
	for {
		s, err := a.decideOnce(ctx)
		switch {
		case err != nil:
			return nil, err
		case len(s.dead) > 0:
			if err := a.reapDead(ctx, s.dead); err != nil {
				return nil, err
			}
			continue
		case s.admitted:
			return a.claim, nil
		case s.retryAfter > 0:
			if err := sleep(ctx, s.retryAfter); err != nil {
				return nil, err
			}
			continue
		}
		a.reportProgress(s.verdict)
		if err := a.sleepUntilNext(ctx, s.verdict.position); err != nil {
			return nil, err
		}
		a.spent = 0
	}
}

// step is the result of one look at the ledger.
type step struct {
	dead       []dead
	admitted   bool
	retryAfter time.Duration
	verdict    verdict
}

// decideOnce makes one decision under the locks: it admits the run, queues it, refuses it with an error, or says in the result what to do
// first. The locks in s.dead are held by us and have to be closed, which decideOnce does itself if it returns an error.
func (a *acquisition) decideOnce(ctx context.Context) (s step, err error) {
	l, r := a.ledger, a.request
	leave, err := l.lockOutOthers(ctx)
	defer leave()
	if _, off := errors.AsType[*UnavailableError](err); off || ctx.Err() != nil {
		return s, cmp.Or(context.Cause(ctx), err)
	}
	if err != nil && r.Required {
		return s, &UncheckedError{"shared", err}
	}
	seen := l.readShared(!a.tidied)
	a.tidied = true
	err = l.withLock(ctx, func(b *book) error {
		b.seen = seen
		take := reapAtOnce
		if a.spent >= sweepBudget {
			take = 0
		}
		b.awaitOrphans = time.Since(a.began) < orphanPatience
		if s.dead = b.reconcile(take, a.tried, someOwners); len(s.dead) > 0 {
			return nil
		}
		if b.orphaned {
			s.retryAfter = orphanPoll
			return nil
		}
		e, waiting := a.findOrMakeEntry(b), b.waiters()
		over := r.Wait >= 0 && time.Since(a.began) >= r.Wait
		v := b.decideTwice(e, waiting, r, over || r.Force, time.Since(a.exactAt) >= sumAge)
		if c := a.probeDepth(b, v, over); c != someOwners { // nobody waits or is refused for a claim whose owner is dead
			if s.dead = b.reconcile(take, a.tried, c); len(s.dead) > 0 {
				return nil
			}
			if c == everyLock {
				waiting = b.waiters()
				v = b.decideTwice(e, waiting, r, true, true)
			}
		}
		if v.exact {
			a.exactAt = time.Now()
		}
		if v.headroomErr != nil && r.Required {
			return &UncheckedError{"headroom", v.headroomErr}
		}
		if v.headroomErr != nil && !a.warned {
			a.warned = true
			b.addWarning("headroom", "", "memory is not checked before this run: %v", v.headroomErr)
		}
		if v.terms.Holders == nil && r.Progress != nil && !v.admit {
			v.terms.Holders = b.oldestHolder(e, v.reason)
		}
		s.verdict = v
		if len(b.file.Entries)-len(waiting) >= MaxClaims {
			v.admit, v.reason = false, LedgerFull
			if !a.queued {
				return v.refusalError(r, 0)
			}
			s.verdict = v
		} else if v.admit || r.Force {
			s.admitted = true
			return a.admit(b, e, v)
		}
		if !v.never && over && v.reaping && time.Since(a.began) < r.Wait+sweepBudget {
			s.retryAfter = pollReaping
			return nil
		}
		if v.never || over {
			return v.refusalError(r, time.Since(a.began))
		}
		if !a.queued {
			if len(waiting) >= MaxWaiters {
				v.reason = QueueFull
				return v.refusalError(r, time.Since(a.began))
			}
			return a.enqueue(b, e)
		}
		return nil
	})
	if err != nil {
		for _, d := range s.dead {
			d.lock.Close()
		}
	}
	return s, err
}

// probeDepth returns how many owners must be probed before the verdict v is final: nobody may wait, or be refused, for a claim whose owner is dead.
// over is true when a verdict against the run is its refusal.
func (a *acquisition) probeDepth(b *book, v verdict, over bool) probeDepth {
	switch {
	case v.admit || v.never:
		return someOwners
	case over && len(b.file.Entries) > probedWaiters:
		return everyLock
	case len(b.file.Entries)-v.waiting > askedHolders && (v.position == 1 || !a.queued):
		return allHolders
	}
	return someOwners
}

// findOrMakeEntry returns our entry in the ledger. It makes one before we have queued, and adds one if somebody has damaged both the ledger and
// our claim file since.
func (a *acquisition) findOrMakeEntry(b *book) *entry {
	if a.claim != nil {
		if e := b.findEntry(a.claim.id); e != nil {
			return e
		}
		e := b.newEntry(a.request)
		e.ID, e.State = a.claim.id, Waiting
		b.addEntry(e)
		return e
	}
	return b.newEntry(a.request)
}

// newEntry returns an entry for a request, with the next ticket. It does not add it.
func (b *book) newEntry(r Request) *entry {
	return &entry{
		ID: r.ID, Ticket: b.file.Ticket + 1, Tool: r.Tool, Project: r.Project, Variant: r.Variant, Parent: b.findParent(r),
		Reservation: r.Reservation, Owner: b.ledger.owner, Since: b.now,
		CountSwap: r.CountSwap, SlotsPerTool: r.SlotsPerTool, SlotsTotal: r.SlotsTotal, NoSlot: r.NoSlot,
	}
}

// findParent returns the ID of the live claim that r draws on, "" when there is none.
func (b *book) findParent(r Request) string {
	if e := b.findEntry(r.Parent); e != nil && e.State == Holding && e.StaleAt.IsZero() && e.ID != r.ID {
		return e.ID
	}
	return ""
}

// enqueue makes the claim's files and its notifier, and adds e to the ledger as a waiter. If no notifier can be made, the waiter polls.
func (a *acquisition) enqueue(b *book, e *entry) error {
	e.State = Waiting
	if err := a.createFiles(b, e); err != nil {
		return err
	}
	a.queued, a.claim.queued = true, true
	var err error
	if a.notifier, err = a.ledger.notifiers.listen(e.ID); err != nil {
		a.notifier = pollingNotifier{}
	}
	b.addEntry(e)
	return nil
}

// admit makes e a holder, with its claim, and shows it to other users. It writes the claim's files when e did not queue. If the run around it
// has reserved less than this one, it warns.
func (a *acquisition) admit(b *book, e *entry, v verdict) error {
	forced := a.request.Force && !v.admit
	e.Tool, e.Project, e.Variant = a.request.Tool, a.request.Project, a.request.Variant // a record has no project, and of a long name only the beginning
	b.makeHolder(e, v, forced)
	if a.queued {
		if err := a.ledger.writeClaimFile(claimFile{Entry: e}); err != nil {
			return a.ledger.unavailableError(err)
		}
		b.changed = true
	} else {
		if err := a.createFiles(b, e); err != nil {
			return err
		}
		b.addEntry(e)
	}
	c := a.claim
	c.queued, c.headroom = false, a.request.Headroom
	e.ID, e.Parent = c.id, strings.Clone(e.Parent)
	c.entry, c.terms, c.waited = *e, v.terms, time.Since(a.began)
	c.shared = b.share(e, v.machine)
	if e.Parent != "" {
		if above := b.findEntry(e.Parent); above != nil {
			c.parent = b.describeEntry(above)
			if e.Reservation > above.Reservation {
				b.addWarning("nested", "", "%s may need %s, more than the %s reserved by the run around it (%s): the inner run draws on the outer one's reservation",
					e.Tool, e.Reservation.Human(), above.Reservation.Human(), above.Tool)
			}
		}
	}
	failpoint("admitted")
	return nil
}

// createFiles makes the claim's lock file, locks it, and writes the claim file, all before the ledger lists the claim. It sets a.claim, and
// gives e a new ID unless the request names one; a named one that is in use is [ErrTaken].
func (a *acquisition) createFiles(b *book, e *entry) error {
	l := a.ledger
	for {
		if a.request.ID == "" {
			e.ID = makeID()
		}
		if b.findEntry(e.ID) != nil {
			return fmt.Errorf("admission: %s: %w", e.ID, ErrTaken)
		}
		f, err := os.OpenFile(l.claimLockPath(e.ID), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			if a.request.ID == "" {
				continue
			}
			return fmt.Errorf("admission: %s: %w", e.ID, ErrTaken)
		}
		if err != nil {
			return l.unavailableError(err)
		}
		failpoint("lock created")
		a.claim = &Claim{ledger: l, id: e.ID, lock: f}
		ok, err := filelock.Try(f, filelock.Exclusive)
		if err == nil && !ok {
			err = fmt.Errorf("%s: %w", f.Name(), ErrLocked)
		}
		failpoint("lock held")
		if err == nil {
			err = l.writeClaimFile(claimFile{Entry: e})
		}
		if err != nil {
			return l.unavailableError(err)
		}
		failpoint("card written")
		return nil
	}
}

// makeID returns a random ID of 20 hexadecimal digits.
func makeID() string {
	var random [10]byte
	_, _ = cryptorand.Read(random[:]) // never fails: crypto/rand aborts the process instead
	return hex.EncodeToString(random[:])
}

// releaseAfterError releases the claim after an error, also when the caller's context is done, for at most leaveWithin. If even that fails,
// its lock is closed, so that the next command can remove it.
func (a *acquisition) releaseAfterError() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	_ = a.claim.release(ctx)
}

// leaveWithin bounds how long Ctrl-C waits for a ledger whose lock is not released.
const leaveWithin = 2 * time.Second

// A waiter sleeps until it is woken: by a release that may be for it, by one before it in the queue that has
// left, or by one that has read the memory and found room. Beside that the first one looks once a second, because memory that other
// programs free sends no wake-up; the next few check whether the first one is stopped; and all others look seldom, in case those are stopped too.
const (
	lookFirst  = time.Second
	lookNext   = 2 * time.Second // and up to half of it more
	nextOnes   = 4               // the last position that lookNext is for
	lookSeldom = 30 * time.Second
)

// A waiter without a notifier polls every pollLeast to pollMost at first, and up to pollSeldom times
// as rarely when it has waited for long or stands far behind.
const (
	pollLeast  = 100 * time.Millisecond
	pollMost   = 250 * time.Millisecond
	pollSeldom = 4
	farBehind  = 9
)

// pollStretch returns the factor by which the pause between two polls grows with the time waited and the position in the queue, 1 at first.
func pollStretch(waited time.Duration, position int) time.Duration {
	switch {
	case position >= farBehind || waited > time.Minute:
		return pollSeldom
	case waited > 10*time.Second:
		return pollSeldom / 2
	}
	return 1
}

// sleepUntilNext waits until another process wakes this one, the time for the next regular look has come, or Request.Wait is over. The error is
// the cause of ctx.
func (a *acquisition) sleepUntilNext(ctx context.Context, position int) error {
	var d time.Duration
	if d = sleepTime(position); a.notifier.polls() {
		d = (pollLeast + rand.N(pollMost-pollLeast)) * pollStretch(time.Since(a.began), position)
	}
	if w := a.request.Wait; w > 0 {
		d = min(d, max(time.Millisecond, w-time.Since(a.began)))
	}
	return a.notifier.wait(ctx, d)
}

// sleepTime returns the time that a waiter sleeps when nothing wakes it.
func sleepTime(position int) time.Duration {
	switch {
	case position <= 1:
		return lookFirst
	case position <= nextOnes:
		return lookNext + rand.N(lookNext/2)
	}
	return lookSeldom + rand.N(lookSeldom)
}

// reportProgress calls [Request.Progress] when the place in the queue or the reason has changed, or the last call is ProgressEvery ago.
func (a *acquisition) reportProgress(v verdict) {
	if a.request.Progress == nil {
		return
	}
	p := Progress{Tool: a.request.Tool, Position: v.position, Of: max(v.waiting, v.position), Reason: v.reason, For: time.Since(a.began), Terms: v.terms}
	same := !a.lastProgressAt.IsZero() && p.Position == a.lastProgress.Position && p.Of == a.lastProgress.Of && p.Reason == a.lastProgress.Reason
	if same && time.Since(a.lastProgressAt) < ProgressEvery {
		return
	}
	a.lastProgress, a.lastProgressAt = p, time.Now()
	a.request.Progress(p)
}
