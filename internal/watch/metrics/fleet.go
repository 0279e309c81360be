package metrics

import (
	"math"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
)

// ShowFleet adds what the other hosts of a fleet tell to every scrape.
func (r *Runs) ShowFleet(now func() hosts.Now) {
	r.mu.Lock()
	r.fleet = now
	r.mu.Unlock()
}

// showFleet adds the hosts of a fleet, and what they carry together, to a scrape.
func showFleet(all *instruments, now hosts.Now) {
	sum, away, oldest := now.TotalLoad(), 0.0, 0.0
	if now.Away != nil {
		away = max(1, math.Round(time.Since(now.Since).Seconds()))
	}
	if !sum.Oldest.IsZero() {
		oldest = math.Round(time.Since(sum.Oldest).Seconds())
	}
	all.gauge("plimsoll.fleet.away", "s", "How long the server of the fleet cannot be reached, 0 while it can.").setFloat(away, nil)
	heard := all.gauge("plimsoll.fleet.hosts", "{host}", "Other hosts: heard, and those that fell silent without a word in the last quarter of an hour.")
	heard.set(int64(len(now.Hosts)), makeLabels(label{"state", "heard"}))
	heard.set(int64(len(now.Gone)), makeLabels(label{"state", "gone"}))
	live := all.gauge("plimsoll.fleet.runs", "{run}", "Runs that live on other hosts, by state.")
	live.set(int64(sum.Running), makeLabels(label{"state", "running"}))
	live.set(int64(sum.Waiting), makeLabels(label{"state", "waiting"}))
	all.gauge("plimsoll.fleet.waiting.max", "s", "How long the run has waited that waits longest on another host.").setFloat(oldest, nil)
	all.gauge("plimsoll.fleet.memory.total", "By", "Memory of the other hosts.").set(sum.TotalBytes, nil)
	all.gauge("plimsoll.fleet.memory.available", "By", "Memory that new work could use on them.").set(sum.AvailableBytes, nil)
}

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

// show adds the counts to a scrape.
func (t *Traces) show(all *instruments) {
	spans := all.counter("plimsoll.traces.spans", "{span}", "Spans of runs: sent, dropped for want of room or because they were refused, rejected by a collector that took the rest.")
	spans.add(int64(t.Sent), makeLabels(label{"outcome", "sent"}))
	spans.add(int64(t.Dropped), makeLabels(label{"outcome", "dropped"}))
	spans.add(int64(t.Rejected), makeLabels(label{"outcome", "rejected"}))
	requests := all.counter("plimsoll.traces.requests", "{request}", "Requests to the collector, by whether it took them.")
	requests.add(int64(t.Requests-t.Failures), makeLabels(boolLabel("failed", false)))
	requests.add(int64(t.Failures), makeLabels(boolLabel("failed", true)))
	all.gauge("plimsoll.traces.queued", "By", "Spans that wait to be sent.").set(int64(t.QueuedBytes), nil)
	sending := int64(0)
	if t.Sending {
		sending = 1
	}
	all.gauge("plimsoll.traces.sending", "1", "1 when this process sends the traces, 0 while another one does.").set(sending, nil)
}
