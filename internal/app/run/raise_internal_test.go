package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/process/admission"
)

// A run is named to raise as it is to runs, status and top: but only among those that live.
func TestNamesOfLivingRuns(t *testing.T) {
	t.Parallel()
	ledger, err := admission.Open(admission.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := findLiving(t.Context(), ledger, "last"); err == nil || !strings.Contains(err.Error(), "nothing runs under plimsoll") {
		t.Errorf("without runs: %v", err)
	}
	for _, r := range []admission.Request{{ID: "aaaa0001", Tool: "claude"}, {ID: "aabb0002", Tool: "codex"}, {ID: "cccc0003", Tool: "claude"}, {ID: "dddd0004", Tool: "npm", Parent: "cccc0003"}} {
		r.MinFree, r.Force, r.Project = -1, true, "shop"
		claim, err := ledger.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = claim.Release() })
	}
	for word, want := range map[string]string{
		"last": "cccc0003", "codex": "aabb0002", "aabb": "aabb0002", "aaaa0001": "aaaa0001", "npm": "dddd0004",
		"claude": `"claude" may be several runs: `, "aa": `"aa" may be several runs: `, "gemini": `no run that lives is called "gemini"`, "": "may be several",
	} {
		h, err := findLiving(t.Context(), ledger, word)
		if got := h.ID; err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %q, %v; want %q", word, got, err, want)
		}
	}
}
