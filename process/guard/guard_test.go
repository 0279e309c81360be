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
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/guard"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// host is a machine with 8 GiB, 6 GiB of it free.
func host() (headroom.Reading, error) {
	return headroom.Reading{MemTotal: 8 * limit.GiB, MemAvailable: 6 * limit.GiB, SwapTotal: 2 * limit.GiB, SwapFree: 2 * limit.GiB}, nil
}

var project = usage.Project{Key: "web-1f3a", Path: "/src/web"}

// open opens a guard whose files lie in dir, and collects its warnings.
func open(t *testing.T, dir string, o guard.Options) (*guard.Guard, *[]string) {
	t.Helper()
	t.Setenv(sandbox.CookieName, "") // these tests may themselves run under plimsoll
	warnings := &[]string{}
	o.StateDir, o.RuntimeDir, o.Headroom = filepath.Join(dir, "state"), filepath.Join(dir, "run"), host
	o.Warn = func(text string) { *warnings = append(*warnings, text) }
	g, err := guard.Open(o)
	if err != nil {
		t.Fatal(err)
	}
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
	want := estimate.Estimate{Bytes: estimate.FirstGuess, Source: estimate.SourceDefault}
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

	err := a.Record(usage.Run{Peak: 1 * limit.GiB, PeakAnon: 1 * limit.GiB, Exact: true, Outcome: journal.OutcomeOK})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if e := g.Estimate("indexer", project); e.Source != estimate.SourceProject || e.Samples != 1 || e.Bytes <= 1*limit.GiB {
		t.Errorf("after a run of 1G: %+v", e)
	}
	elsewhere := usage.Project{Key: "other-9c21", Path: "/src/other"}
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
		for _, part := range []string{"5120M", "6144M + 2048M swap - 5120M claimed", "indexer  web"} {
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
	for tool, want := range map[string]estimate.Estimate{
		"indexer":     {Bytes: 3 * limit.GiB, Source: estimate.SourceConfigured, Stated: true},
		"gemini":      {Bytes: 2 * limit.GiB, Source: estimate.SourceConfigured, Stated: true},
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
	if err := a.Record(usage.Run{Peak: limit.MiB, Outcome: journal.OutcomeOK}); err != nil {
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
	if err := a.Record(usage.Run{Peak: limit.GiB, Exact: true, Outcome: journal.OutcomeOK}); err != nil {
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
	off, err := guard.Open(guard.Options{RuntimeDir: filepath.Join(dir, "run"), Headroom: host, Warn: func(text string) { said += text }})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "history is off") || !strings.Contains(said, "not/absolute") {
		t.Errorf("warned %q", said)
	}
	if err := admit(t, off, guard.Request{Tool: "indexer", Project: project}).Record(usage.Run{Peak: 1}); err == nil {
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

// What claims say about their runs may be damaged; nothing is removed by guess.
func TestRemains(t *testing.T) {
	if err := guard.Reap(admission.Holder{}); err != nil {
		t.Errorf("a claim that has made nothing: %v", err)
	}
	bad := admission.Holder{ID: "k3f9", Remains: []byte(`{"layer":`)}
	if err := guard.Reap(bad); err == nil || !strings.Contains(err.Error(), "k3f9") {
		t.Errorf("damaged remains: %v", err)
	}
	if guard.Current(bad) != 0 {
		t.Error("a damaged claim uses memory")
	}
	r, ok := guard.Remains(admission.Holder{Remains: []byte(`{"layer":"monitor","id":"k3f9","pid":7}`)})
	if !ok || r.Layer != sandbox.Monitor || r.ID != "k3f9" || r.PID != 7 {
		t.Errorf("remains are %+v, %v", r, ok)
	}
}

// RunOf keeps what an estimate needs: the outcome, the peak and the limit that was held.
func TestRunOf(t *testing.T) {
	held := sandbox.Strength{Memory: sandbox.ByKernel}
	peak := sandbox.Peak{Bytes: limit.GiB, Working: limit.MiB, Method: usage.MethodMemoryPeak, Exact: true}
	for name, c := range map[string]struct {
		result sandbox.Result
		want   usage.Run
	}{
		"ok":           {sandbox.Result{Strength: held}, usage.Run{Outcome: journal.OutcomeOK, Limit: 2 * limit.GiB}},
		"failed":       {sandbox.Result{Strength: held, ExitCode: 3}, usage.Run{Outcome: journal.OutcomeFailed, ExitCode: 3, Limit: 2 * limit.GiB}},
		"a signal":     {sandbox.Result{Strength: held, ExitCode: 143, Signal: 15}, usage.Run{Outcome: journal.OutcomeSignalled, ExitCode: 143, Limit: 2 * limit.GiB}},
		"oom":          {sandbox.Result{Strength: held, ExitCode: 137, Signal: 9, OOMKills: 2, CommandOOM: true}, usage.Run{Outcome: journal.OutcomeOOM, ExitCode: 137, OOMKills: 2, KilledChildren: 1, Limit: 2 * limit.GiB}},
		"a child":      {sandbox.Result{Strength: held, OOMKills: 1}, usage.Run{Outcome: journal.OutcomeOK, OOMKills: 1, KilledChildren: 1, Limit: 2 * limit.GiB}},
		"over a limit": {sandbox.Result{Strength: held, ExitCode: 1, LimitKills: 1}, usage.Run{Outcome: journal.OutcomeLimit, ExitCode: 1, Limit: 2 * limit.GiB}},
		"no limit":     {sandbox.Result{Strength: sandbox.Strength{Memory: sandbox.ByNobody}}, usage.Run{Outcome: journal.OutcomeOK}},
	} {
		c.result.Peak, c.result.Layer = peak, sandbox.Cgroup2
		got := guard.RunOf(c.result, 2*limit.GiB)
		c.want.Peak, c.want.PeakAnon, c.want.Method, c.want.Exact, c.want.Layer = peak.Bytes, peak.Working, peak.Method, true, "cgroup2"
		got.Time = c.want.Time
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// What was learned when memory ran out keeps no tool out for ever, and neither does a host that has less memory than it had.
func TestADeathDoesNotLockTheDoor(t *testing.T) {
	died := usage.Run{Outcome: journal.OutcomeOOM, ExitCode: 137, OOMKills: 1, Exact: true, Peak: 4 * limit.GiB, Limit: 4 * limit.GiB}
	ended := usage.Run{Outcome: journal.OutcomeOK, Exact: true, Peak: 7 * limit.GiB, PeakAnon: 7 * limit.GiB, Duration: time.Minute}
	for name, c := range map[string]struct {
		run      usage.Run
		stated   limit.Bytes // in the request
		admitted limit.Bytes // 0: refused
	}{
		"it died":                        {run: died, admitted: 6*limit.GiB - headroom.MinFree(8*limit.GiB)},
		"it ended, and the host shrank":  {run: ended, admitted: 6*limit.GiB - headroom.MinFree(8*limit.GiB)},
		"it died, and somebody asks for": {run: died, stated: 9 * limit.GiB},
	} {
		g, warnings := open(t, t.TempDir(), guard.Options{})
		ask := guard.Request{Tool: "indexer", Project: project}
		a := admit(t, g, ask)
		if err := errors.Join(a.Record(c.run), a.Release()); err != nil {
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
