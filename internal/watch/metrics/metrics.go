// Package metrics turns the journal into instruments and shows them to Prometheus. Nothing else writes a metric: what the run report says and
// what a graph shows come from the same records.
//
//	m := metrics.New(metrics.Options{})
//	j := journal.New(journal.Options{Observers: []journal.Observer{m}})
//	mux.Handle("/metrics", m.Handler())
//
// Names follow OpenTelemetry's conventions for generative AI where these have one; all others begin with plimsoll. docs/metrics.md lists them.
// Of models, servers, tools and agents the first 100 have a name of their own, an instrument has at most 2,000 series, and no label holds a
// path, an id, a token or text of a conversation.
//
// Prometheus' library for Go is not used: it takes 0.7 ms of every start of the program and 2.1 MB. A scrape holds the series of one
// instrument at a time. Observe is called by the journal, one record at a time, the handler by any number of scrapes.
package metrics

import (
	"net/http"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/journal"
)

// Bounds of labels.
const (
	maxModels  = 100 // names of models that get a label of their own
	maxServers = 100 // and of MCP servers
	maxTools   = 500 // and of tools, of all servers together
	maxAgents  = 100 // and of agents
	maxLabel   = 64  // bytes of one
)

// Metrics is a [journal.Observer] with a handler for scrapes.
type Metrics struct {
	shown  *exposition
	all    instruments
	window window
	calls  tools
	asked  agents
	memory remembered
	events *instrument

	mu                             sync.Mutex
	models, servers, tools, agents map[string]string // label by name as it came
}

// Options of the instruments.
type Options struct {
	// LatestNames takes the newer names of the semantic conventions for generative AI; else those of version 1.41. Never both.
	LatestNames bool
}

// FromEnvironment reads what OpenTelemetry has set for it: OTEL_SEMCONV_STABILITY_OPT_IN is a list with commas, and
// gen_ai_latest_experimental in it asks for the newer names.
func FromEnvironment(getenv func(string) string) Options {
	for name := range strings.SplitSeq(getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") {
		if strings.TrimSpace(name) == "gen_ai_latest_experimental" {
			return Options{LatestNames: true}
		}
	}
	return Options{}
}

// New makes the instruments.
func New(o Options) *Metrics {
	m := &Metrics{models: map[string]string{}, servers: map[string]string{}, tools: map[string]string{}, agents: map[string]string{}}
	m.shown = newExposition(&m.all, showGo, showProcess)
	m.events = m.all.counter("plimsoll.events", "", "Events of the journal, by kind.")
	m.window.register(&m.all, o)
	m.calls.register(&m.all)
	m.asked.register(&m.all)
	m.memory.register(&m.all)
	return m
}

// Handler answers a scrape, in Prometheus' text format.
func (m *Metrics) Handler() http.Handler { return m.shown }

// Observe counts one record.
func (m *Metrics) Observe(r journal.Record) {
	m.events.add(1, makeLabels(label{"kind", r.Event.Kind()}))
	m.window.observe(m, r.Event)
	m.calls.observe(m, r.Event)
	m.asked.observe(m, r.Event)
	m.memory.observe(r.Event)
}

// modelLabel returns the label of a model's name; beyond maxModels that of all others.
func (m *Metrics) modelLabel(name string) label {
	return label{"gen_ai.request.model", m.labelValue(m.models, maxModels, name, name)}
}

// labelValue returns the value of a label for key: a new key gets name, cleaned, as long as known has fewer than maxValues, and "other" after that.
// It is the same for the key from then on.
func (m *Metrics) labelValue(known map[string]string, maxValues int, key, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	label, ok := known[key]
	if !ok {
		label = "other"
		if len(known) < maxValues {
			label = cleanLabel(name)
			known[key] = label
		}
	}
	return label
}

// cleanLabel returns a text as the value of a label: at most maxLabel bytes of printable ASCII, "unknown" for "".
func cleanLabel(s string) string {
	if s == "" {
		return "unknown"
	}
	if len(s) > maxLabel {
		s = s[:maxLabel]
	}
	out := []byte(s)
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = '_'
		}
	}
	return string(out)
}

// Agent is the current state of an agent of this process.
type Agent struct {
	Name string
	// Memory is the bytes held by its queries: messages, step results, remembered calls.
	Memory int64
	// Window is the part of its window that it works with: less than 1 for a while after a death for memory.
	Window float64
}

// ShowAgents makes every scrape call now, and show what it returns about agents.
func (m *Metrics) ShowAgents(now func() []Agent) {
	m.shown.add(func(all *instruments) {
		memory := all.gauge("plimsoll.agent.query.memory.used", "By", "What the queries that run hold now: messages, results, remembered calls.")
		window := all.gauge("plimsoll.agent.window.ratio", "1", "Part of its window that an agent works with: a half for a while after a death for memory.")
		for _, a := range now() {
			memory.set(a.Memory, makeLabels(m.agentLabel(a.Name)))
			window.setFloat(a.Window, makeLabels(m.agentLabel(a.Name)))
		}
	})
}
