package metrics

import (
	"cmp"

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
	duration, reading                                       *instrument
	upstream, delivered                                     *instrument
	calls, spilled, large, refused, moved, noise, gone, sum *instrument
}

func (t *tools) make(all *instruments) {
	t.duration = all.histogram("mcp.client.operation.duration", "s", "Time from a call to the end of the server's answer.", operationBuckets)
	t.reading = all.histogram("plimsoll.tools.read.duration", "s", "Time that a page, a search or a query of a kept result took.", operationBuckets)
	t.upstream = all.histogram("plimsoll.tools.result.size", "By", "Results as servers sent them.", sizeBuckets)
	t.delivered = all.histogram("plimsoll.tools.delivered.size", "By", "Results as clients got them.", sizeBuckets)
	t.calls = all.counter("plimsoll.tools.calls", "{call}", "Calls that were answered.")
	t.spilled = all.counter("plimsoll.tools.spilled", "{result}", "Results that went to the spool, so that the client got a page.")
	t.large = all.counter("plimsoll.tools.large", "{result}", "Results over 100 KB (warning) and over 200 KB (alert).")
	t.refused = all.counter("plimsoll.tools.refused", "{call}", "Calls that were not passed on, by reason.")
	t.moved = all.counter("plimsoll.tools.server.states", "{change}", "What became of servers: started, ended, restarting, given_up, lost, killed.")
	t.noise = all.counter("plimsoll.tools.noise", "By", "Bytes from servers that were no message to anybody, by what they were.")
	t.gone = all.counter("plimsoll.tools.spool.evictions", "{result}", "Kept results that were removed, by reason.")
	t.sum = all.counter("plimsoll.tools.spool.evicted", "By", "Bytes of kept results that were removed, by reason.")
}

func (t *tools) observe(m *Metrics, e journal.Event) {
	switch e := e.(type) {
	case journal.ToolCalled:
		t.called(m, e)
	case journal.ToolResultLarge:
		t.large.add(1, with(m.server(e.Server), m.tool(e.Server, e.Tool), text("level", e.Level)))
	case journal.ToolRefused:
		t.refused.add(1, with(m.server(e.Server), text("reason", e.Why)))
	case journal.ToolRead:
		t.reading.record(e.Duration.Seconds(), with(m.server(e.Server), text("what", e.What), truth("failed", e.Failed)))
	case journal.ToolServer:
		t.moved.add(1, with(m.server(e.Server), text("state", e.State)))
	case journal.ToolNoise:
		t.noise.add(e.Bytes, with(m.server(e.Server), text("what", e.What)))
	case journal.SpoolEvicted:
		t.gone.add(int64(e.Results), with(text("reason", e.Why)))
		t.sum.add(e.Bytes, with(text("reason", e.Why)))
	}
}

func (t *tools) called(m *Metrics, e journal.ToolCalled) {
	of := labels{m.server(e.Server), m.tool(e.Server, cmp.Or(e.Tool, e.Method))}
	by := of
	t.calls.add(1, append(of, truth("failed", e.Failed)))
	t.delivered.record(float64(e.DeliveredBytes), by)
	if e.Spilled {
		t.spilled.add(1, by)
	}
	t.upstream.record(float64(e.UpstreamBytes), by)
	operation := append(of, text("mcp.method.name", e.Method))
	if e.Method == "tools/call" {
		operation = append(operation, label{"gen_ai.operation.name", "execute_tool"})
	}
	if e.Protocol != "" {
		operation = append(operation, text("mcp.protocol.version", e.Protocol))
	}
	switch {
	case e.Cut:
		operation = append(operation, label{"error.type", "cut"})
	case e.Failed:
		operation = append(operation, label{"error.type", "tool_error"})
	}
	t.duration.record(e.Duration.Seconds(), operation)
}

// server returns the label of an MCP server's name.
func (m *Metrics) server(name string) label {
	return label{"server", m.label(m.servers, maxServers, name, name)}
}

// tool returns the label of a tool's name; the first tools of each server get one of their own.
func (m *Metrics) tool(server, name string) label {
	return label{"gen_ai.tool.name", m.label(m.tools, maxTools, server+"\x00"+name, name)}
}
