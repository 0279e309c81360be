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
	m.window.make(&m.all, o)
	m.calls.make(&m.all)
	m.asked.make(&m.all)
	m.memory.make(&m.all)
	return m
}

// Handler answers a scrape, in Prometheus' text format.
func (m *Metrics) Handler() http.Handler { return m.shown }

// Observe counts one record.
func (m *Metrics) Observe(r journal.Record) {
	m.events.add(1, with(label{"kind", r.Event.Kind()}))
	m.window.observe(m, r.Event)
	m.calls.observe(m, r.Event)
	m.asked.observe(m, r.Event)
	m.memory.observe(r.Event)
}

// model returns the label of a model's name.
func (m *Metrics) model(name string) label {
	return label{"gen_ai.request.model", m.label(m.models, maxModels, name, name)}
}

// label returns the label that known has under key: the first most keys get name, later ones "other".
func (m *Metrics) label(known map[string]string, most int, key, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	label, ok := known[key]
	if !ok {
		label = "other"
		if len(known) < most {
			label = clip(name)
			known[key] = label
		}
	}
	return label
}

func clip(s string) string {
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
