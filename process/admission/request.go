package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
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
	// Variant names the use of a generic tool, for people.
	Variant string
	// Reservation is the need of the run, in bytes (its estimate, not its limit).
	Reservation limit.Bytes
	// AskedBy names the flag, the variable or the line of a file in which a person asked for Reservation, for the words of a refusal; "" where
	// it was learned or guessed.
	AskedBy string
	// Yields is true when Reservation was learned or guessed, not asked for by a person: it is then lowered to what is available, but not
	// below Least, unless not even that could ever fit, nor below half of what could be available. [Claim.Terms] has the result.
	Yields bool
	Least  limit.Bytes
	// Parent is the claim of the run around this one, from PLIMSOLL_RUN_ID. When that
	// claim is held, this one draws on it: it takes no slot and adds nothing to the sum. One
	// that is unknown or dead is ignored.
	Parent string
	// SlotsPerTool and SlotsTotal bound the runs of Tool, and in all, that are there at
	// once. 0 is no limit; below 0 none may.
	SlotsPerTool, SlotsTotal int
	// NoSlot is true for a process that serves runs and is not a run, such as an MCP server: it takes no slot. Its memory counts.
	NoSlot bool
	// Wait bounds the time in the queue: 0 fails at once, below 0 ([Forever]) waits without an end.
	Wait time.Duration
	// Force admits the run whatever the sum and the slots say; [Claim.Forced] then reports that.
	Force bool
	// Required makes it an [*UncheckedError], instead of a warning, when the memory cannot be read or the decisions of other users are not
	// waited for ([Options].Shared). Force does not change that.
	Required bool
	// MinFree is the memory that must stay free, in bytes: 0 is [headroom.MinFree] of the capacity,
	// below 0 is nothing.
	MinFree limit.Bytes
	// CountSwap counts free swap as available.
	CountSwap bool
	// Headroom reads the host's memory; it is called with the ledger's lock held. When it is nil or fails only slots are counted; a failure
	// is a warning, or under Required an error.
	Headroom func() (headroom.Reading, error)
	// Progress is called with the place of a waiting run: when that changes, and at least every [ProgressEvery].
	Progress func(Progress)
	// Removed is called for each dead run whose remains were cleaned up before the decision (may be nil).
	Removed func(Holder)
}

// ProgressEvery is the time between calls of [Request.Progress] when nothing changes.
const ProgressEvery = 5 * time.Second

// Progress is the place of a waiting run in the queue.
type Progress struct {
	// Tool is the tool of the request.
	Tool string
	// Position counts from 1, Of is the number of runs that wait.
	Position, Of int
	// Reason names the obstacle.
	Reason Reason
	// For is the time it has waited.
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

// UncheckedError is the error for a run whose admission could not be checked in full although [Request].Required demands it.
type UncheckedError struct {
	// About names the part that could not be checked: "headroom" or "shared".
	About string
	// Err is the cause.
	Err error
}

// Error names what is missing and the next step.
func (e *UncheckedError) Error() string {
	if e.About == "shared" {
		return fmt.Sprintf("not admitted, since enforcement is required and decisions of other users may overlap with this one: %v", e.Err)
	}
	return fmt.Sprintf("not admitted, since enforcement is required and the memory of this host cannot be read: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UncheckedError) Unwrap() error { return e.Err }

// validate returns an error that wraps [ErrRequest] if the request is invalid.
func (r *Request) validate() error {
	switch {
	case r.ID != "" && !ValidID(r.ID):
		return fmt.Errorf("admission: %w: the id %q is not 1 to 64 letters, digits, - and _", ErrRequest, r.ID)
	case r.Tool == "":
		return fmt.Errorf("admission: %w: no tool is named", ErrRequest)
	case len(r.Tool) > maxName || len(r.Project) > maxName || len(r.Variant) > maxName:
		return fmt.Errorf("admission: %w: the tool, its variant or the project has more than %d bytes", ErrRequest, maxName)
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

// pollReaping is the time between two checks of a request that would be refused, for the end of a claim
// that another process is cleaning up.
const pollReaping = 20 * time.Millisecond

// Acquire gets a claim, waiting for it as the request says. Dead claims are cleaned up first. The error is a [*Refused], an
// [*UncheckedError], an [*UnavailableError], wraps [ErrRequest] or [ErrTaken], or is the cause of ctx; the queue has been left then. The
// claim must be released.
func (l *Ledger) Acquire(ctx context.Context, r Request) (*Claim, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a := &acquisition{ledger: l, request: r, began: time.Now(), tried: map[string]time.Time{}}
	return a.waitUntilDecided(ctx)
}

// Preview returns the terms on which Acquire would decide now. The error is nil when the request would be admitted at once, and a
// [*Refused] when not. It makes no claim and wakes nobody; claims of dead owners are marked as stale, as by [Ledger.Holders].
func (l *Ledger) Preview(ctx context.Context, r Request) (Terms, error) {
	if err := r.validate(); err != nil {
		return Terms{}, err
	}
	var terms Terms
	seen := l.readShared(false)
	err := l.withLock(ctx, func(b *book) error {
		b.seen = seen
		b.reconcile(0, nil, everyLock)
		v := b.decide(b.newEntry(r), b.waiters(), r, true)
		terms = v.terms
		if v.admit || r.Force {
			return nil
		}
		return v.refusalError(r, 0)
	})
	return terms, err
}
