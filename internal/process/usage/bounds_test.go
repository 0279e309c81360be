package usage_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
)

func TestTheToolUnusedForLongestMakesRoom(t *testing.T) {
	t.Parallel()
	h, w := open(t)
	for i := range usage.MaxTools {
		mustAppend(t, h, web, fmt.Sprintf("tool%d", i), usage.Run{Peak: 1})
	}
	mustAppend(t, h, web, "tool0", usage.Run{Peak: 1}) // now tool1 is the oldest
	mustAppend(t, h, web, "new", usage.Run{Peak: 1})
	for tool, want := range map[string]int{"tool0": 2, "tool1": 0, "tool2": 1, "new": 1} {
		if runs, err := h.Runs(web.Key, tool); err != nil || len(runs) != want {
			t.Errorf("%s has %d runs, want %d, %v", tool, len(runs), want, err)
		}
	}
	if diff := cmp.Diff([]usage.WarningKind{usage.ToolEvicted}, w.kinds()); diff != "" {
		t.Error(diff)
	}
}

func TestAListingIsBoundedAndSaysSo(t *testing.T) {
	t.Parallel()
	h, w := open(t)
	mustAppend(t, h, web, "claude", usage.Run{Peak: 1})
	for i := range usage.MaxProjects + 9 {
		key := fmt.Sprintf("p%d", i)
		body := fmt.Sprintf(`{"schema":1,"project":%q,"appends":1,"tools":[{"tool":"x","recorded":1,"last":1,"runs":[]}]}`, key)
		if err := os.WriteFile(filepath.Join(h.Directory(), key+".json"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, err := range h.Summaries() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != usage.MaxProjects {
		t.Errorf("%d projects are listed, want %d", n, usage.MaxProjects)
	}
	if len(w.list) != 1 || w.list[0].Kind != usage.ListingCut || w.list[0].Count != 10 {
		t.Errorf("told %+v, want ListingCut of 10", w.list)
	}
}

func TestWhatCannotBeRecordedIsRefused(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	for _, key := range []string{"", ".", "..", "../x", "a/b", `a\b`, ".hidden", "a b", "a\x00", "ü", strings.Repeat("a", 121)} {
		if err := h.Append(usage.Project{Key: key}, "claude", usage.Run{Peak: 1}); !errors.Is(err, usage.ErrInvalid) {
			t.Errorf("key %q: %v", key, err)
		}
		if _, err := h.Runs(key, "claude"); !errors.Is(err, usage.ErrInvalid) {
			t.Errorf("reading key %q: %v", key, err)
		}
	}
	for _, tool := range []string{"", "a\nb", "\xff", strings.Repeat("a", 201)} {
		if err := h.Append(web, tool, usage.Run{Peak: 1}); !errors.Is(err, usage.ErrInvalid) {
			t.Errorf("tool %q: %v", tool, err)
		}
	}
	for _, r := range []usage.Run{{Peak: -1}, {PeakAnon: 1 << 60}, {Limit: -1}, {OOMKills: -1}, {KilledChildren: -1}, {Duration: -1}} {
		if err := h.Append(web, "claude", r); !errors.Is(err, usage.ErrInvalid) {
			t.Errorf("run %+v: %v", r, err)
		}
	}
	if entries, err := os.ReadDir(h.Directory()); err == nil && len(entries) != 0 {
		t.Errorf("%d files were made for nothing", len(entries))
	}
}

func TestKeysThatLookLikeOurOwnFilesAreSafe(t *testing.T) {
	t.Parallel()
	h, w := open(t)
	keys := []string{"a", "a.tmp-x", "a.json", "a.json.damaged-x", "a.damaged-20261129T200000.000000000-ABCDEF", "a.lock"}
	for range 21 { // beyond a sweep
		for _, key := range keys {
			mustAppend(t, h, usage.Project{Key: key}, "claude", usage.Run{Peak: 1})
		}
	}
	for _, key := range keys {
		if runs, err := h.Runs(key, "claude"); err != nil || len(runs) != 21 {
			t.Errorf("%s has %d runs, %v", key, len(runs), err)
		}
	}
	if kinds := w.kinds(); kinds != nil {
		t.Errorf("warnings %v", kinds)
	}
}

func TestTheFullestFileIsWithinTheBound(t *testing.T) {
	t.Parallel()
	h, w := open(t)
	long := strings.Repeat("\u2028<", 100)
	r := usage.Run{
		Time: time.Date(9999, 1, 1, 1, 1, 1, 999e6, time.UTC), Peak: 1 << 50, PeakAnon: 1 << 50, Limit: 1 << 50, Method: long, Layer: long,
		Outcome: journal.Outcome(long), OOMKills: 1 << 40, KilledChildren: 1 << 40, Duration: 99 * 365 * 24 * time.Hour, ExitCode: -1 << 31, Exact: true,
		Tokens: 1 << 50, Cost: 123456789.12345678, PlanCost: 123456789.12345678, Answers: 1<<32 - 1, AnswerP99: 1 << 50, ID: strings.Repeat("a", 64),
	}
	mustAppend(t, h, usage.Project{Key: "one", Path: strings.Repeat("\u2028", 5000)}, "t", r)
	status, err := os.Stat(filepath.Join(h.Directory(), "one.json"))
	if err != nil {
		t.Fatal(err)
	}
	const pathAndHead = 5 << 10 * 6
	perRecord := int(status.Size()) - 4096*2 // the path's escapes are at most doubled
	if perRecord*usage.KeptRuns*usage.MaxTools > usage.MaxFileBytes-pathAndHead {
		t.Errorf("a record may take %d bytes: %d of them do not fit into %d", perRecord, usage.KeptRuns*usage.MaxTools, usage.MaxFileBytes)
	}
	if kinds := w.kinds(); kinds != nil {
		t.Errorf("warnings %v", kinds)
	}
}
