// Package traces sends what happened in runs as spans to an OpenTelemetry collector.
//
//	s, err := traces.Start(traces.Options{StateDir: dir, URL: "http://127.0.0.1:4318", Warn: warn})
//	…
//	defer s.Close()
//
// # Where spans come from
//
// The sender reads the store of package internal/watch/runs as `plimsoll runs` does. A run never knows of it: it has no exporter that could
// make it wait, a run of a second waits for nothing at its end, and its spans are sent by whichever `plimsoll serve` or `plimsoll
// watch` is there, also some time later. Of several of them one sends: it holds the lock traces/lock in the state directory.
//
// # The spans
//
// Names and attributes are those of OpenTelemetry's conventions for generative AI and MCP; what these have no name for begins with
// "plimsoll.". A run, a question and a conversation is a trace: `invoke_agent TOOL`, in it `chat MODEL` for each request to a model
// that went through the proxy and `tools/call TOOL` for each call of an MCP tool, whichever process of the run it went through.
// The daemon, and a gateway outside of a run, serve many: there each request is a trace of its own. Where the client of an MCP call
// named its span (params._meta.traceparent), that is the parent, and the run's span is linked. Nothing is ever put into a call.
//
// Ids come of the run's ID and the number of the record by SHA-256: two senders make the same spans, and what is sent again after
// a lost answer is the same span. No argument of a command, no word of a conversation and no result gets into a span.
//
// # What to expect
//
// Spans wait in memory, at most 4 MiB of them: while the collector does not answer the oldest are dropped and counted. 429, 502, 503,
// 504 and no answer are tried again, as late as Retry-After says or after 1 s, 2 s and so on to a minute; any other status drops
// what was sent. The user is told once when sending begins to fail and once when it goes again.
//
// What was taken by the collector is written down in traces/sent.json, so a sender that starts goes on where the last one was, and
// at most an hour back.
//
// # Concurrency and tests
//
// A [Sender] may be used from any goroutine. The tests let real HTTP servers refuse, stall, lie and vanish; e2e/collector has the
// OpenTelemetry collector's own receiver and a real plimsoll.
package traces
