package archive

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/smalldisk"
)

// On a full disk an append is an error that says so, what was there stays, and when there is room again it goes on.
func TestAFullDisk(t *testing.T) {
	dir := smalldisk.New(t, "size=256k")
	a, err := Open(Options{Dir: dir, SegmentBytes: 64 << 10})
	must(t, err)
	big := Line{Body: []byte(`{"x":"` + strings.Repeat("x", 900) + `"}`), Shared: []byte(`{"run":"r1"}`)}
	written := 0
	for {
		if err = a.Append(t.Context(), ns, false, big, big, big); err != nil {
			break
		}
		written += 3
	}
	if !strings.Contains(err.Error(), "make room") {
		t.Error(err)
	}
	got, seen := bodies(t, a)
	if len(got) != written || seen.Damaged != 0 {
		t.Errorf("%d entries of %d, %+v", len(got), written, seen)
	}
	if _, err := a.Rewrite(t.Context(), ns, true, func(l Line) ([]byte, bool) { return l.Body, true }); err == nil {
		t.Log("there was room enough for a rewrite")
	}
	if got, _ := bodies(t, a); len(got) != written {
		t.Errorf("after a rewrite: %d entries of %d", len(got), written)
	}
	left := 0
	done, err := a.Rewrite(t.Context(), ns, true, func(l Line) ([]byte, bool) { return nil, true })
	if err != nil || done.Dropped == 0 {
		t.Fatalf("what makes room is possible on a full disk too: %+v, %v", done, err)
	}
	must(t, a.Append(t.Context(), ns, true, big))
	if got, _ := bodies(t, a); len(got) != left+1 {
		t.Errorf("%d entries", len(got))
	}
	must(t, a.Close())
}
