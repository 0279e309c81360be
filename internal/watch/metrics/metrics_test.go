package metrics_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
	"github.com/plimsoll/plimsoll/journal"
)

var everything = []journal.Event{
	journal.WindowRequest{Upstream: "gemini", Dialect: "gemini", Model: "m-1", Tokens: 1000, LimitTokens: 8192, LimitSource: "catalogue", Counted: "usage", Overhead: time.Millisecond},
	journal.WindowResponse{
		Upstream: "gemini", Dialect: "gemini", Model: "m-1", Status: 200, Stream: true, TokensIn: 950, TokensOut: 20, Estimated: 1000,
		FirstByte: time.Second, Duration: 3 * time.Second, Ended: "complete",
	},
	journal.WindowResponse{Upstream: "gemini", Dialect: "gemini", Model: "m-1", Status: 500, Duration: time.Second, Ended: "complete"},
	journal.WindowStalled{Upstream: "gemini", Dialect: "gemini", Model: "m-1", Quiet: 5 * time.Minute, Ended: "error"},
	journal.WindowRateWaited{Upstream: "anthropic", Model: "m-1", Requests: 3, Again: 1, Waited: 4 * time.Second, Longest: 2 * time.Second},
	journal.WindowPlan{Upstream: "anthropic", Account: "0a", Window: "5h", Utilization: 0.42},
	journal.WindowRepaired{Upstream: "gemini", Model: "m-1", What: "synthesised", Count: 2},
	journal.WindowCompacted{Upstream: "gemini", Model: "m-1", Reason: "trigger", Rungs: []string{"cut", "mask"}, Before: 7000, After: 4000, CutBytes: 12000},
	journal.WindowBreak{Upstream: "gemini", Dialect: "gemini", Model: "m-1", Cause: "trigger", Message: 2, ThinkingOut: 7},
	journal.WindowBreak{Upstream: "gemini", Dialect: "gemini", Model: "m-1", Cause: "client", Message: 9},
	journal.WindowTransformed{Upstream: "anthropic", Dialect: "messages", Model: "m-1", What: "thinking_dropped", Reason: "prefix_binding_mismatch", Blocks: 3},
	journal.WindowTransformed{Upstream: "openai", Dialect: "responses", Model: "m-1", Blocks: 1},
	journal.WindowOverflow{Upstream: "gemini", Model: "m-1", Form: "gemini", Action: "recovered"},
	journal.WindowRefused{Status: 403, Reason: "token"},
	journal.WindowPassed{Upstream: "openai", Path: "/v1/models", Reason: "path"},
	journal.WindowBreaker{Upstream: "gemini", Model: "m-1", State: "tripped"},
	journal.WindowLoop{Upstream: "gemini", Dialect: "gemini", Model: "m-1", Rule: "identical", Did: "warned", Text: "read was called 4 times"},
	journal.WindowStore{Evicted: 3, Reason: "age"},
	journal.WindowSummary{Outcome: "timed_out", Took: 20e9, Rest: 60e9, Error: "context deadline exceeded"},
	journal.WindowOff{Reason: "a login"},

	journal.ToolCalled{Server: "argo", Method: "tools/call", Tool: "list", UpstreamBytes: 300000, DeliveredBytes: 9000, Spilled: true, Protocol: "2025-11-25", Duration: 2 * time.Second},
	journal.ToolCalled{Server: "argo", Method: "resources/read", UpstreamBytes: 10, DeliveredBytes: 10, Failed: true, Duration: time.Second},
	journal.ToolResultLarge{Server: "argo", Tool: "list", Bytes: 300000, Level: "alert"},
	journal.ToolRefused{Server: "argo", Tool: "delete", Why: "denied"},
	journal.ToolRead{Server: "argo", What: "search", Duration: time.Second},
	journal.ToolServer{Server: "argo", State: "restarting"},
	journal.ToolNoise{Server: "argo", What: "text", Bytes: 40},
	journal.SpoolEvicted{Results: 2, Bytes: 500, Why: "age"},

	journal.AgentQueryStarted{Agent: "argocd"},
	journal.AgentQueryEnded{Agent: "argocd", Outcome: "completed", Steps: 3, Calls: 2, TokensIn: 4000, TokensOut: 300, PeakBytes: 20000, Duration: 2 * time.Second},
	journal.AgentQueryRefused{Agent: "argocd", Why: "waiting"},
	journal.AgentCalled{Agent: "argocd", Tool: "list_applications", Bytes: 7000, Duration: time.Second},
	journal.AgentCalled{Agent: "argocd", Tool: "hang", Failed: true, Why: "timeout", Duration: 2 * time.Second},
	journal.AgentResultCut{Agent: "argocd", Tool: "flood", Bytes: 1 << 20, KeptBytes: 8192, Where: "store"},
	journal.AgentCallLeaked{Agent: "argocd", Tool: "hang", Still: 1},
	journal.AgentLoop{Agent: "argocd", Rule: "cycle", Ended: true},
	journal.AgentRequest{Agent: "argocd", Model: "m-1", Tokens: 3000, LimitTokens: 8000, Messages: 4},
	journal.AgentRoom{Agent: "argocd", Why: "window", Tokens: 2000, LimitTokens: 8000},
	journal.AgentRetry{Agent: "argocd", Model: "m-1", Failure: "busy", Status: 429, Tries: 2, Wait: time.Second},
	journal.AgentForgot{Agent: "argocd", Bytes: 100},
	journal.MemoryCaptured{Parts: 3, Records: 20},
	journal.MemoryReach{Words: "off"},
	journal.MemoryDropped{Why: "queue", Dropped: 1, Bytes: 4096},
	journal.MemoryRecalled{Conversation: "c-1", Records: []string{"r-1"}, Bytes: 300},
	journal.AgentSessionsEvicted{Sessions: 3, Bytes: 100, Why: "age"},
	journal.AgentSessionCut{Messages: 2, Bytes: 100},
	journal.AgentSessionDamaged{File: "x", Bytes: 100},
	journal.AgentSessionTorn{Bytes: 10},
	journal.AgentQueueClosed{Agent: "argocd", Task: "t-1", Why: "unread", Seq: 4},
	journal.AgentQueueReopened{Agent: "argocd", Task: "t-1", Why: "unread", Missed: 40, Dropped: 5},
	journal.AgentQueueRemoved{Agent: "argocd", Task: "t-2", Why: "unread", Missed: 3, Dropped: 2},
	journal.AgentTasksEvicted{Agent: "argocd", Tasks: 4, Bytes: 4000, Why: "count"},

	journal.MemoryRecalled{Records: []string{"a", "b"}, Bytes: 300},
	journal.MemoryRefused{Records: 5},
	journal.MemoryForgotten{Records: 3, Elsewhere: 2, Bytes: 1000},
	journal.MemoryEvicted{Records: 7, Bytes: 700, Why: "records"},
	journal.MemoryFacts{Episodes: 8, Kept: 3, Known: 1, Unquoted: 2, Malformed: 1, Tokens: 900},
	journal.MemoryFactsFailed{Why: "failed", Episodes: 8, Tokens: 100, Error: "busy (HTTP 429)"},
	journal.MemoryFactsFailed{Why: "one that is new"},
}

func scrape(t *testing.T, events ...journal.Event) string {
	t.Helper()
	return scrapeWith(t, metrics.Options{}, events...)
}

func scrapeWith(t *testing.T, o metrics.Options, events ...journal.Event) string {
	t.Helper()
	m := metrics.New(o)
	j := journal.New(journal.Options{Observers: []journal.Observer{m}})
	for _, e := range events {
		j.Append(e)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	if _, err := parser.TextToMetricFamilies(strings.NewReader(text)); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return text
}

func TestEveryEventIsShown(t *testing.T) {
	text := scrape(t, everything...)
	for _, want := range []string{
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="generate_content",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1",gen_ai_token_type="input"} 950`,
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="generate_content",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1",gen_ai_token_type="output"} 20`,
		`gen_ai_client_operation_duration_seconds_sum{ended="complete",gen_ai_operation_name="generate_content",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1"} 3`,
		`error_type="500"`,
		`gen_ai_server_time_to_first_token_seconds_sum{`,
		`plimsoll_window_requests_total{counted="usage",dialect="gemini",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1"} 1`,
		`plimsoll_window_limit{gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1",source="catalogue"} 8192`,
		`plimsoll_window_repairs_total{gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1",what="synthesised"} 2`,
		`plimsoll_window_compactions_total{gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1",reason="trigger",rung="mask"} 1`,
		`plimsoll_window_compaction_after_sum{gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1"} 4000`,
		`plimsoll_window_cut_bytes_total{gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1"} 12000`,
		`plimsoll_window_overflows_total{action="recovered",form="gemini",`,
		`plimsoll_window_prefix_breaks_total{cause="trigger"} 1`, `plimsoll_window_prefix_breaks_total{cause="cold"} 0`, `plimsoll_window_thinking_removed_total 7`,
		`plimsoll_window_thinking_dropped_total{reason="prefix_binding_mismatch"} 3`, `plimsoll_window_thinking_dropped_total{reason="unknown"} 1`,
		`plimsoll_window_stalls_total{ended="error",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m-1",reasoning="false"} 1`,
		`plimsoll_window_rate_waits_total{gen_ai_provider_name="anthropic",gen_ai_request_model="m-1"} 3`, `plimsoll_window_rate_again_total{gen_ai_provider_name="anthropic",gen_ai_request_model="m-1"} 1`,
		`plimsoll_window_rate_wait_seconds_sum{gen_ai_provider_name="anthropic",gen_ai_request_model="m-1"} 2`,
		`plimsoll_window_plan{gen_ai_provider_name="anthropic",window="5h"} 0.42`,
		`plimsoll_window_refused_total{reason="token"} 1`,
		`plimsoll_window_passed_total{gen_ai_provider_name="openai",reason="path"} 1`,
		`plimsoll_window_breaker_moves_total{`, `plimsoll_window_store_evictions_total{reason="age"} 3`,
		`mcp_client_operation_duration_seconds_sum{gen_ai_operation_name="execute_tool",gen_ai_tool_name="list",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",server="argo"} 2`,
		`mcp_client_operation_duration_seconds_sum{error_type="tool_error",gen_ai_tool_name="resources/read",mcp_method_name="resources/read",server="argo"} 1`,
		`plimsoll_tools_calls_total{failed="false",gen_ai_tool_name="list",server="argo"} 1`,
		`plimsoll_tools_spilled_total{gen_ai_tool_name="list",server="argo"} 1`,
		`plimsoll_tools_result_size_bytes_sum{gen_ai_tool_name="list",server="argo"} 300000`,
		`plimsoll_tools_delivered_size_bytes_sum{gen_ai_tool_name="list",server="argo"} 9000`,
		`plimsoll_tools_large_total{gen_ai_tool_name="list",level="alert",server="argo"} 1`, `plimsoll_tools_refused_total{reason="denied",server="argo"} 1`,
		`plimsoll_tools_server_states_total{server="argo",state="restarting"} 1`, `plimsoll_tools_noise_bytes_total{server="argo",what="text"} 40`,
		`plimsoll_tools_spool_evictions_total{reason="age"} 2`, `plimsoll_tools_spool_evicted_bytes_total{reason="age"} 500`,
		`plimsoll_tools_read_duration_seconds_sum{failed="false",server="argo",what="search"} 1`,
		`plimsoll_agent_queries_total{agent="argocd",outcome="completed"} 1`, `plimsoll_agent_query_duration_seconds_sum{agent="argocd",outcome="completed"} 2`,
		`plimsoll_agent_query_memory_bytes_sum{agent="argocd"} 20000`, `plimsoll_agent_steps_sum{agent="argocd"} 3`,
		`plimsoll_agent_tokens_total{agent="argocd",gen_ai_token_type="input"} 4000`, `plimsoll_agent_tokens_total{agent="argocd",gen_ai_token_type="output"} 300`,
		`plimsoll_agent_call_duration_seconds_sum{agent="argocd",failed="true",gen_ai_tool_name="hang"} 2`,
		`plimsoll_agent_calls_total{agent="argocd",failed="true",gen_ai_tool_name="hang",reason="timeout"} 1`,
		`plimsoll_agent_calls_leaked_total{agent="argocd"} 1`, `plimsoll_agent_loops_total{agent="argocd",ended="true",rule="cycle"} 1`,
		`plimsoll_window_loops_total{did="warned",rule="identical"} 1`, `plimsoll_agent_refused_total{agent="argocd",reason="waiting"} 1`, `plimsoll_agent_results_cut_total{agent="argocd",where="store"} 1`,
		`plimsoll_agent_retries_total{agent="argocd",failure="busy"} 1`, `plimsoll_agent_rooms_total{agent="argocd",reason="window"} 1`,
		`plimsoll_agent_sessions_forgotten_total{agent="argocd"} 1`, `plimsoll_agent_sessions_evicted_total{reason="age"} 3`,
		`plimsoll_agent_sessions_cut_total 1`, `plimsoll_agent_sessions_damaged_total{reason="damaged"} 1`, `plimsoll_agent_sessions_damaged_total{reason="torn"} 1`,
		`plimsoll_a2a_queues_closed_total{agent="argocd"} 1`, `plimsoll_a2a_queues_reopened_total{agent="argocd"} 1`,
		`plimsoll_a2a_events_dropped_total{agent="argocd"} 7`, `plimsoll_a2a_tasks_evicted_total{agent="argocd",reason="count"} 4`,
		`plimsoll_memory_recalls_total 2`, `plimsoll_memory_recalled_total 3`, `plimsoll_memory_recalled_size_bytes_total 600`, `plimsoll_memory_refused_total 5`,
		`plimsoll_memory_forgotten_total 3`, `plimsoll_memory_evicted_total{reason="records"} 7`, `plimsoll_memory_facts_requests_total 1`,
		`plimsoll_memory_facts_episodes_total 8`, `plimsoll_memory_facts_proposals_total{outcome="unquoted"} 2`, `plimsoll_memory_facts_proposals_total{outcome="kept"} 3`,
		`plimsoll_memory_facts_tokens_total 1000`, `plimsoll_memory_facts_failures_total{reason="failed"} 1`, `plimsoll_memory_facts_failures_total{reason="other"} 1`,
		`plimsoll_events_total{kind="window.off"} 1`, `go_goroutines `, `process_resident_memory_bytes `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A client that makes up a model's name in every request must not fill the memory.
func TestLabelsAreBounded(t *testing.T) {
	var events []journal.Event
	for i := range 1000 {
		events = append(events, journal.WindowRequest{Upstream: "openai", Model: fmt.Sprint("model", i, strings.Repeat("\n\"x", 40)), Counted: "exact"})
	}
	text := scrape(t, events...)
	if n := strings.Count(text, "plimsoll_window_requests_total{"); n != 101 {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(text, `gen_ai_request_model="other"} 900`) {
		t.Error("the rest is not counted as other")
	}
	for line := range strings.Lines(text) {
		if len(line) > 400 {
			t.Errorf("a label is not cut: %s", line)
		}
	}
}

// The guide lists every instrument, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	all := metrics.NewRuns(used(t), host)
	t.Cleanup(func() { all.Close() })
	all.ShowTraces(func() metrics.Traces {
		return metrics.Traces{Sending: true, Sent: 5, Dropped: 4, Rejected: 3, Requests: 3, Failures: 1, QueuedBytes: 77}
	})
	all.ShowFleet(func() hosts.Now {
		busy := &hosts.Host{Load: hosts.Load{Running: 7, Waiting: 2, Oldest: time.Now().Add(-time.Hour), TotalBytes: 64, AvailableBytes: 8}}
		return hosts.Now{Away: errors.New("no"), Since: time.Now().Add(-90 * time.Second), Hosts: []*hosts.Host{busy, {}, {}}, Gone: []*hosts.Host{{}}}
	})
	for _, want := range []string{
		"plimsoll_fleet_away_seconds 90", `plimsoll_fleet_hosts{state="heard"} 3`, `plimsoll_fleet_hosts{state="gone"} 1`, `plimsoll_fleet_runs{state="running"} 7`,
		`plimsoll_fleet_runs{state="waiting"} 2`, "plimsoll_fleet_waiting_max_seconds 3600", "plimsoll_fleet_memory_total_bytes 64", "plimsoll_fleet_memory_available_bytes 8",
		`plimsoll_traces_spans_total{outcome="sent"} 5`, `plimsoll_traces_spans_total{outcome="dropped"} 4`, `plimsoll_traces_spans_total{outcome="rejected"} 3`,
		`plimsoll_traces_requests_total{failed="true"} 1`, `plimsoll_traces_requests_total{failed="false"} 2`, "plimsoll_traces_queued_bytes 77", "plimsoll_traces_sending 1",
	} {
		if text := textOf(t, all); !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	daemon := metrics.New(metrics.Options{})
	daemon.ShowAgents(func() []metrics.Agent { return []metrics.Agent{{Name: "argocd", Memory: 20_000, Window: 0.5}} })
	daemon.ShowMemory(func() metrics.Memory {
		return metrics.Memory{
			Records: 9, Failed: 2, Dropped: 3, DroppedBytes: 30, Waiting: 4, WaitingBytes: 40, Facts: true, FactsWaiting: 17, FactsSpent: 700, FactsTokensPerDay: 20_000,
		}
	})
	answer := httptest.NewRecorder()
	daemon.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	now := answer.Body.String()
	for _, want := range []string{
		`plimsoll_agent_query_memory_used_bytes{agent="argocd"} 20000`, `plimsoll_agent_window_ratio{agent="argocd"} 0.5`,
		`plimsoll_memory_captured_total{failed="false"} 9`, `plimsoll_memory_captured_total{failed="true"} 2`, "plimsoll_memory_dropped_total 3",
		"plimsoll_memory_dropped_size_bytes_total 30", "plimsoll_memory_queued 4", "plimsoll_memory_queued_size_bytes 40", "plimsoll_memory_facts_queued 17",
		"plimsoll_memory_facts_spent 700", "plimsoll_memory_facts_limit 20000",
	} {
		if !strings.Contains(now, want+"\n") {
			t.Errorf("no %s in\n%s", want, now)
		}
	}
	for line := range strings.Lines(now + scrape(t, everything...) + scrapeWith(t, metrics.Options{LatestNames: true}, everything...) + textOf(t, all)) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok && (strings.HasPrefix(name, "plimsoll_") || strings.HasPrefix(name, "gen_ai_") || strings.HasPrefix(name, "mcp_")) {
			name, _, _ = strings.Cut(name, " ")
			seen[name] = true
			if !strings.Contains(string(guide), "| `"+name+"` |") {
				t.Errorf("docs/metrics.md does not list %s", name)
			}
		}
	}
	for line := range strings.Lines(string(guide)) {
		if cells := strings.Split(line, "`"); strings.HasPrefix(line, "| `") && !seen[cells[1]] {
			t.Errorf("docs/metrics.md lists %s, which nothing writes", cells[1])
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d instruments", len(seen))
	}
}
