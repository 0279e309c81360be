package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
)

// TestTheFolderOfAClientSaysWhichProject: Claude Code starts its status line somewhere, and says where it works.
func TestTheFolderOfAClientSaysWhichProject(t *testing.T) {
	state, shop := t.TempDir(), filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(filepath.Join(shop, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"PLIMSOLL_STATE_DIR": state}[name] }
	t.Setenv("PLIMSOLL_RUN_ID", "")
	w := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: "ended1", Kind: runs.KindRun, Report: journal.Report{Tool: "codex", Project: "shop"}})
	if err := w.End(journal.Report{Tool: "codex", Project: "shop", Outcome: journal.OutcomeOOM, PeakBytes: 5 << 20}); err != nil {
		t.Fatal(err)
	}
	var c Client
	c.Workspace.ProjectDir = shop
	c.Context.Size, c.Context.Percent = 200_000, 50
	look := func(c Client) Glance {
		t.Helper()
		g, err := Look(GlanceOptions{Client: c, Getenv: getenv})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if g := look(c); g.ID != "ended1" || g.State != "oom" || g.PeakBytes != 5<<20 || g.WindowTokens != 0 {
		t.Errorf("%+v", g) // the window of a client is not that of a run it is not in
	}
	for name, found := range map[string]bool{"ended1": true, "end": true, "codex": true, "last": true, "claude": false} {
		g, err := Look(GlanceOptions{Run: name, Getenv: getenv})
		if (err == nil && g.ID == "ended1") != found || !found && !strings.Contains(err.Error(), "there is no run") {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
	if g := look(Client{}); g.State != NoRun {
		t.Errorf("of this project: %+v", g)
	}
	c.Workspace.ProjectDir = t.TempDir()
	if g := look(c); g.State != NoRun || g.WindowTokens != 100_000 || g.WindowSource != WindowOfClient {
		t.Errorf("of a project without runs: %+v", g)
	}

	// One that holds its memory goes before one that has ended, and what it has published before what it has written down.
	ledger, err := admission.Open(admission.Options{Dir: filepath.Join(state, "run")})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := ledger.Acquire(t.Context(), admission.Request{ID: "live1", Tool: "claude", Project: "shop", MinFree: -1, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = claim.Release() }()
	// Who is inside of a run whose file is not there yet reads its claim.
	t.Setenv("PLIMSOLL_RUN_ID", "live1")
	if g := look(c); !g.Inside || g.State != runs.Running || g.Tool != "claude" || g.Project != "shop" || g.Started.IsZero() {
		t.Errorf("from inside, before it has a file: %+v", g)
	}
	t.Setenv("PLIMSOLL_RUN_ID", "")
	live := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: "live1", Kind: runs.KindRun, Report: journal.Report{Tool: "claude", Project: "shop", LimitBytes: 1 << 30}})
	defer func() { _ = live.End(journal.Report{}) }()
	live.Sample(runs.Sample{Working: 3 << 20})
	if err := claim.Observe(7 << 20); err != nil {
		t.Fatal(err)
	}
	c.Workspace.ProjectDir = shop
	g := look(c)
	wait.Until(t, "the run that lives is seen", func() bool { // its file is written by a goroutine
		g = look(c)
		return g.ID == "live1" && g.State == runs.Running
	}, func() string { return fmt.Sprintf("%+v", g) })
	if g.MemoryBytes != 7<<20 || g.LimitBytes != 1<<30 || g.Inside {
		t.Errorf("of the run that lives: %+v", g)
	}
	j := journal.New(journal.Options{Observers: []journal.Observer{live}})
	for want, events := range map[string][]journal.Event{
		runs.YourTurn: {journal.WindowRequest{Request: 1}, journal.WindowResponse{Request: 1, Status: 200, Ended: "complete", EndsTurn: true}},
		runs.Idle:     {journal.RunIdle{For: time.Hour}},
		runs.Running:  {journal.WindowRequest{Request: 2}},
	} {
		for _, e := range events {
			j.Append(e)
		}
		wait.Until(t, want, func() bool {
			g = look(c)
			return g.State == want && g.StateSince.IsZero() == (want == runs.Running)
		}, func() string { return fmt.Sprintf("%+v", g) })
		if want == runs.Running {
			j.Append(journal.WindowResponse{Request: 2, Status: 200, Ended: "complete"})
		}
	}
}
