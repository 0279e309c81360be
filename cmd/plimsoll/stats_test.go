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

	"github.com/plimsoll/plimsoll/internal/app/core"
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

func (f *fixture) open(*cobra.Command) (*core.Core, error) {
	return core.New(core.Options{
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

func TestStatsSayWhatTheNextRunWillBeGiven(t *testing.T) {
	f := newFixture(t)
	if got := output(t, newStatsCommand(f.open), "something"); !strings.Contains(got, "no history of something") || !strings.Contains(got, "500 MiB") || !strings.Contains(got, "first guess") {
		t.Errorf("without history: %q", got)
	}
	if rows := stats(t, f, "something"); len(rows) != 1 || rows[0]["recorded"] != 0.0 || rows[0]["estimate_bytes"] != float64(500*limit.MiB) || rows[0]["source"] != "default" {
		t.Errorf("without history: %v", rows)
	}
	f.record(t, "", "claude", 1000*limit.MiB)
	for _, args := range [][]string{{"claude"}, nil} {
		rows := stats(t, f, args...)
		if len(rows) != 1 {
			t.Fatalf("%v: got %v", args, rows)
		}
		p := rows[0]
		if p["tool"] != "claude" || p["project"] != "web" || p["source"] != "history:project" || p["samples"] != 1.0 || p["limit_bytes"].(float64) <= p["estimate_bytes"].(float64) {
			t.Errorf("%v: got %v", args, p)
		}
	}
	if got := output(t, newStatsCommand(f.open), "claude"); !strings.Contains(got, "OOM KILLS") || !strings.Contains(got, "claude will need about 3.34 GiB here (from 1 run in this project)") {
		t.Errorf("got %q", got)
	}
	for format, want := range map[string]string{
		"k8s":   "resources:\n  requests:\n    memory: 3420Mi\n  limits:\n    memory: ",
		"nomad": "resources {\n  memory     = 3420\n  memory_max = ",
		"slurm": "#SBATCH --mem=",
	} {
		if got := output(t, newStatsCommand(f.open), "claude", "--format", format); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q", format, got)
		}
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	if got := output(t, newStatsCommand(f.open), "claude"); !strings.Contains(got, "in other projects") {
		t.Errorf("in another project: %q", got)
	}
	if rows := stats(t, f, "claude"); len(rows) != 2 || rows[1]["recorded"] != 0.0 || rows[1]["source"] != "history:tool" || rows[1]["path"] != elsewhere {
		t.Errorf("in another project: %v", rows)
	}
}

// What is said of a generic tool goes by what it is told to do.
func TestStatsOfOneUseOfATool(t *testing.T) {
	f := newFixture(t)
	p := config.ProjectOf("")
	h := usage.Open(f.state, usage.Options{})
	for variant, peak := range map[string]limit.Bytes{"test": 900 * limit.MiB, "lint": 90 * limit.MiB} {
		err := h.Append(usage.Project{Key: p.Key, Path: p.Root}, "make", usage.Run{
			Variant: variant, Time: time.Now(), Peak: peak, PeakAnon: peak, Exact: true, Method: usage.MethodMemoryPeak, Outcome: journal.OutcomeOK, Limit: 16 * limit.GiB,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if rows := stats(t, f, "make", "test"); len(rows) != 1 || rows[0]["variant"] != "test" || rows[0]["max_bytes"] != float64(900*limit.MiB) {
		t.Errorf("got %v", rows)
	}
}

func TestStatsRefusesWhatItCannotSay(t *testing.T) {
	f := newFixture(t)
	for line, want := range map[string]string{
		"--format k8s":              "name it as in: plimsoll stats claude --format k8s",
		"claude --format yaml":      "there are text, json, k8s, nomad, slurm",
		"claude --format k8s --all": "leave --all",
		"--mcp one two":             "one server, not 2",
	} {
		cmd := newStatsCommand(f.open)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs(strings.Fields(line))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
