package metrics

import (
	"cmp"
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plimsoll/plimsoll/journal"
)

// Buckets that the semantic conventions give for MCP operations, in seconds, and ours for
// sizes of results, in bytes: the lines of 10, 100 and 200 KB are among them.
var (
	operationBuckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	sizeBuckets      = []float64{1 << 10, 4 << 10, 10 << 10, 40 << 10, 100 << 10, 200 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30}
)

// tools are the instruments of the tools plane.
type tools struct {
	duration, reading                                               metric.Float64Histogram
	upstream, delivered                                             metric.Int64Histogram
	calls, spilled, reused, large, refused, moved, noise, gone, sum metric.Int64Counter
}

func (t *tools) make(meter metric.Meter) error {
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	seconds := func(name, text string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(operationBuckets...))
		errs = append(errs, err)
		return h
	}
	bytes := func(name, text string) metric.Int64Histogram {
		h, err := meter.Int64Histogram(name, metric.WithUnit("By"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(sizeBuckets...))
		errs = append(errs, err)
		return h
	}
	t.duration = seconds("mcp.client.operation.duration", "Time from a call to the end of the server's answer.")
	t.reading = seconds("plimsoll.tools.read.duration", "Time that a page, a search or a query of a kept result took.")
	t.upstream = bytes("plimsoll.tools.result.size", "Results as servers sent them.")
	t.delivered = bytes("plimsoll.tools.delivered.size", "Results as clients got them.")
	t.calls = counter("plimsoll.tools.calls", "{call}", "Calls that were answered.")
	t.spilled = counter("plimsoll.tools.spilled", "{result}", "Results that went to the spool, so that the client got a page.")
	t.reused = counter("plimsoll.tools.reused", "{call}", "Calls that were answered from the spool, without the server.")
	t.large = counter("plimsoll.tools.large", "{result}", "Results over 100 KB (warning) and over 200 KB (alert).")
	t.refused = counter("plimsoll.tools.refused", "{call}", "Calls that were not passed on, by reason.")
	t.moved = counter("plimsoll.tools.server.states", "{change}", "What became of servers: started, ended, restarting, given_up, lost, killed.")
	t.noise = counter("plimsoll.tools.noise", "By", "Bytes from servers that were no message to anybody, by what they were.")
	t.gone = counter("plimsoll.tools.spool.evictions", "{result}", "Kept results that were removed, by reason.")
	t.sum = counter("plimsoll.tools.spool.evicted", "By", "Bytes of kept results that were removed, by reason.")
	return errors.Join(errs...)
}

func (t *tools) observe(ctx context.Context, m *Metrics, e journal.Event) {
	with := func(kv ...attribute.KeyValue) metric.MeasurementOption { return metric.WithAttributes(kv...) }
	text := func(key, value string) attribute.KeyValue { return attribute.String(key, clip(value)) }
	switch e := e.(type) {
	case journal.ToolCalled:
		t.called(ctx, m, e)
	case journal.ToolResultLarge:
		t.large.Add(ctx, 1, with(m.server(e.Server), m.tool(e.Server, e.Tool), text("level", e.Level)))
	case journal.ToolRefused:
		t.refused.Add(ctx, 1, with(m.server(e.Server), text("reason", e.Why)))
	case journal.ToolRead:
		t.reading.Record(ctx, e.Duration.Seconds(), with(m.server(e.Server), text("what", e.What), attribute.Bool("failed", e.Failed)))
	case journal.ToolServer:
		t.moved.Add(ctx, 1, with(m.server(e.Server), text("state", e.State)))
	case journal.ToolNoise:
		t.noise.Add(ctx, e.Bytes, with(m.server(e.Server), text("what", e.What)))
	case journal.SpoolEvicted:
		t.gone.Add(ctx, int64(e.Results), with(text("reason", e.Why)))
		t.sum.Add(ctx, e.Bytes, with(text("reason", e.Why)))
	}
}

func (t *tools) called(ctx context.Context, m *Metrics, e journal.ToolCalled) {
	of := []attribute.KeyValue{m.server(e.Server), m.tool(e.Server, cmp.Or(e.Tool, e.Method))}
	by := metric.WithAttributes(of...)
	t.calls.Add(ctx, 1, metric.WithAttributes(append(of, attribute.Bool("failed", e.Failed))...))
	t.delivered.Record(ctx, e.DeliveredBytes, by)
	if e.Spilled {
		t.spilled.Add(ctx, 1, by)
	}
	if e.Reused {
		t.reused.Add(ctx, 1, by)
		return // the server had no part in it
	}
	t.upstream.Record(ctx, e.UpstreamBytes, by)
	operation := append(of, attribute.String("mcp.method.name", clip(e.Method)))
	if e.Method == "tools/call" {
		operation = append(operation, attribute.String("gen_ai.operation.name", "execute_tool"))
	}
	if e.Protocol != "" {
		operation = append(operation, attribute.String("mcp.protocol.version", clip(e.Protocol)))
	}
	switch {
	case e.Cut:
		operation = append(operation, attribute.String("error.type", "cut"))
	case e.Failed:
		operation = append(operation, attribute.String("error.type", "tool_error"))
	}
	t.duration.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(operation...))
}

// server is the label of an MCP server's name.
func (m *Metrics) server(name string) attribute.KeyValue {
	return attribute.String("server", m.label(m.servers, maxServers, name, name))
}

// tool is the label of a tool's name; the first tools of each server get one of their own.
func (m *Metrics) tool(server, name string) attribute.KeyValue {
	return attribute.String("gen_ai.tool.name", m.label(m.tools, maxTools, server+"\x00"+name, name))
}
