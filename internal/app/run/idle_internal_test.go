package run

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/idle"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// reading is a machine of 16 GiB of which little is free.
func reading(swap limit.Bytes) headroom.Reading {
	return headroom.Reading{MemTotal: 16 * limit.GiB, MemAvailable: 2 * limit.GiB, SwapTotal: swap, SwapFree: swap}
}

// neighbour is a run in the ledger and the store of a user, at work or idle, that holds some memory.
func neighbour(t *testing.T, ledger *admission.Ledger, state string, parent string, held limit.Bytes, events ...journal.Event) string {
	t.Helper()
	read := func() (headroom.Reading, error) {
		return headroom.Reading{MemTotal: 64 * limit.GiB, MemAvailable: 60 * limit.GiB}, nil
	}
	claim, err := ledger.Acquire(t.Context(), admission.Request{ID: admission.NewID(), Tool: "claude", Project: "shop", Parent: parent, Reservation: limit.MiB, Headroom: read})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = claim.Release() })
	if err := claim.Observe(held); err != nil {
		t.Fatal(err)
	}
	w := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: claim.ID(), Kind: runs.KindRun, Parent: parent, Report: journal.Report{Tool: "claude", Project: "shop"}})
	j := journal.New(journal.Options{Observers: []journal.Observer{w}})
	for _, e := range append([]journal.Event{journal.RunStarted{PID: 1}}, events...) {
		j.Append(e)
	}
	t.Cleanup(func() { _ = w.End(journal.Report{Outcome: journal.OutcomeOK}) })
	wait.Until(t, "it is written", func() bool {
		g, err := runs.ReadGlance(state, claim.ID())
		return err == nil && (len(events) == 0 || g.State == runs.Idle)
	})
	return claim.ID()
}

// begun is a run that is about to start, in the state and ledger of a new user.
func begun(t *testing.T) (x *process, ledger *admission.Ledger, state string, words *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	c, err := core.New(core.Options{Environ: []string{"HOME=" + dir, "PLIMSOLL_STATE_DIR=" + dir + "/state"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if state, err = c.Dirs.EnsureState(); err != nil {
		t.Fatal(err)
	}
	if ledger, err = c.OpenLedger(nil); err != nil {
		t.Fatal(err)
	}
	words = &strings.Builder{}
	x = &process{
		app: &app{c}, ledger: ledger, decision: &decision{Reading: reading(0), Numbers: sizing.Numbers{}},
		report: &report{id: admission.NewID(), journal: journal.New(journal.Options{}), say: newSpeaker(&Options{Stderr: words}, nil), hidden: secrets.Environ(nil)},
	}
	return x, ledger, state, words
}

func forgotten(x *process) (list []journal.Forgotten) {
	for rec := range x.report.journal.Since(0) {
		if e, ok := rec.Event.(journal.Forgotten); ok {
			list = append(list, e)
		}
	}
	return list
}

// Idle runs that hold more than a quarter of the machine are named when the next run starts: once, and again when another has come.
func TestForgottenRunsAreSaidOnce(t *testing.T) {
	x, ledger, state, words := begun(t)
	quiet := journal.RunIdle{For: 5 * time.Hour}
	first := neighbour(t, ledger, state, "", 3*limit.GiB, quiet)
	neighbour(t, ledger, state, "", 9*limit.GiB) // at work
	neighbour(t, ledger, state, first, 3*limit.GiB, quiet)
	x.warnOfIdleRuns()
	if got := forgotten(x); len(got) != 0 || words.Len() > 0 {
		t.Fatalf("3 of 16 GiB are much: %+v, %q", got, words)
	}
	second := neighbour(t, ledger, state, "", 2*limit.GiB, quiet)
	x.warnOfIdleRuns()
	got := forgotten(x)
	if len(got) != 1 || strings.Join(got[0].Runs, " ") != first+" "+second || got[0].Bytes != int64(5*limit.GiB) || got[0].TotalBytes != int64(16*limit.GiB) {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"2 idle runs hold 5 GiB, 31 % of this machine's memory: claude in shop (3 GiB, idle for 5h 00m: kill ", "--idle-max ends such"} {
		if !strings.Contains(words.String(), want) {
			t.Errorf("%q is not in %q", want, words)
		}
	}
	x.warnOfIdleRuns()
	if got := forgotten(x); len(got) != 1 {
		t.Errorf("it is said again: %+v", got)
	}
	neighbour(t, ledger, state, "", 2*limit.GiB, quiet)
	x.decision.Reading.MemAvailable = 13 * limit.GiB
	x.warnOfIdleRuns()
	if got := forgotten(x); len(got) != 1 {
		t.Errorf("the machine has room: %+v", got)
	}
	x.decision.Reading.MemAvailable = limit.GiB
	x.warnOfIdleRuns()
	if got := forgotten(x); len(got) != 2 || len(got[1].Runs) != 3 {
		t.Errorf("of one more nothing is said: %+v", got)
	}
}

// A run around another is used as long as that one is at work.
func TestTheRunInsideThatWorks(t *testing.T) {
	x, ledger, state, _ := begun(t)
	if x.innerWorks() {
		t.Error("there is none")
	}
	neighbour(t, ledger, state, "", limit.MiB) // beside it
	x.report.id = neighbour(t, ledger, state, "", limit.MiB, journal.RunIdle{})
	neighbour(t, ledger, state, x.report.id, limit.MiB, journal.RunIdle{})
	if x.innerWorks() {
		t.Error("the one inside is idle as well")
	}
	neighbour(t, ledger, state, x.report.id, limit.MiB)
	if !x.innerWorks() {
		t.Error("it works")
	}
}

// A run that should give its memory back does not start where nothing would be freed, and says why.
func TestReclaimIsRefusedWhereNothingWouldBeFreed(t *testing.T) {
	t.Parallel()
	wish := config.Settings{IdleMax: time.Hour, OnIdle: config.OnIdleReclaim, SwapMax: limit.GiB}
	for _, c := range []struct {
		name   string
		change func(*decision)
		says   string
	}{
		{"with swap", func(*decision) {}, ""},
		{"no swap for the run", func(d *decision) { d.Settings.SwapMax = 0 }, "swap_max allows this run none: nothing would be freed; allow it some: --swap-max 4G"},
		{"no swap in the machine", func(d *decision) { d.Reading = reading(0) }, "this machine has none"},
		{"no limit", func(d *decision) { d.Settings.IdleMax, d.Settings.SwapMax = 0, 0 }, ""},
		{"it ends", func(d *decision) { d.Settings.OnIdle, d.Settings.SwapMax = config.OnIdleEnd, 0 }, ""},
		{"nothing is enforced", func(d *decision) { d.Settings.Enforcement, d.Settings.SwapMax = config.EnforcementOff, 0 }, ""},
	} {
		d := &decision{Settings: wish, Reading: reading(limit.GiB), Limits: sandbox.Limits{Memory: 4 * limit.GiB}}
		c.change(d)
		err := d.checkReclaim()
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What the watch tells stands in the journal; before the memory is given back nobody is warned.
func TestWhatTheWatchTells(t *testing.T) {
	x, _, _, words := begun(t)
	x.decision.Settings = config.Settings{IdleMax: 4 * time.Hour, OnIdle: config.OnIdleEnd}
	seen := uint64(0)
	told := func(e idle.Event) (kinds []string) {
		last := seen
		x.noteUseOf(nil, e)
		for r := range x.report.journal.Since(last) {
			kinds, seen = append(kinds, r.Event.Kind()), r.Seq
		}
		return kinds
	}
	for _, c := range []struct {
		event idle.Event
		want  string
	}{
		{idle.Event{Kind: idle.Quiet, For: time.Hour}, "process.run_idle"},
		{idle.Event{Kind: idle.Used, By: idle.Input}, "process.run_woke"},
		{idle.Event{Kind: idle.Near, For: 216 * time.Minute}, "process.limit_reached process.warned"},
	} {
		if got := strings.Join(told(c.event), " "); got != c.want {
			t.Errorf("%s: %q", c.event.Kind, got)
		}
	}
	if !strings.Contains(words.String(), "nobody has used it for 3h 36m; after 4h 00m it is ended (--idle-max, idle_max)") {
		t.Errorf("%q", words)
	}
	x.decision.Settings.OnIdle = config.OnIdleReclaim
	if got := told(idle.Event{Kind: idle.Near, For: 216 * time.Minute}); len(got) != 0 {
		t.Errorf("before the memory is given back: %q", got)
	}
}
