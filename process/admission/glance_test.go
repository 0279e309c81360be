package admission

import (
	"os"
	"testing"
	"time"
)

// Who holds and looks for wishes and whether somebody else has come makes next to no garbage.
func TestGlance(t *testing.T) {
	l := open(t)
	first := acquire(t, l, Request{})
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(l.tablePath(), old, old); err != nil {
		t.Fatal(err)
	}
	before := l.Glance()
	if !before.Unchanged(l.Glance()) {
		t.Error("nothing was written, and the ledger has changed")
	}
	second := acquire(t, l, Request{})
	if before.Unchanged(l.Glance()) {
		t.Error("another run came, and the ledger is unchanged")
	}
	just := l.Glance()
	if just.Unchanged(l.Glance()) {
		t.Error("a ledger that was written a moment ago is taken for one that is at rest")
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
	if (Glance{}).Unchanged(Glance{}) {
		t.Error("what could not be told is unchanged")
	}
	if n := testing.AllocsPerRun(100, func() { first.Wished() }); n > 0 {
		t.Errorf("%v allocations to look for a wish", n)
	}
}
