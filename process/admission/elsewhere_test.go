//go:build unix

package admission

import (
	"errors"
	"os"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

func TestLedgersOfOneUserCountEachOther(t *testing.T) {
	dir := commons(t)
	here, there := open(t, through(dir)), open(t, through(dir))
	r := Request{Tool: "codex", Reservation: 3 * limit.GiB, MinFree: -1, SlotsTotal: 1, Headroom: machine(5*limit.GiB, 0)}
	outer := r
	outer.Reservation = 4 * limit.GiB
	c := acquire(t, there, outer)
	if err := c.Observe(limit.GiB); err != nil {
		t.Fatal(err)
	}
	_, err := here.Acquire(t.Context(), r)
	refused, ok := errors.AsType[*Refused](err)
	if !ok || refused.Reason != Memory || refused.Terms.Claimed != 3*limit.GiB {
		t.Fatalf("3G of 5G in a ledger where 3G are still to come in another one of this user: %v", err)
	}
	if list, err := here.Holders(t.Context()); err != nil || len(list) != 1 || list[0].ID != c.ID() || list[0].User != userName(os.Geteuid()) {
		t.Errorf("seen: %+v (%v)", list, err)
	}
	if list, err := there.Holders(t.Context()); err != nil || len(list) != 1 || list[0].User != "" {
		t.Errorf("its own ledger has %+v (%v)", list, err)
	}
	// A run inside that one, with another runtime directory, cannot wait for its end.
	inner := r
	inner.Parent = c.ID()
	if _, err := here.Preview(t.Context(), inner); err != nil {
		t.Errorf("the run around it is held against it: %v", err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	acquire(t, here, r)
}

// A release takes the shared file away before the line in the ledger: who looks at the one before and
// at the other after must not take the claim for one of another ledger.
func TestClaimThatIsReleasedDuringADecisionIsNotCountedAsAnothers(t *testing.T) {
	dir := commons(t)
	l := open(t, through(dir))
	c := acquire(t, l, Request{Reservation: 3 * limit.GiB, MinFree: -1, Headroom: machine(5*limit.GiB, 0)})
	seen := l.readShared(false)
	if len(seen.own) != 1 {
		t.Fatalf("our own claim is not seen: %+v", seen)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	err := l.withLock(t.Context(), func(b *book) error {
		b.seen = seen
		if others := b.otherClaims(); len(others) != 0 {
			t.Errorf("what was released counts: %+v", others)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
