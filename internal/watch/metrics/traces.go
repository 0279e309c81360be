package metrics

// Traces counts the sending of traces of runs, in spans and requests, since the process began.
type Traces struct {
	// Sending is false while another process sends.
	Sending                 bool
	Sent, Dropped, Rejected uint64
	Requests, Failures      uint64
	QueuedBytes             int
}

// ShowTraces adds what now tells to every scrape.
func (r *Runs) ShowTraces(now func() Traces) {
	r.mu.Lock()
	r.traces = now
	r.mu.Unlock()
}

func (t *Traces) show(all *instruments) {
	spans := all.counter("plimsoll.traces.spans", "{span}", "Spans of runs: sent, dropped for want of room or because they were refused, rejected by a collector that took the rest.")
	spans.add(int64(t.Sent), with(label{"outcome", "sent"}))
	spans.add(int64(t.Dropped), with(label{"outcome", "dropped"}))
	spans.add(int64(t.Rejected), with(label{"outcome", "rejected"}))
	requests := all.counter("plimsoll.traces.requests", "{request}", "Requests to the collector, by whether it took them.")
	requests.add(int64(t.Requests-t.Failures), with(truth("failed", false)))
	requests.add(int64(t.Failures), with(truth("failed", true)))
	all.gauge("plimsoll.traces.queued", "By", "Spans that wait to be sent.").set(int64(t.QueuedBytes), nil)
	sending := int64(0)
	if t.Sending {
		sending = 1
	}
	all.gauge("plimsoll.traces.sending", "1", "1 when this process sends the traces, 0 while another one does.").set(sending, nil)
}
