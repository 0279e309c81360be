package usage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

func done(variant string, peak limit.Bytes, d time.Duration) usage.Run {
	return usage.Run{Time: time.Now(), Variant: variant, Peak: peak, Exact: true, Outcome: journal.OutcomeOK, Duration: d}
}

func appendAll(t *testing.T, h *usage.History, tool string, runs ...usage.Run) {
	t.Helper()
	for _, r := range runs {
		if err := h.Append(web, tool, r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVariantsAreKeptApartUnderOneTool(t *testing.T) {
	h := usage.Open(t.TempDir(), usage.Options{})
	appendAll(t, h, "make", done("test", 700*limit.MiB, time.Minute), done("", limit.MiB, time.Minute), done("test", 710*limit.MiB, time.Minute))
	got, err := h.Variants(web.Key, "make")
	if err != nil || len(got) != 2 || len(got["test"]) != 2 || len(got[""]) != 1 || got["test"][1].Variant != "test" {
		t.Fatalf("%+v, %v", got, err)
	}
	all, err := h.ToolRuns("make")
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	list, err := h.Project(web.Key)
	if err != nil || len(list) != 2 || list[0].Tool != "make" || list[0].Variant != "" || list[1].Tool != "make" || list[1].Variant != "test" {
		t.Fatalf("%+v, %v", list, err)
	}
}

func TestVariantsAreBounded(t *testing.T) {
	h := usage.Open(t.TempDir(), usage.Options{Warn: func(w usage.Warning) { t.Errorf("told: %+v", w) }})
	appendAll(t, h, "claude", done("", limit.GiB, time.Hour))
	for i := range 3 * usage.MaxTools {
		appendAll(t, h, "sh", done(fmt.Sprintf("code-%08x", i), limit.MiB, time.Minute))
	}
	got, err := h.Variants(web.Key, "sh")
	if err != nil || len(got) != usage.MaxVariants || got[fmt.Sprintf("code-%08x", 3*usage.MaxTools-1)] == nil {
		t.Fatalf("%d variants, %v", len(got), err)
	}
	if runs, err := h.Runs(web.Key, "claude"); err != nil || len(runs) != 1 {
		t.Fatalf("scripts pushed a tool out: %v, %v", runs, err)
	}
	for i := range 2 * usage.MaxTools { // tools with one variant each
		appendAll(t, h, fmt.Sprintf("tool%d", i), done("test", limit.MiB, time.Minute))
	}
	if runs, err := h.Runs(web.Key, "claude"); err != nil || len(runs) != 1 {
		t.Fatalf("variants go before tools: %v, %v", runs, err)
	}
}

func TestBriefRunsDoNotPushOutWork(t *testing.T) {
	h := usage.Open(t.TempDir(), usage.Options{Keep: 20})
	appendAll(t, h, "make", done("", 726*limit.MiB, time.Minute))
	for range 100 {
		appendAll(t, h, "make", done("", limit.MiB, 50*time.Millisecond))
	}
	runs, err := h.Runs(web.Key, "make")
	if err != nil || len(runs) != 20 || runs[0].Peak != 726*limit.MiB {
		t.Fatalf("%d runs, the first %+v, %v", len(runs), runs[0], err)
	}
	for range 30 {
		appendAll(t, h, "make", done("", 100*limit.MiB, time.Minute))
	}
	if runs, _ := h.Runs(web.Key, "make"); len(runs) != 20 || runs[0].Peak != 100*limit.MiB {
		t.Fatalf("%d runs, the first %+v", len(runs), runs[0])
	}
}

func TestAVariantThatCannotBeStoredIsRefused(t *testing.T) {
	h := usage.Open(t.TempDir(), usage.Options{})
	for _, v := range []string{"a › b", "a\nb", strings.Repeat("x", 101)} {
		if err := h.Append(web, "make", done(v, limit.MiB, time.Minute)); err == nil {
			t.Errorf("%q was stored", v)
		}
	}
}

func TestForgetRemovesOneToolWithItsVariants(t *testing.T) {
	h := usage.Open(t.TempDir(), usage.Options{})
	appendAll(t, h, "make", done("", limit.MiB, time.Minute), done("test", limit.GiB, time.Minute))
	appendAll(t, h, "maker", done("", limit.MiB, time.Minute))
	if n, err := h.Forget(web.Key, "make"); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	list, err := h.Project(web.Key)
	if err != nil || len(list) != 1 || list[0].Tool != "maker" {
		t.Fatalf("%+v, %v", list, err)
	}
	if n, err := h.Forget(web.Key, "make"); err != nil || n != 0 {
		t.Fatalf("again: %d, %v", n, err)
	}
	if n, err := h.Forget("nobody-1", "make"); err != nil || n != 0 {
		t.Fatalf("a project without history: %d, %v", n, err)
	}
	if _, err := h.Forget("../x", "make"); err == nil {
		t.Fatal("a key that is a path is taken")
	}
}
