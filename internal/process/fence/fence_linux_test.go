package fence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/process/admission"
)

// outside skips where these tests themselves are below a run.
func outside(t *testing.T) {
	t.Helper()
	if f := Find(nil); f.Inside() {
		t.Skip("this test runs inside a run: " + f.Why)
	}
}

// A claim that somebody holds and nobody can read makes everything undecided; one that a dead process left so makes nothing.
func TestClaimsThatCannotBeRead(t *testing.T) {
	outside(t)
	dir := t.TempDir()
	ledger, err := admission.Open(admission.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := ledger.Acquire(t.Context(), admission.Request{ID: "abc", Tool: "t", Reservation: 1})
	if err != nil {
		t.Fatal(err)
	}
	if f := Find([]string{dir}); f.Inside() {
		t.Fatalf("a run beside this process is %+v", f)
	}
	file := filepath.Join(ledger.Dir(), "claims", "abc.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := Find([]string{filepath.Join(dir, "none"), dir}); !f.Inside() || !strings.Contains(f.Why, "it cannot be told which runs there are") {
		t.Errorf("%+v", f)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := Find([]string{dir}); f.Inside() {
		t.Errorf("what a dead one left is %+v", f)
	}
}

// The processes above are followed to the first one; each supervisor among them, and each plimsoll, counts.
func TestAncestors(t *testing.T) {
	outside(t)
	list, err := listAncestors(os.Getpid())
	if err != nil || len(list) == 0 || list[0].PID != os.Getppid() {
		t.Fatal(list, err)
	}
	if top := list[len(list)-1]; top.PID != 1 && top.PPID != 0 {
		t.Errorf("the top is %+v", top)
	}
	if f := checkAncestor(proctree.Process{PID: 1 << 30, Name: "plimsoll"}, nil); !f.Inside() {
		t.Error("a plimsoll above is not seen")
	}
	dir := t.TempDir()
	ledger, err := admission.Open(admission.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := ledger.Acquire(t.Context(), admission.Request{ID: "abc", Tool: "t", Reservation: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = claim.Release() }()
	claims, err := admission.Supervisors(dir)
	if err != nil || len(claims) != 1 || !claims[0].Alive() || !claims[0].Here() {
		t.Fatal(claims, err)
	}
	me, err := proctree.Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if f := checkAncestor(me, claims); f.Run != "abc" {
		t.Errorf("the supervisor is taken for %+v", f)
	}
	me.Start++
	if f := checkAncestor(me, claims); f.Inside() {
		t.Errorf("another process of its number is taken for %+v", f)
	}
}
