package metrics_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// write is a run with these events. Its end is the caller's.
func write(dir, id, kind, parent, tool string, limit int64, events ...journal.Event) (end func(journal.Outcome), w *runs.Writer) {
	report := journal.Report{Tool: tool, LimitBytes: limit, ReservationBytes: limit / 2}
	w = runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: id, Kind: kind, Parent: parent, Report: report})
	reporter := journal.NewReporter(report)
	j := journal.New(journal.Options{Observers: []journal.Observer{reporter, w}})
	for _, e := range events {
		j.Append(e)
	}
	return func(o journal.Outcome) {
		report := reporter.Report()
		report.Outcome = o
		_ = w.End(report)
	}, w
}

func textOf(t *testing.T, r *metrics.Runs) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func host() (metrics.Host, bool) {
	return metrics.Host{TotalBytes: 16 << 30, AvailableBytes: 4 << 30, Stall: 12.5, DiskBytes: 100 << 30, DiskFreeBytes: 7 << 30}, true
}

func hold(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w+"\n") {
			t.Errorf("missing %s", w)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// used is a store with two runs that live, one that waits, and what has ended.
func used(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	end, _ := write(dir, "killed", runs.KindRun, "", "claude", 1<<30, journal.Waiting{}, journal.Admitted{}, journal.RunStarted{LimitBytes: 1 << 30},
		journal.ChildKilled{PID: 7, Name: "node"}, journal.WindowCompacted{Before: 150_000, After: 60_000, CutBytes: 400_000})
	end(journal.OutcomeOOM)
	endBig, big := write(dir, "big", runs.KindRun, "", "claude", 4<<30, journal.RunStarted{LimitBytes: 4 << 30},
		journal.WindowRequest{Tokens: 150_000, LimitTokens: 200_000, Messages: 80}, journal.WindowRequest{Tokens: 300, LimitTokens: 200_000, Messages: 1})
	big.Sample(runs.Sample{Working: 1 << 30})
	endSmall, small := write(dir, "small", runs.KindRun, "", "claude", 1<<30, journal.RunStarted{LimitBytes: 1 << 30}, journal.RunIdle{For: time.Hour})
	small.Sample(runs.Sample{Working: 950 << 20})
	endQueued, _ := write(dir, "queued", runs.KindRun, "", "codex", 1<<30, journal.Waiting{Reason: "memory"})
	endGate, _ := write(dir, "gate", runs.KindGateway, "big", "mcp", 0, journal.ToolCalled{Server: "argo", Tool: "list", UpstreamBytes: 300 << 10, DeliveredBytes: 9 << 10, Spilled: true})
	end, _ = write(dir, "day", runs.KindServe, "", "serve", 0, journal.WindowBreaker{State: "tripped"}, journal.WindowLoop{Rule: "cycle"},
		journal.WindowResponse{Model: "m-1", TokensIn: 10, Status: 200, Cost: 1.25}, journal.WindowResponse{Model: "m-1", TokensIn: 10, Status: 200, Cost: 3, Plan: true},
		journal.LimitReached{Name: "cost_max", Line: journal.LineHard, Did: "refused requests"})
	end(journal.OutcomeOK)
	t.Cleanup(func() { // a writer that nobody holds is as one that was killed
		for _, end := range []func(journal.Outcome){endBig, endSmall, endQueued, endGate} {
			end(journal.OutcomeOK)
		}
	})
	store, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	wait.Until(t, "the four that live have written", func() bool {
		if err := store.Poll(); err != nil {
			t.Fatal(err)
		}
		written := map[string]bool{}
		for _, r := range store.Live() {
			written[r.ID] = r.NewestSample().Working > 0 || r.ID == "queued" && r.Outcome == runs.Waiting || r.ID == "gate" && len(r.Tools) > 0
		}
		return written["big"] && written["small"] && written["queued"] && written["gate"]
	})
	return dir
}

func TestMetricsOfAllRuns(t *testing.T) {
	t.Parallel()
	dir := used(t)
	all := metrics.NewRuns(dir, host)
	t.Cleanup(func() { all.Close() })
	text := textOf(t, all)
	hold(t, text,
		`plimsoll_runs{state="running",tool="claude"} 1`, `plimsoll_runs{state="idle",tool="claude"} 1`, `plimsoll_runs{state="waits_for_you",tool="claude"} 0`, `plimsoll_runs{state="waiting",tool="claude"} 0`, `plimsoll_runs{state="waiting",tool="codex"} 1`,
		`plimsoll_run_memory_used_bytes{tool="claude"} 2.069889024e+09`, `plimsoll_run_memory_idle_bytes{tool="claude"} 9.961472e+08`, `plimsoll_run_memory_limit_bytes{tool="claude"} 5.36870912e+09`,
		`plimsoll_run_memory_reserved_bytes{tool="claude"} 2.68435456e+09`,
		`plimsoll_run_memory_ratio_max{tool="claude"} 0.927734375`, // of the smaller, not the sum over the sum
		`plimsoll_run_window_ratio_max{tool="claude"} 0.75`, `plimsoll_run_messages_max{tool="claude"} 80`,
		`plimsoll_runs_ended_total{outcome="oom",tool="claude"} 1`, `plimsoll_runs_ended_total{outcome="died",tool="codex"} 0`,
		`plimsoll_run_oom_kills_total{of="agent",tool="claude"} 1`, `plimsoll_run_oom_kills_total{of="child",tool="claude"} 1`,
		`plimsoll_run_oom_kills_total{of="child",tool="codex"} 0`, `plimsoll_run_waits_total{tool="claude"} 1`, `plimsoll_run_waits_total{tool="codex"} 1`,
		`plimsoll_run_compaction_tokens_total{tool="claude",when="before"} 150000`, `plimsoll_run_compaction_tokens_total{tool="claude",when="after"} 60000`,
		`plimsoll_run_tool_calls_total{tool="claude"} 1`, `plimsoll_run_results_large_total{tool="claude"} 1`, `plimsoll_run_result_max_bytes{tool="claude"} 307200`,
		`plimsoll_run_breaker_trips_total{tool="serve"} 1`, `plimsoll_run_loops_total{tool="serve"} 1`, `plimsoll_run_loops_total{tool="claude"} 0`,
		`plimsoll_model_cost_dollars_total{model="m-1",plan="false",tool="serve"} 1.25`, `plimsoll_model_cost_dollars_total{model="m-1",plan="true",tool="serve"} 3`,
		`plimsoll_run_spend_lines_total{limit="cost_max",line="hard",tool="serve"} 1`, `plimsoll_runs_ended_total{outcome="ok",tool="serve"} 0`,
		`plimsoll_host_memory_available_bytes 4.294967296e+09`, `plimsoll_host_memory_stall_ratio 0.125`, `plimsoll_state_disk_free_bytes 7.516192768e+09`,
		`plimsoll_runs_kept 2`, `plimsoll_runs_readable 1`)
	if strings.Contains(text, "small") || strings.Contains(text, "queued") {
		t.Error("a label holds an ID")
	}
	// After a restart, and after the clean-up of all that has ended.
	if _, err := runs.Prune(dir, runs.Keep{Age: time.Nanosecond}, time.Now().Add(time.Hour), false); err != nil {
		t.Fatal(err)
	}
	again := metrics.NewRuns(dir, nil)
	t.Cleanup(func() { again.Close() })
	hold(t, textOf(t, again), `plimsoll_run_oom_kills_total{of="agent",tool="claude"} 1`, `plimsoll_runs_kept 0`)
	hold(t, textOf(t, all), `plimsoll_run_oom_kills_total{of="agent",tool="claude"} 1`, `plimsoll_runs_kept 0`)
}

// A store that cannot be read says so, and everything else of the scrape is there.
func TestAStoreThatCannotBeReadSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, runs.Dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all := metrics.NewRuns(dir, host)
	w := httptest.NewRecorder()
	metrics.Handler(all).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Error(w.Code)
	}
	hold(t, w.Body.String(), `plimsoll_runs_readable 0`)
	if !strings.Contains(w.Body.String(), "process_resident_memory_bytes") {
		t.Error("what the process says of itself is missing")
	}
}

// The names of the semantic conventions are the old ones or, where asked for, the new ones, never both.
func TestNamesAreOldOrNew(t *testing.T) {
	t.Parallel()
	families := map[bool][]string{
		false: {"gen_ai_client_token_usage", "gen_ai_client_operation_duration_seconds", "gen_ai_server_time_to_first_token_seconds"},
		true: {
			"gen_ai_client_inference_usage_input_tokens_total", "gen_ai_client_inference_usage_output_tokens_total",
			"gen_ai_client_inference_usage_cache_read_input_tokens_total", "gen_ai_client_inference_duration_seconds", "gen_ai_client_inference_time_to_first_chunk_seconds",
		},
	}
	for value, latest := range map[string]bool{"": false, "http": false, "gen_ai_latest_experimental": true, "http/dup, gen_ai_latest_experimental": true} {
		o := metrics.FromEnvironment(func(string) string { return value })
		text := scrapeWith(t, o, everything...)
		for newer, names := range families {
			for _, name := range names {
				if has := strings.Contains(text, "# TYPE "+name+" "); has != (newer == latest) {
					t.Errorf("with %q: %s is there: %v", value, name, has)
				}
			}
		}
		if latest && (!strings.Contains(text, `gen_ai_client_inference_usage_input_tokens_total{gen_ai_operation_name="generate_content",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1"} 950`) ||
			!strings.Contains(text, "plimsoll_window_count_error_count")) {
			t.Error(text)
		}
	}
}

// BenchmarkScrape is a scrape with 10,000 runs that have ended and 100 that live.
func BenchmarkScrape(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		end, _ := write(dir, fmt.Sprintf("ended-%d", i), runs.KindRun, "", fmt.Sprint("tool-", i%20), 1<<30, journal.RunStarted{})
		end(journal.OutcomeOK)
	}
	for i := range 100 {
		end, _ := write(dir, fmt.Sprintf("lives-%d", i), runs.KindRun, "", fmt.Sprint("tool-", i%20), 1<<30, journal.RunStarted{})
		defer end(journal.OutcomeOK)
	}
	store, err := runs.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	wait.Until(b, "a hundred runs live", func() bool {
		if err := store.Poll(); err != nil {
			b.Fatal(err)
		}
		return len(store.Live()) == 100
	})
	all := metrics.NewRuns(dir, host)
	defer all.Close()
	for b.Loop() {
		if err := all.Write(new(bytes.Buffer)); err != nil {
			b.Fatal(err)
		}
	}
}
