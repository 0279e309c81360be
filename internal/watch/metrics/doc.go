// Package metrics turns the journal into instruments, with the names of OpenTelemetry's semantic conventions, and shows them
// to Prometheus.
//
//	m := metrics.New(metrics.Options{})
//	j := journal.New(journal.Options{Observers: []journal.Observer{m}})
//	mux.Handle("/metrics", m.Handler())
//
// Nothing else writes a metric: what is not an event of the journal is not counted, and
// what the run report says and what a graph shows come from the same records.
//
// # What to expect
//
// Names follow OpenTelemetry's semantic conventions for generative AI where these have one
// (gen_ai.client.token.usage, gen_ai.client.operation.duration,
// gen_ai.server.time_to_first_token); all others begin with plimsoll. Dots are written as underscores, and units
// and _total added, as OpenTelemetry's exporter for Prometheus does. docs/metrics.md lists every one.
//
// Labels are bounded: a model's name is cut at 64 bytes, and of all models only the first
// 100 have a name of their own, later ones count as "other"; so it is with servers, tools and agents. An instrument has at most 2,000 series; what comes later counts in one
// with otel_metric_overflow. No label holds a path, an id, a
// token or text of a conversation.
//
// A scrape is answered in Prometheus' text format 0.0.4, compressed where the scraper asks for gzip, with the families that the query
// names as name[] or with all. What Go and the process say of themselves has the names of Prometheus' library for Go. That library is
// not used: with what it brings (protobuf, procfs) it takes 0.7 ms of every start of the program, of whatever command, and 2.1 MB.
// github.com/VictoriaMetrics/metrics reads /proc while it is initialised (0.4 ms) and writes no help texts. A scrape holds the series of one instrument at a time, and is written as it is made.
//
// # Concurrency
//
// Observe is called by the journal, one record at a time; the handler may be used by any
// number of scrapes at the same time.
//
// # How it is tested
//
// Every event of the window plane is appended to a real journal and found again in what the
// handler writes, which is parsed by Prometheus' own parser; a fuzz test holds that any label and value is found again by it; a test holds that the guide
// lists what the handler writes.
package metrics
