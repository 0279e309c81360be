package admission

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/headroom"
)

// Forever is [Request.Wait] without an end.
const Forever time.Duration = -1

// Request asks for a claim.
type Request struct {
	// ID names the claim; "" makes one up. See [ValidID].
	ID string
	// Tool and Project are for slots and for people. Tool is needed.
	Tool    string
	Project string
	// Reservation is what the run will need, in bytes (its estimate, not its limit).
	Reservation limit.Bytes
	// Parent is the claim of the run around this one, from PLIMSOLL_RUN_ID. When that
	// claim is held, this one draws on it: it takes no slot and adds nothing to the sum. One
	// that is unknown or dead is ignored.
	Parent string
	// SlotsPerTool and SlotsTotal are how many runs of Tool, and in all, may be there at
	// once. 0 is no limit; below 0 none may.
	SlotsPerTool, SlotsTotal int
	// NoSlot is for what serves runs and is none, such as an MCP server: it takes nobody's
	// slot. Its memory counts.
	NoSlot bool
	// Wait is how long to queue: 0 fails at once, below 0 ([Forever]) waits without an end.
	Wait time.Duration
	// Force goes ahead whatever the sum and the slots say, and is recorded.
	Force bool
	// Required demands that everything is checked that the decision rests on: when the memory cannot be read, or the
	// decisions of other users are not waited for ([Options].Shared), the error is an [*UncheckedError] where there would be a
	// warning. Force does not change that.
	Required bool
	// MinFree is what must stay free, in bytes: 0 is [headroom.MinFree] of the capacity,
	// below 0 is nothing.
	MinFree limit.Bytes
	// CountSwap counts free swap as available.
	CountSwap bool
	// Headroom reads what there is; it is called with the ledger's lock held. When it is nil or
	// fails only slots are counted; a failure is a warning, or under Required the end.
	Headroom func() (headroom.Reading, error)
	// Progress hears where a waiting run stands: when that changes, and every
	// [ProgressEvery] beside.
	Progress func(Progress)
}

// ProgressEvery is how often [Request.Progress] is called when nothing changes.
const ProgressEvery = 5 * time.Second

// Progress is where a waiting run stands.
type Progress struct {
	// Tool is the tool of the request.
	Tool string
	// Position counts from 1, Of is how many wait.
	Position, Of int
	// Reason is what it waits for.
	Reason Reason
	// For is how long it has waited.
	For time.Duration
	// Terms is the sum as it stands.
	Terms Terms
}

// Errors of [Ledger.Acquire] beside [*Refused] and [*UnavailableError].
var (
	// ErrRequest is wrapped when a request makes no sense.
	ErrRequest = errors.New("bad request for a claim")
	// ErrTaken is wrapped when another claim has the requested ID.
	ErrTaken = errors.New("a claim of this id is in the ledger")
)

// UncheckedError says why a decision that must be checked in full ([Request].Required) was not made.
type UncheckedError struct {
	// About is what could not be checked: "headroom" or "shared".
	About string
	// Err is the cause.
	Err error
}

// Error says what is missing and what to do.
func (e *UncheckedError) Error() string {
	if e.About == "shared" {
		return fmt.Sprintf("not admitted, since enforcement is required and decisions of other users may overlap with this one: %v", e.Err)
	}
	return fmt.Sprintf("not admitted, since enforcement is required and the memory of this host cannot be read: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UncheckedError) Unwrap() error { return e.Err }

func (r *Request) check() error {
	switch {
	case r.ID != "" && !ValidID(r.ID):
		return fmt.Errorf("admission: %w: the id %q is not 1 to 64 letters, digits, - and _", ErrRequest, r.ID)
	case r.Tool == "":
		return fmt.Errorf("admission: %w: no tool is named", ErrRequest)
	case len(r.Tool) > maxName || len(r.Project) > maxName:
		return fmt.Errorf("admission: %w: the tool or project has more than %d bytes", ErrRequest, maxName)
	case r.Reservation < 0:
		return fmt.Errorf("admission: %w: the reservation %d is negative", ErrRequest, r.Reservation)
	}
	return nil
}

// maxName bounds tool and project: a path of the length that Linux allows still fits.
const maxName = 4096

// sweepBudget bounds what an admission spends at a time on what others left: after it no
// further reap is begun, and what remains waits for the next look or the next command.
const sweepBudget = 3 * time.Second

// pollReaping is how often a request that would be refused looks whether a claim that another
// process is cleaning up has gone.
const pollReaping = 20 * time.Millisecond

// Acquire gets a claim, waiting for it as the request says. Dead claims are cleaned up
// first. The error is a [*Refused], an [*UnavailableError], ErrRequest, ErrTaken, or the cause
// of ctx, and then the queue has been left. A claim must be released.
func (l *Ledger) Acquire(ctx context.Context, r Request) (*Claim, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a := &acquisition{ledger: l, request: r, began: time.Now(), tried: map[string]time.Time{}}
	return a.run(ctx)
}

// Preview tells what Acquire would decide now without waiting, and changes nothing but to mark
// claims of dead owners as stale. The error is nil when the request would be admitted at once.
func (l *Ledger) Preview(ctx context.Context, r Request) (Terms, error) {
	if err := r.check(); err != nil {
		return Terms{}, err
	}
	var terms Terms
	seen := l.shared(false)
	err := l.locked(ctx, func(b *book) error {
		b.seen = seen
		b.reconcile(0, nil, true)
		v := b.decide(b.newEntry(r), b.waiting(), r, true)
		b.rings = nil
		terms = v.terms
		if v.admit || r.Force {
			return nil
		}
		return v.refused(r, 0)
	})
	return terms, err
}

// acquisition is one Acquire under way.
type acquisition struct {
	ledger  *Ledger
	request Request
	began   time.Time
	tried   map[string]time.Time // dead claims whose clean-up was tried
	spent   time.Duration        // on cleaning up since we last slept
	claim   *Claim               // once our files are there
	queued  bool
	tidied  bool // the shared directory, once
	shown   Progress
	shownAt time.Time
	warned  bool // of a headroom that cannot be read
	bell    bell // nil until it waits
	exactAt time.Time
}

func (a *acquisition) run(ctx context.Context) (_ *Claim, err error) {
	defer func() {
		if err != nil && a.claim != nil {
			a.leave()
		}
	}()
	defer func() {
		if a.bell != nil {
			a.bell.close()
			_ = os.Remove(a.ledger.bellPath(a.claim.id))
		}
	}()
	for {
		s, err := a.step(ctx)
		switch {
		case err != nil:
			return nil, err
		case len(s.dead) > 0:
			if err := a.reap(ctx, s.dead); err != nil {
				return nil, err
			}
			continue
		case s.admitted:
			return a.claim, nil
		case s.again > 0:
			if err := sleep(ctx, s.again); err != nil {
				return nil, err
			}
			continue
		}
		a.progress(s.verdict)
		if err := a.nap(ctx, s.verdict.position); err != nil {
			return nil, err
		}
		a.spent = 0
	}
}

// step is what one look at the ledger led to.
type step struct {
	dead     []dead
	admitted bool
	again    time.Duration
	verdict  verdict
}

func (a *acquisition) step(ctx context.Context) (s step, err error) {
	l, r := a.ledger, a.request
	leave, err := l.serialise(ctx)
	defer leave()
	if _, off := errors.AsType[*UnavailableError](err); off || ctx.Err() != nil {
		return s, cmp.Or(context.Cause(ctx), err)
	}
	if err != nil && r.Required {
		return s, &UncheckedError{"shared", err}
	}
	seen := l.shared(!a.tidied)
	a.tidied = true
	err = l.locked(ctx, func(b *book) error {
		b.seen = seen
		take := reapAtOnce
		if a.spent >= sweepBudget {
			take = 0
		}
		b.patient = time.Since(a.began) < orphanPatience
		if s.dead = b.reconcile(take, a.tried, false); len(s.dead) > 0 {
			return nil
		}
		if b.orphaned {
			s.again = orphanPoll
			return nil
		}
		e, waiting := a.entry(b), b.waiting()
		v := b.decide(e, waiting, r, false)
		over := r.Wait >= 0 && time.Since(a.began) >= r.Wait
		refusing := !v.admit && !v.never && (over || r.Force)
		if refusing && len(b.file.Entries) > probedWaiters { // nobody is refused for a claim whose owner is dead
			if s.dead = b.reconcile(take, a.tried, true); len(s.dead) > 0 {
				return nil
			}
			waiting = b.waiting()
		}
		if refusing && !v.sure || !v.admit && !v.sure && v.position == 1 && time.Since(a.exactAt) >= sumAge {
			a.exactAt = time.Now()
			v = b.decide(e, waiting, r, true)
		}
		if v.headroomErr != nil && r.Required {
			return &UncheckedError{"headroom", v.headroomErr}
		}
		if v.headroomErr != nil && !a.warned {
			a.warned = true
			b.warn("headroom", "", "memory is not checked before this run: %v", v.headroomErr)
		}
		if v.terms.Holders == nil && r.Progress != nil && !v.admit {
			v.terms.Holders = b.oldest(e, v.reason)
		}
		s.verdict = v
		if len(b.file.Entries)-len(waiting) >= MaxClaims {
			v.admit, v.reason = false, LedgerFull
			if !a.queued {
				return v.refused(r, 0)
			}
			s.verdict = v
		} else if v.admit || r.Force {
			s.admitted = true
			return a.admit(b, e, v)
		}
		if !v.never && over && v.reaping && time.Since(a.began) < r.Wait+sweepBudget {
			s.again = pollReaping
			return nil
		}
		if v.never || over {
			return v.refused(r, time.Since(a.began))
		}
		if !a.queued {
			if len(waiting) >= MaxWaiters {
				v.reason = QueueFull
				return v.refused(r, time.Since(a.began))
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

// entry is our line in the ledger; a new one before we queue, and when somebody has
// damaged the ledger and our file with it.
func (a *acquisition) entry(b *book) *entry {
	if a.claim != nil {
		if e := b.find(a.claim.id); e != nil {
			return e
		}
		e := b.newEntry(a.request)
		e.ID, e.State = a.claim.id, Waiting
		b.add(e)
		return e
	}
	return b.newEntry(a.request)
}

func (b *book) newEntry(r Request) *entry {
	return &entry{
		ID: r.ID, Ticket: b.file.Ticket + 1, Tool: r.Tool, Project: r.Project, Parent: b.parent(r),
		Reservation: r.Reservation, Owner: b.ledger.owner, Since: b.now,
		CountSwap: r.CountSwap, SlotsPerTool: r.SlotsPerTool, SlotsTotal: r.SlotsTotal, NoSlot: r.NoSlot,
	}
}

// parent is the live claim that r draws on, or "".
func (b *book) parent(r Request) string {
	if e := b.find(r.Parent); e != nil && e.State == Holding && e.StaleAt.IsZero() && e.ID != r.ID {
		return e.ID
	}
	return ""
}

// enqueue adds us as a waiter.
func (a *acquisition) enqueue(b *book, e *entry) error {
	e.State = Waiting
	if err := a.create(b, e); err != nil {
		return err
	}
	a.queued, a.claim.queued = true, true
	var err error
	if a.bell, err = a.ledger.bells.listen(e.ID); err != nil {
		a.bell = deafBell{}
	}
	b.add(e)
	return nil
}

// admit turns e into a holder.
func (a *acquisition) admit(b *book, e *entry, v verdict) error {
	forced := a.request.Force && !v.admit
	e.Tool, e.Project = a.request.Tool, a.request.Project // a record has no project, and of a long name only the beginning
	e.State, e.Since, e.Forced = Holding, b.now, forced
	e.ReadyAt, e.Missed = time.Time{}, false
	if a.queued {
		if err := a.ledger.writeCard(card{Entry: e}); err != nil {
			return a.ledger.unavailable(err)
		}
		b.changed = true
	} else {
		if err := a.create(b, e); err != nil {
			return err
		}
		b.add(e)
	}
	if !forced {
		for _, w := range v.harmed {
			w.Bypassed++
		}
	}
	if a.queued {
		b.wakeFront(b.waiting(), 2)
	}
	c := a.claim
	c.queued, c.headroom = false, a.request.Headroom
	e.ID, e.Parent = c.id, strings.Clone(e.Parent)
	c.entry, c.terms, c.waited = *e, v.terms, time.Since(a.began)
	c.shared = b.share(e)
	if e.Parent != "" {
		if above := b.find(e.Parent); above != nil {
			c.parent = b.holder(above)
			if e.Reservation > above.Reservation {
				b.warn("nested", "", "%s may need %s, more than the %s reserved by the run around it (%s): the inner run draws on the outer one's reservation",
					e.Tool, e.Reservation.Human(), above.Reservation.Human(), above.Tool)
			}
		}
	}
	failpoint("admitted")
	return nil
}

// create makes our lock file, locked, and our card, before the ledger names us.
func (a *acquisition) create(b *book, e *entry) error {
	l := a.ledger
	for {
		if a.request.ID == "" {
			e.ID = newID()
		}
		if b.find(e.ID) != nil {
			return fmt.Errorf("admission: %s: %w", e.ID, ErrTaken)
		}
		f, err := os.OpenFile(l.claimLock(e.ID), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			if a.request.ID == "" {
				continue
			}
			return fmt.Errorf("admission: %s: %w", e.ID, ErrTaken)
		}
		if err != nil {
			return l.unavailable(err)
		}
		failpoint("lock created")
		a.claim = &Claim{ledger: l, id: e.ID, lock: f}
		ok, err := tryLockFile(f)
		if err == nil && !ok {
			err = fmt.Errorf("%s: %w", f.Name(), ErrLocked)
		}
		failpoint("lock held")
		if err == nil {
			err = l.writeCard(card{Entry: e})
		}
		if err != nil {
			return l.unavailable(err)
		}
		failpoint("card written")
		return nil
	}
}

func newID() string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand aborts the process instead
	return hex.EncodeToString(random[:])
}

// leave takes us out of the ledger after an error, also when ctx is done. If even that
// fails, closing our lock lets the next command do it.
func (a *acquisition) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	_ = a.claim.release(ctx)
}

// leaveWithin bounds how long Ctrl-C waits for a ledger whose lock is not released.
const leaveWithin = 2 * time.Second
