// Package traces sends what happened in runs as spans to an OpenTelemetry collector.
//
//	s, err := traces.Start(traces.Options{StateDir: dir, URL: "http://127.0.0.1:4318", Warn: warn})
//	defer s.Close()
//
// It reads the store of package internal/watch/runs, so no run ever waits for it: spans are sent by whichever `plimsoll serve` or `plimsoll
// watch` is there, of several by the one that holds the lock traces/lock. A run is a trace, with a span for each request to a model and each
// call of a tool, named by OpenTelemetry's conventions for generative AI and MCP. Ids come of the run's ID and the record's number: what is
// sent again is the same span. No argument of a command, no word of a conversation and no result gets into one.
//
// At most 4 MiB of spans wait, the oldest are dropped and counted. A collector that is busy or away is tried again, as late as Retry-After
// says or after 1 s up to a minute; what it took is written down in traces/sent.json. A [Sender] may be used from any goroutine.
package traces
