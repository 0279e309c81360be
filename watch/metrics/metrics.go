package metrics

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

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
	registry *prometheus.Registry
	provider *sdk.MeterProvider
	window   window
	calls    tools
	asked    agents
	events   metric.Int64Counter

	mu                             sync.Mutex
	models, servers, tools, agents map[string]string // label by name as it came
}

// New makes the instruments. Close ends them.
func New() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exp, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	m := &Metrics{registry: registry, provider: sdk.NewMeterProvider(sdk.WithReader(exp)), models: map[string]string{}, servers: map[string]string{}, tools: map[string]string{}, agents: map[string]string{}}
	meter := m.provider.Meter("github.com/plimsoll/plimsoll")
	if m.events, err = meter.Int64Counter("plimsoll.events", metric.WithDescription("Events of the journal, by kind.")); err != nil {
		return nil, err
	}
	return m, errors.Join(m.window.make(meter), m.calls.make(meter), m.asked.make(meter))
}

// Handler answers a scrape in the format that the scraper asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8})
}

// Close flushes and ends the instruments.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// Observe counts one record.
func (m *Metrics) Observe(r journal.Record) {
	ctx := context.Background()
	m.events.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", r.Event.Kind())))
	m.window.observe(ctx, m, r.Event)
	m.calls.observe(ctx, m, r.Event)
	m.asked.observe(ctx, m, r.Event)
}

// model is the label of a model's name.
func (m *Metrics) model(name string) attribute.KeyValue {
	return attribute.String("gen_ai.request.model", m.label(m.models, maxModels, name, name))
}

// label is what known has under key: the first most keys get name, later ones "other".
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
