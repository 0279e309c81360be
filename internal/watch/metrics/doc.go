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
