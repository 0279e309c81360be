package guard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/guard"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// host is a machine with 8 GiB, 6 GiB of it free.
func host() (headroom.Reading, error) {
	return headroom.Reading{MemTotal: 8 * limit.GiB, MemAvailable: 6 * limit.GiB, SwapTotal: 2 * limit.GiB, SwapFree: 2 * limit.GiB}, nil
}

// project and elsewhere are the directories of two projects.
const project, elsewhere = "/src/web", "/src/other"

// ended is a run that ended well with a peak that was measured exactly.
func ended(peak limit.Bytes) sandbox.Result {
	return sandbox.Result{Peak: sandbox.Peak{Bytes: peak, Working: peak, Exact: true}, Strength: sandbox.Strength{Memory: sandbox.ByKernel}}
}

// open opens a guard whose files lie in dir, and collects its warnings.
func open(t *testing.T, dir string, o guard.Options) (*guard.Guard, *[]string) {
	t.Helper()
	t.Setenv(sandbox.CookieName, "") // these tests may themselves run under plimsoll
	warnings := &[]string{}
	o.StateDir, o.RuntimeDir = filepath.Join(dir, "state"), filepath.Join(dir, "run")
	o.Warn = func(text string) { *warnings = append(*warnings, text) }
	g, err := guard.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	g.SetHeadroom(host)
	return g, warnings
}

func admit(t *testing.T, g *guard.Guard, r guard.Request) *guard.Admission {
	t.Helper()
	a, err := g.Admit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Release() })
	return a
}

func check(t *testing.T, g *guard.Guard, r guard.Request) guard.Decision {
	t.Helper()
	d, err := g.Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The life of a run: what it needs is guessed, then known.
func TestCreateCheckAdmitRecord(t *testing.T) {
	g, warnings := open(t, t.TempDir(), guard.Options{})
	ask := guard.Request{Tool: "indexer", Project: project}

	d := check(t, g, ask)
	want := guard.Estimate{Bytes: estimate.FirstGuess, Source: estimate.SourceDefault}
	if !d.Admitted || d.Refused != nil || d.Estimate != want {
		t.Errorf("before the first run: %+v", d)
	}
	if d.Terms.Physical != 6*limit.GiB || d.Terms.Swap != 0 || d.Terms.Claimed != 0 || d.Terms.Estimate != estimate.FirstGuess {
		t.Errorf("the terms are %+v", d.Terms)
	}

	a := admit(t, g, ask)
	if a.ID() == "" || a.Estimate() != want || a.Terms().Estimate != estimate.FirstGuess {
		t.Errorf("admitted as %q with %+v, %+v", a.ID(), a.Estimate(), a.Terms())
	}
	if d := check(t, g, ask); d.Terms.Claimed != estimate.FirstGuess || len(d.Terms.Holders) != 1 {
		t.Errorf("beside a run that uses nothing yet, %v is claimed by %d", d.Terms.Claimed, len(d.Terms.Holders))
	}
	if err := a.Observe(400 * limit.MiB); err != nil {
		t.Error(err)
	}
	if d := check(t, g, ask); d.Terms.Claimed != estimate.FirstGuess-400*limit.MiB {
		t.Errorf("beside a run that uses 400M, %v is claimed", d.Terms.Claimed)
	}

	err := a.Record(ended(limit.GiB), 4*limit.GiB)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if e := g.Estimate("indexer", project); e.Source != estimate.SourceProject || e.Samples != 1 || e.Bytes <= 1*limit.GiB {
		t.Errorf("after a run of 1G: %+v", e)
	}
	if e := g.Estimate("indexer", elsewhere); e.Source != estimate.SourceTool || e.Samples != 1 {
		t.Errorf("in another project: %+v", e)
	}
	if len(*warnings) > 0 {
		t.Errorf("warned: %q", *warnings)
	}
}

// Check and Admit say the same, with every term, and a refusal holds nothing.
func TestRefusal(t *testing.T) {
	g, _ := open(t, t.TempDir(), guard.Options{CountSwap: true})
	big := guard.Request{Tool: "indexer", Project: project, Reservation: 5 * limit.GiB}
	admit(t, g, big)

	d := check(t, g, big)
	if d.Admitted || d.Refused == nil || d.Refused.Reason != admission.Memory {
		t.Fatalf("checked: %+v", d)
	}
	_, err := g.Admit(t.Context(), big)
	refused, ok := errors.AsType[*admission.Refused](err)
	if !ok {
		t.Fatalf("admitted: %v", err)
	}
	for _, text := range []string{d.Refused.Error(), refused.Error()} {
		for _, part := range []string{"5 GiB", "6 GiB + 2 GiB swap - 5 GiB claimed", "indexer  web"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not said in\n%s", part, text)
			}
		}
	}
	if d := check(t, g, big); len(d.Terms.Holders) != 1 {
		t.Errorf("%d runs hold, want the one that was admitted", len(d.Terms.Holders))
	}
	forced := big
	forced.Force = true
	admit(t, g, forced)
}

// A run that waits gets the slot as soon as the one before it lets go.
func TestWaitsForASlot(t *testing.T) {
	dir := t.TempDir()
	g, _ := open(t, dir, guard.Options{})
	other, _ := open(t, dir, guard.Options{}) // as another process would
	one := guard.Request{Tool: "indexer", Project: project, Slots: 1}
	first := admit(t, g, one)
	if _, err := other.Admit(t.Context(), one); err == nil {
		t.Fatal("two runs hold one slot")
	}
	waits := one
	waits.Wait = admission.Forever
	waits.Progress = func(p admission.Progress) {
		if p.Reason != admission.ToolSlots || p.Position != 1 {
			t.Errorf("waits for %q at place %d", p.Reason, p.Position)
		}
		_ = first.Release()
	}
	admit(t, other, waits)

	ctx, cancel := context.WithCancel(t.Context())
	waits.Progress = func(admission.Progress) { cancel() }
	if _, err := g.Admit(ctx, waits); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up ended with %v", err)
	}
}

// A run inside a run draws on the outer one's reservation.
func TestRunInsideARun(t *testing.T) {
	g, _ := open(t, t.TempDir(), guard.Options{SlotsTotal: 1})
	outer := admit(t, g, guard.Request{Tool: "indexer", Project: project, Reservation: 5 * limit.GiB})
	t.Setenv(sandbox.CookieName, outer.ID())
	inner := admit(t, g, guard.Request{Tool: "indexer", Project: project, Reservation: 4 * limit.GiB})
	if outer.Nested() || !inner.Nested() {
		t.Errorf("outer nested %v, inner nested %v", outer.Nested(), inner.Nested())
	}
}

func TestInitialEstimates(t *testing.T) {
	g, _ := open(t, t.TempDir(), guard.Options{InitialEstimates: map[string]limit.Bytes{"indexer": 3 * limit.GiB, "gemini-cli": 2 * limit.GiB}})
	for tool, want := range map[string]guard.Estimate{
		"indexer":     {Bytes: 3 * limit.GiB, Source: estimate.SourceConfigured},
		"gemini":      {Bytes: 2 * limit.GiB, Source: estimate.SourceConfigured},
		"claude-code": {Bytes: 4 * limit.GiB, Source: estimate.SourceProfile},
		"make":        {Bytes: estimate.FirstGuess, Source: estimate.SourceDefault},
	} {
		if got := g.Estimate(tool, project); got != want {
			t.Errorf("%s: %+v, want %+v", tool, got, want)
		}
	}
}

// Without options the places are plimsoll's own: both see each other.
func TestSharesThePlacesOfPlimsoll(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PLIMSOLL_STATE_DIR", dir)
	t.Setenv(sandbox.CookieName, "")
	g, err := guard.Open(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := admit(t, g, guard.Request{Tool: "indexer", Force: true})
	if err := a.Record(ended(limit.MiB), limit.GiB); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"run/ledger/*/claims/" + a.ID() + ".json", "history/*.json"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) != 1 {
			t.Errorf("%s: %d files, want 1", pattern, len(found))
		}
	}
}

// No history, or a damaged one, is said and stops nothing.
func TestGoesOnWithoutHistory(t *testing.T) {
	dir := t.TempDir()
	g, warnings := open(t, dir, guard.Options{})
	a := admit(t, g, guard.Request{Tool: "indexer", Project: project})
	if err := a.Record(ended(limit.GiB), 4*limit.GiB); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "state", "history", "*.json"))
	if len(files) != 1 {
		t.Fatalf("the history is %q", files)
	}
	if err := os.WriteFile(files[0], []byte(`{"schema":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := g.Estimate("indexer", project); e.Source != estimate.SourceDefault {
		t.Errorf("from a damaged history: %+v", e)
	}
	if len(*warnings) == 0 {
		t.Error("nobody said that the history is damaged")
	}

	t.Setenv("PLIMSOLL_STATE_DIR", "not/absolute")
	said := ""
	off, err := guard.Open(guard.Options{RuntimeDir: filepath.Join(dir, "run"), Warn: func(text string) { said += text }})
	if err != nil {
		t.Fatal(err)
	}
	off.SetHeadroom(host)
	if !strings.Contains(said, "history is off") || !strings.Contains(said, "not/absolute") {
		t.Errorf("warned %q", said)
	}
	if err := admit(t, off, guard.Request{Tool: "indexer", Project: project}).Record(ended(1), limit.GiB); err == nil {
		t.Error("recorded into a history that is off")
	}
}

func TestNoLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := guard.Open(guard.Options{RuntimeDir: file})
	if _, ok := errors.AsType[*admission.UnavailableError](err); !ok {
		t.Errorf("a ledger in a file: %v", err)
	}
	t.Setenv("PLIMSOLL_STATE_DIR", "not/absolute")
	_, err = guard.Open(guard.Options{})
	if _, ok := errors.AsType[*admission.UnavailableError](err); !ok {
		t.Errorf("a ledger nowhere: %v", err)
	}
}

// What was learned when memory ran out keeps no tool out for ever, and neither does a host that has less memory than it had.
func TestADeathDoesNotLockTheDoor(t *testing.T) {
	died, long := ended(4*limit.GiB), ended(7*limit.GiB)
	died.ExitCode, died.Signal, died.OOMKills, died.CommandOOM = 137, 9, 1, true
	died.Peak.Working = 0
	long.Duration = time.Minute
	for name, c := range map[string]struct {
		run      sandbox.Result
		stated   limit.Bytes // in the request
		admitted limit.Bytes // 0: refused
	}{
		"it died":                        {run: died, admitted: 6*limit.GiB - headroom.MinFree(8*limit.GiB)},
		"it ended, and the host shrank":  {run: long, admitted: 6*limit.GiB - headroom.MinFree(8*limit.GiB)},
		"it died, and somebody asks for": {run: died, stated: 9 * limit.GiB},
	} {
		g, warnings := open(t, t.TempDir(), guard.Options{})
		ask := guard.Request{Tool: "indexer", Project: project}
		a := admit(t, g, ask)
		if err := errors.Join(a.Record(c.run, 4*limit.GiB), a.Release()); err != nil {
			t.Fatal(err)
		}
		ask.Reservation = c.stated
		d := check(t, g, ask)
		if d.Admitted != (c.admitted > 0) || d.Admitted && d.Terms.Estimate != c.admitted {
			t.Errorf("%s: admitted %v with %s of %s, want %s", name, d.Admitted, d.Terms.Estimate.Human(), d.Estimate.Bytes.Human(), c.admitted.Human())
		}
		if len(*warnings) > 0 {
			t.Errorf("%s: warned: %q", name, *warnings)
		}
	}
}
