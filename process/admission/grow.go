package admission

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// NoRoom is the error of [Claim.Grow] when there is no room for more. Sizes are in bytes.
type NoRoom struct {
	// Asked is the smallest reservation that would have been enough, Most the largest that the claim could have.
	Asked, Most limit.Bytes
	// Waiting is the number of runs that wait, which come first.
	Waiting int
}

// Error says whether other runs wait, or how much there is room for.
func (e *NoRoom) Error() string {
	if e.Waiting > 0 {
		return fmt.Sprintf("%d runs wait for room, and come first", e.Waiting)
	}
	return fmt.Sprintf("there is room for %s in all, beside what other runs have set aside and what must stay free, and %s were asked for", e.Most.Human(), e.Asked.Human())
}

// ErrNested is wrapped by the error of [Claim.Grow] for a run inside another one, which draws on that one's claim.
var ErrNested = errors.New("it runs inside another run, whose limit holds it")

// Grow raises the reservation of a claim that is held to want bytes in all, or to as much as there is room for beside the other claims, and
// returns the new size. It is a [*NoRoom] when that is less than least, or when runs wait; another error when the memory cannot be read. With
// force, these errors are ignored and want is granted. While other users may decide too, nothing is granted. Further errors are [ErrNested] and
// [ErrReleased].
func (c *Claim) Grow(ctx context.Context, least, want limit.Bytes, force bool) (granted limit.Bytes, err error) {
	l := c.ledger
	leave, err := l.lockOutOthers(ctx)
	defer leave()
	if err != nil {
		return 0, err
	}
	seen := l.readShared(false)
	c.mu.Lock() // not held while the ledger is waited for: whoever watches the run publishes what it uses meanwhile
	mine, released := c.entry, c.released
	c.mu.Unlock()
	if released {
		return 0, ErrReleased
	}
	err = l.withLock(ctx, func(b *book) error {
		b.seen = seen
		b.reconcile(0, nil, everyLock)
		e := b.findEntry(c.id)
		if e == nil || e.State != Holding {
			return ErrReleased
		}
		if e.Parent != "" {
			return ErrNested
		}
		if granted, err = b.growableTo(e, Request{Headroom: c.headroom}, least, want); err != nil && !force {
			return err
		} else if err != nil {
			granted = want
		}
		e.Reservation = max(e.Reservation, granted)
		b.changed = true
		e.Tool, e.Project, e.Variant = mine.Tool, mine.Project, mine.Variant // a record has no project, and of a long name only the beginning
		mine.Reservation = e.Reservation
		return nil
	})
	if err != nil {
		return 0, err
	}
	return granted, c.writeReservation(mine.Reservation)
}

// writeReservation writes the new reservation of the claim into its own file, and shows it to other users.
func (c *Claim) writeReservation(bytes limit.Bytes) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return ErrReleased
	}
	c.entry.Reservation = bytes
	err := c.ledger.writeClaimFile(claimFile{Entry: &c.entry, Remains: c.remains})
	if c.shared != nil {
		c.shared.note.Reservation = min(bytes, maxReserved)
		err = errors.Join(err, c.shared.writeNote())
	}
	return err
}

// growableTo returns the reservation that e may have in all, between least and want. It is a [*NoRoom] when least does not fit or runs wait, and
// another error when the memory of the host is not known.
func (b *book) growableTo(e *entry, r Request, least, want limit.Bytes) (limit.Bytes, error) {
	g := b.readCapacity(r, true)
	switch {
	case g.err != nil:
		return 0, fmt.Errorf("the memory of this host cannot be read: %w", g.err)
	case !g.known:
		return 0, errors.New("the memory of this host is not known")
	}
	waiting := 0
	for _, w := range b.waiters() {
		if !w.Missed {
			waiting++
		}
	}
	// What it holds above its reservation is missing from what is available already.
	most := max(0, min(max(e.Reservation, b.describeEntry(e).Current)+g.availableTo(e), g.ceiling[swapIndex(e.CountSwap)].Total-e.MinFree))
	if waiting > 0 || most < least {
		return 0, &NoRoom{Asked: least, Most: min(most, headroom.Unlimited), Waiting: waiting}
	}
	return min(want, most), nil
}
