package main

import "strconv"

// source is the Prometheus that is chosen at the top.
var source = &Datasource{Type: "prometheus", UID: "${source}"}

// Units, by Grafana's names.
const (
	bytes   = "bytes"
	dollars = "currencyUSD"
	count   = "short"
	seconds = "s"
	share   = "percentunit"
)

// query is one line of a panel. In it, $tool and $instance are the chosen ones.
type query struct{ expr, legend string }

// panel is one before it has its place.
type panel struct {
	kind, title, about, unit string
	warning, critical        float64 // 0 for no line
	queries                  []query
}

func graph(title, unit, about string, queries ...query) panel {
	return panel{kind: "timeseries", title: title, unit: unit, about: about, queries: queries}
}

func number(title, unit, about, expr string) panel {
	return panel{kind: "stat", title: title, unit: unit, about: about, queries: []query{{expr, ""}}}
}

func (p panel) lines(warning, critical float64) panel {
	p.warning, p.critical = warning, critical
	return p
}

// row is a heading with its panels.
type row struct {
	title  string
	panels []panel
}

const (
	of     = `{tool=~"$tool",instance=~"$instance"}`
	on     = `{instance=~"$instance"}`
	byTool = "{{tool}}"
)

func happened(series, more string) string {
	return `sum by (tool` + more + `) (increase(` + series + of + `[$__rate_interval]))`
}

func quantile(q, series, by string) string {
	return `histogram_quantile(` + q + `, sum by (le, ` + by + `) (rate(` + series + `_bucket` + on + `[$__rate_interval])))`
}

var rows = []row{
	{"Now", []panel{
		number("Running", count, "Runs that have started and not ended.", `sum(plimsoll_runs{state!="waiting",tool=~"$tool",instance=~"$instance"})`),
		number("Idle", count, "Those of them that nobody uses.", `sum(plimsoll_runs{state="idle",tool=~"$tool",instance=~"$instance"})`),
		number("Waiting", count, "Runs that wait for memory or a slot.", `sum(plimsoll_runs{state="waiting",tool=~"$tool",instance=~"$instance"})`),
		number("Fullest run", share, "Memory of the run that is nearest to its limit.", `max(plimsoll_run_memory_ratio_max`+of+`)`).lines(0.75, 0.9),
		number("Fullest window", share, "Tokens of the request that is nearest to its window.", `max(plimsoll_run_window_ratio_max`+of+`)`).lines(0.9, 1),
		number("Killed for memory", count, "Agents and processes of theirs, in the time that is shown.", `sum(increase(plimsoll_run_oom_kills_total`+of+`[$__range]))`).lines(1, 1),
		number("Longest wait", seconds, "Of the runs that wait now.", `max(plimsoll_run_waiting_max_seconds`+of+`)`).lines(60, 300),
		graph("Memory", bytes, "What runs use, may use and have reserved, and what the host has left.",
			query{`sum(plimsoll_run_memory_used_bytes` + of + `)`, "used"}, query{`sum(plimsoll_run_memory_reserved_bytes` + of + `)`, "reserved"},
			query{`sum(plimsoll_run_memory_limit_bytes` + of + `)`, "limits"}, query{`sum(plimsoll_host_memory_available_bytes` + on + `)`, "available"}),
		graph("Memory against its limit", share, "The fullest run of each tool.", query{`max by (tool) (plimsoll_run_memory_ratio_max` + of + `)`, byTool}).lines(0.75, 0.9),
		graph("Context against its window", share, "The fullest run of each tool.", query{`max by (tool) (plimsoll_run_window_ratio_max` + of + `)`, byTool}).lines(0.9, 1),
	}},
	{"What happened", []panel{
		graph("Runs that ended", count, "By outcome.", query{`sum by (outcome) (increase(plimsoll_runs_ended_total` + of + `[$__rate_interval]))`, "{{outcome}}"}),
		graph("Killed for memory", count, "The agent itself, or a process of its.", query{happened("plimsoll_run_oom_kills_total", ", of"), "{{tool}} {{of}}"}),
		graph("Waits", count, "Runs that had to wait, and for how long in all.", query{happened("plimsoll_run_waits_total", ""), byTool}, query{happened("plimsoll_run_waited_seconds_total", ""), "{{tool}} (s)"}),
		graph("Compactions", count, "How often room was made; refusals as too long that then fit; windows that were halved.",
			query{happened("plimsoll_run_compactions_total", ""), byTool}, query{happened("plimsoll_run_overflow_recoveries_total", ""), "{{tool}} recovered"},
			query{happened("plimsoll_run_breaker_trips_total", ""), "{{tool}} halved"}, query{happened("plimsoll_run_over_window_total", ""), "{{tool}} over its window"}),
		graph("Tokens before and after", count, "Input of the requests in which room was made.", query{happened("plimsoll_run_compaction_tokens_total", ", when"), "{{tool}} {{when}}"}),
		graph("Cut and mended", count, "Bytes left out of requests, and calls and results that were paired again.",
			query{happened("plimsoll_run_cut_bytes_total", ""), "{{tool}} bytes"}, query{happened("plimsoll_run_repairs_total", ""), "{{tool}} repairs"}),
		graph("Requests and tokens", count, "Model requests of all runs, and their tokens.",
			query{happened("plimsoll_run_requests_total", ""), "{{tool}} requests"}, query{happened("plimsoll_run_tokens_total", ", type"), "{{tool}} {{type}}"}),
		graph("Spent", dollars, "What tokens cost, without those of a subscription.",
			query{`sum by (tool) (increase(plimsoll_model_cost_dollars_total{plan="false",tool=~"$tool",instance=~"$instance"}[$__rate_interval]))`, byTool}),
		graph("Messages", count, "Of the request in the fullest window.", query{`max by (tool) (plimsoll_run_messages_max` + of + `)`, byTool}),
	}},
	{"Results of tools", []panel{
		graph("Sent and delivered", bytes, "As servers sent them, and as agents got them.", query{happened("plimsoll_run_tool_results_bytes_total", ", at"), "{{tool}} {{at}}"}),
		graph("Largest", bytes, "Of runs that live or ended within the last hour.", query{`max by (tool) (plimsoll_run_result_max_bytes` + of + `)`, byTool}).lines(100<<10, 200<<10),
		graph("Calls, pages, large ones", count, "Calls; results of which the agent got a page; results over 200 KB.",
			query{happened("plimsoll_run_tool_calls_total", ""), "{{tool}} calls"}, query{happened("plimsoll_run_tool_spilled_total", ""), "{{tool}} paged"},
			query{happened("plimsoll_run_results_large_total", ""), "{{tool}} over 200 KB"}),
		graph("By server", bytes, "95 of 100 results that came through this daemon were smaller.", query{quantile("0.95", "plimsoll_tools_result_size_bytes", "server"), "{{server}}"}),
		graph("Time of a call", seconds, "95 of 100 calls through this daemon were faster.", query{quantile("0.95", "mcp_client_operation_duration_seconds", "server"), "{{server}}"}),
	}},
	{"Model requests through the daemon", []panel{
		graph("Requests", count, "By model.", query{`sum by (gen_ai_request_model) (increase(plimsoll_window_requests_total` + on + `[$__rate_interval]))`, "{{gen_ai_request_model}}"}),
		graph("Time of an answer", seconds, "95 of 100 were faster.", query{quantile("0.95", "gen_ai_client_operation_duration_seconds", "gen_ai_request_model"), "{{gen_ai_request_model}}"}),
		graph("Time that Plimsoll took", seconds, "99 of 100 requests were looked into faster.", query{quantile("0.99", "plimsoll_window_overhead_seconds", "gen_ai_request_model"), "{{gen_ai_request_model}}"}),
		graph("Tokens of a request", count, "95 of 100 had fewer.", query{quantile("0.95", "plimsoll_window_tokens", "gen_ai_request_model"), "{{gen_ai_request_model}}"}),
	}},
	{"The host", []panel{
		graph("Free disk", bytes, "Where Plimsoll keeps its state.", query{`plimsoll_state_disk_free_bytes` + on, "{{instance}}"}),
		graph("Runs that are kept", count, "", query{`plimsoll_runs_kept` + on, "{{instance}}"}),
		graph("Size of their files", bytes, "", query{`plimsoll_runs_kept_size_bytes` + on, "{{instance}}"}),
		graph("Memory of the daemon", bytes, "", query{`process_resident_memory_bytes{job="plimsoll",instance=~"$instance"}`, "{{instance}}"}),
	}},
}

// dashboard puts the rows below each other: numbers six in a row, graphs three.
func dashboard() Dashboard {
	d := Dashboard{
		UID: "plimsoll", Title: "Plimsoll", Description: "Agents and their limits: memory, context, results, waits.", Tags: []string{"plimsoll"},
		SchemaVersion: 39, Editable: true, Refresh: "30s", Time: Range{"now-6h", "now"},
		Templating: Templating{[]Variable{
			{Name: "source", Label: "Prometheus", Type: "datasource", Query: "prometheus"},
			{Name: "instance", Label: "Host", Type: "query", Query: "label_values(plimsoll_runs_readable, instance)", Datasource: source, Refresh: 2, Multi: true, IncludeAll: true, AllValue: ".*"},
			{Name: "tool", Label: "Tool", Type: "query", Query: "label_values(plimsoll_runs, tool)", Datasource: source, Refresh: 2, Multi: true, IncludeAll: true, AllValue: ".*"},
		}},
	}
	y := 0
	add := func(p Panel) {
		p.ID = len(d.Panels) + 1
		d.Panels = append(d.Panels, p)
	}
	for _, r := range rows {
		add(Panel{Type: "row", Title: r.title, GridPos: Position{0, y, 24, 1}})
		y++
		x, height := 0, 0
		for _, p := range r.panels {
			w, h := 8, 8
			if p.kind == "stat" {
				w, h = 4, 4
			}
			if x+w > 24 || height != 0 && height != h {
				x, y = 0, y+height
			}
			add(p.at(Position{x, y, w, h}))
			x, height = x+w, h
		}
		y += height
	}
	return d
}

func (p panel) at(where Position) Panel {
	zero := 0.0
	out := Panel{
		Type: p.kind, Title: p.title, Description: p.about, GridPos: where, Datasource: source,
		FieldConfig: &FieldConfig{Defaults: Defaults{Unit: p.unit, Min: &zero}, Overrides: []string{}},
	}
	if p.warning > 0 {
		out.FieldConfig.Defaults.Thresholds = &Thresholds{"absolute", []Step{{"green", nil}, {"orange", &p.warning}, {"red", &p.critical}}}
		if p.kind == "timeseries" {
			out.FieldConfig.Defaults.Custom = &Custom{Style{"line"}}
		}
	}
	for i, q := range p.queries {
		out.Targets = append(out.Targets, Target{RefID: "Q" + strconv.Itoa(i+1), Expr: q.expr, LegendFormat: q.legend})
	}
	return out
}
