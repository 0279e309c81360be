package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// fixture is a state directory and a project to stand in.
type fixture struct {
	state, project string
	warnings       []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{state: t.TempDir(), project: filepath.Join(t.TempDir(), "web")}
	if err := os.Mkdir(f.project, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(f.project)
	return f
}

func (f *fixture) open(*cobra.Command) (*app.App, error) {
	return app.New(app.Options{
		Environ: []string{"PLIMSOLL_STATE_DIR=" + f.state, "PLIMSOLL_CONFIG=" + filepath.Join(f.state, "config.toml"), "HOME=" + f.state},
		Warn:    func(text string) { f.warnings = append(f.warnings, text) },
	})
}

func (f *fixture) record(t *testing.T, directory, tool string, peaks ...limit.Bytes) {
	t.Helper()
	p := config.ProjectOf(directory)
	h := usage.Open(f.state, usage.Options{})
	for _, peak := range peaks {
		err := h.Append(usage.Project{Key: p.Key, Path: p.Root}, tool, usage.Run{
			Time: time.Now(), Peak: peak, PeakAnon: peak, Exact: true, Method: usage.MethodMemoryPeak,
			Outcome: journal.OutcomeOK, Duration: time.Minute, Limit: 16 * limit.GiB,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func output(t *testing.T, cmd *cobra.Command, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the test binary
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out.String()
}

func stats(t *testing.T, f *fixture, args ...string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	text := output(t, newStatsCommand(f.open), append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &rows); err != nil || rows == nil {
		t.Fatalf("%v: no JSON array: %v: %s", args, err, text)
	}
	return rows
}

func TestStatsWithoutHistorySaysWhatToDo(t *testing.T) {
	f := newFixture(t)
	if got := output(t, newStatsCommand(f.open)); !strings.Contains(got, "plimsoll run -- ") {
		t.Errorf("got %q", got)
	}
	if rows := stats(t, f); len(rows) != 0 {
		t.Errorf("got %v", rows)
	}
	if entries, err := os.ReadDir(f.state); err != nil || len(entries) != 0 {
		t.Errorf("looking left %v behind, %v", entries, err)
	}
}

func TestStatsJSONContract(t *testing.T) {
	f := newFixture(t)
	f.record(t, "", "claude", 100*limit.MiB, 200*limit.MiB)
	rows := stats(t, f)
	if len(rows) != 1 {
		t.Fatalf("got %v", rows)
	}
	for key, want := range map[string]any{
		"tool": "claude", "project": "web", "recorded": 2.0, "samples": 2.0, "oom_kills": 0.0,
		"p95_bytes": float64(200 * limit.MiB), "max_bytes": float64(200 * limit.MiB),
	} {
		if rows[0][key] != want {
			t.Errorf("%s is %v, want %v", key, rows[0][key], want)
		}
	}
	if n, ok := rows[0]["estimate_bytes"].(float64); !ok || n <= float64(200*limit.MiB) {
		t.Errorf("estimate_bytes is %v", rows[0]["estimate_bytes"])
	}
	if got := output(t, newStatsCommand(f.open)); !strings.Contains(got, "200 MiB") || !strings.Contains(got, "OOM KILLS") {
		t.Errorf("got %q", got)
	}
}

func TestStatsScope(t *testing.T) {
	f := newFixture(t)
	other := t.TempDir()
	f.record(t, other, "claude", limit.MiB)
	f.record(t, other, "codex", limit.MiB)
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"none here: every project": {nil, 2},
		"all":                      {[]string{"--all"}, 2},
		"one tool":                 {[]string{"codex", "--all"}, 1},
		"an alias":                 {[]string{"claude-code", "--all"}, 1},
		"a directory":              {[]string{"--project", other}, 2},
		"a key":                    {[]string{"--project", config.ProjectOf(other).Key}, 2},
		"a project without any":    {[]string{"--project", f.project}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if rows := stats(t, f, c.args...); len(rows) != c.want {
				t.Errorf("got %d rows, want %d", len(rows), c.want)
			}
		})
	}
	f.record(t, "", "claude", limit.MiB)
	if rows := stats(t, f); len(rows) != 1 || rows[0]["project"] != "web" {
		t.Errorf("with history here: %v", rows)
	}
}

func TestPredictFormats(t *testing.T) {
	f := newFixture(t)
	if got := output(t, newPredictCommand(f.open), "something"); !strings.Contains(got, "500 MiB") || !strings.Contains(got, "first guess") {
		t.Errorf("without history: %q", got)
	}
	f.record(t, "", "claude", 1000*limit.MiB)
	var p map[string]any
	if err := json.Unmarshal([]byte(output(t, newPredictCommand(f.open), "claude", "--format", "json")), &p); err != nil {
		t.Fatal(err)
	}
	if p["tool"] != "claude" || p["project"] != "web" || p["source"] != "history:project" || p["samples"] != 1.0 || p["limit_bytes"].(float64) <= 0 {
		t.Errorf("got %v", p)
	}
	if got := output(t, newPredictCommand(f.open), "claude", "--format", "k8s"); !strings.HasPrefix(got, "resources:\n  requests:\n    memory: 3420Mi\n  limits:\n    memory: ") {
		t.Errorf("got %q", got)
	}
	if got := output(t, newPredictCommand(f.open), "claude", "--format", "nomad"); !strings.HasPrefix(got, "resources {\n  memory     = 3420\n  memory_max = ") {
		t.Errorf("got %q", got)
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	if got := output(t, newPredictCommand(f.open), "claude"); !strings.Contains(got, "in other projects") {
		t.Errorf("in another project: %q", got)
	}
}
