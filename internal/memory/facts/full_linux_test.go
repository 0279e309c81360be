package facts_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/facts"
	"github.com/plimsoll/plimsoll/internal/testing/smalldisk"
)

// On a full disk the queue, the budget and the list of what was read stay as they were, and say where there is no room; nothing is reserved that is not
// written down. When there is room again they go on.
func TestAFullDisk(t *testing.T) {
	dir := smalldisk.New(t, "size=256k")
	queue, budget, seen := facts.NewQueue(dir, 0), facts.NewBudget(dir, 10_000), facts.NewReadSet(dir, 0)
	now := time.Now()
	if _, err := queue.Push(t.Context(), "one", "two"); err != nil {
		t.Fatal(err)
	}
	if err := budget.Reserve(t.Context(), now, 1000); err != nil {
		t.Fatal(err)
	}
	if err := seen.Add(t.Context(), "zero"); err != nil {
		t.Fatal(err)
	}
	empty := smalldisk.Fill(t, dir)
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("an-id-of-some-length-%05d", i))
	}
	_, pushing := queue.Push(t.Context(), many...)
	for what, err := range map[string]error{
		"queue": pushing, "budget": budget.Reserve(t.Context(), now, 1000), "list": seen.Add(t.Context(), many...),
	} {
		if err == nil || !strings.Contains(err.Error(), "make room on the disk of "+dir) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same := func() {
		t.Helper()
		if n, err := queue.Len(); n != 2 || err != nil {
			t.Errorf("%d wait, %v", n, err)
		}
		if n, err := budget.Spent(now); n != 1000 || err != nil {
			t.Errorf("%d are spent, %v", n, err)
		}
		has, n, err := seen.Load()
		if err != nil || n != 1 || !has("zero") {
			t.Errorf("%d were read, %v", n, err)
		}
	}
	same()
	empty()
	same()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		if strings.Contains(e.Name(), ".tmp-") {
			t.Errorf("%s is left", e.Name())
		}
	}
	if _, err := queue.Push(t.Context(), many...); err != nil {
		t.Error(err)
	}
	if err := seen.Add(t.Context(), many...); err != nil {
		t.Error(err)
	}
	if _, n, err := seen.Load(); n != 501 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
