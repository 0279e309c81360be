package run

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// A run that is alone does not read the ledger at each look, but what it uses is of now: by that it is decided whether it gives way.
func TestARunThatIsAloneKnowsItsUse(t *testing.T) {
	dir := t.TempDir()
	ledger, err := admission.Open(admission.Options{Dir: dir, Current: holder.Current, Reap: holder.Reap})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := ledger.Acquire(t.Context(), admission.Request{
		ID: admission.NewID(), Tool: "agent", Project: "p", Reservation: 32 * limit.MiB, MinFree: -1, Force: true,
		Headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	tables, err := filepath.Glob(filepath.Join(dir, "ledger", "*", "ledger.table"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("%q, %v", tables, err)
	}
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(tables[0], past, past); err != nil { // written long ago: a glance can tell
		t.Fatal(err)
	}
	use := filepath.Join(filepath.Dir(tables[0]), "claims", claim.ID()+".use")
	p := &ledgerPeers{ledger: ledger, claim: claim, notes: &notebook{}}
	for i, used := range []limit.Bytes{10 * limit.MiB, 200 * limit.MiB, 5 * limit.MiB} {
		if err := os.WriteFile(use, fmt.Appendf(nil, "%d\n", used), 0o600); err != nil { // Observe writes once a second
			t.Fatal(err)
		}
		list, err := p.Holders(t.Context())
		if err != nil || len(list) != 1 || list[0].Current != used {
			t.Fatalf("look %d: %+v, %v; want one that uses %s", i, list, err, used)
		}
		if p.alone == nil || !p.glance.Unchanged(ledger.Glance()) {
			t.Fatalf("look %d: the ledger would be read again", i)
		}
	}
}
