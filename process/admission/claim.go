package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// ObserveEvery is the least time between two writes by [Claim.Observe].
const ObserveEvery = time.Second

// ErrReleased is returned by operations on a claim that was released.
var ErrReleased = errors.New("admission: the claim was released")

// Claim is a reservation that is held. It is safe for concurrent use. It lasts until Release, or until this process ends; the next command
// then cleans it up.
type Claim struct {
	ledger *Ledger
	id     string
	entry  entry
	terms  Terms
	parent Holder
	waited time.Duration
	// headroom is the request's, for those that wait.
	headroom func() (headroom.Reading, error)
	// queued is true when it waits, or has given up waiting.
	queued bool

	mu       sync.Mutex
	remains  json.RawMessage // as it was recorded last
	lock     *os.File
	released bool
	use      *os.File
	usedAt   time.Time
	shared   *sharedClaim // nil when other users do not see it
	wish     string       // the file in which somebody may ask for something; "" before it is looked for
}

// ID returns the claim's name, which is the run's ID.
func (c *Claim) ID() string { return c.id }

// Terms returns the terms of the sum at the moment of admission.
func (c *Claim) Terms() Terms { return c.terms }

// Waited returns the time it took to get the claim.
func (c *Claim) Waited() time.Duration { return c.waited }

// Forced reports whether the claim was admitted by [Request].Force although the sum or the slots would have refused it.
func (c *Claim) Forced() bool { return c.entry.Forced }

// Parent returns the run around this one on whose claim it draws, as it was at admission; ok is false when there is none.
func (c *Claim) Parent() (h Holder, ok bool) { return c.parent, c.entry.Parent != "" }

// Record stores what must be cleaned up should this process die: anything that
// marshals to at most [MaxRemains] bytes of JSON. Call it before making the thing, and again
// when more is known; the last call counts. It takes no lock of the ledger.
func (c *Claim) Record(remains any) error {
	text, err := json.Marshal(remains)
	if err != nil {
		return fmt.Errorf("admission: record of claim %s: %w", c.id, err)
	}
	if len(text) > MaxRemains {
		return fmt.Errorf("admission: record of claim %s has %d bytes, more than %d", c.id, len(text), MaxRemains)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return ErrReleased
	}
	c.remains = text
	failpoint("record")
	if err := c.ledger.writeClaimFile(claimFile{Entry: &c.entry, Remains: text}); err != nil {
		return c.ledger.unavailableError(err)
	}
	failpoint("recorded")
	return nil
}

// Observe publishes what the run uses now, in bytes: for layers that keep no account
// another process could read, and for other users, who count a run that never calls it with all that it has
// reserved. Calls within [ObserveEvery] of the last write do nothing.
func (c *Claim) Observe(current limit.Bytes) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return ErrReleased
	}
	if !c.usedAt.IsZero() && time.Since(c.usedAt) < ObserveEvery {
		return nil
	}
	if c.use == nil {
		f, err := openRegular(c.ledger.usePath(c.id), os.O_RDWR|os.O_CREATE)
		if err != nil {
			return c.ledger.unavailableError(err)
		}
		c.use = f
	}
	c.usedAt = time.Now()
	err := writeUse(c.use, max(0, current))
	if c.shared != nil {
		c.shared.note.Current = max(0, current)
		err = errors.Join(err, c.shared.writeNote())
	}
	return err
}

// Release frees the reservation and the slot. Call it when the whole tree of the run is
// dead and what was recorded is gone. Further calls do nothing. Whatever the error, the
// claim's lock is given up, so that the next command removes what is left of it.
func (c *Claim) Release() error { return c.release(context.Background()) }

// release removes the claim from the ledger and from the shared directory, with its files, and wakes the waiters that fit now. A second call
// does nothing. The claim's lock is given up even with an error.
func (c *Claim) release(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return nil
	}
	c.released = true
	if c.use != nil {
		c.use.Close()
	}
	if c.shared != nil {
		c.shared.removeFile()
	}
	failpoint("release")
	err := c.ledger.withLock(ctx, func(b *book) error {
		// Closed under the ledger's lock, and before its file is removed: Windows removes no
		// file that is open.
		c.lock.Close()
		b.removeEntry(c.id)
		b.wakeFitting(Request{Headroom: c.headroom})
		if c.queued {
			b.watchFront(b.waiters())
		}
		return nil
	})
	c.lock.Close()
	return err
}

// claimNames returns the IDs of at most maxIDs claims, from the names of their files and without taking a lock. all is true when there are no
// more. The error wraps [io/fs.ErrNotExist] where no run has ever been.
func (l *Ledger) claimNames(maxIDs int) (ids []string, all bool, err error) {
	root, err := statefile.OpenRoot(l.claimsDir()) // a pipe in its place holds nobody up
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(4 * maxIDs) // a claim has up to three files
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	for _, name := range names {
		if id, is := strings.CutSuffix(name, ".json"); is && ValidID(id) && len(ids) < maxIDs {
			ids = append(ids, id)
		}
	}
	return ids, len(names) < 4*maxIDs, nil
}
