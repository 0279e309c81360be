package metrics

import "time"

// Fleet sums up what the other hosts of a fleet tell.
type Fleet struct {
	// Away is the time for which it cannot be reached, 0 while it can: what else is here is of this host alone then.
	Away time.Duration
	// Hosts are heard, and Gone fell silent without a word in the last quarter of an hour.
	Hosts, Gone      int
	Running, Waiting int
	// Oldest is the longest wait in the queue of any of the other hosts.
	Oldest                     time.Duration
	TotalBytes, AvailableBytes int64
}

// ShowFleet adds what now tells to every scrape.
func (r *Runs) ShowFleet(now func() Fleet) {
	r.mu.Lock()
	r.fleet = now
	r.mu.Unlock()
}

func (f *Fleet) show(all *instruments) {
	all.gauge("plimsoll.fleet.away", "s", "How long the server of the fleet cannot be reached, 0 while it can.").put(f.Away.Seconds(), nil)
	hosts := all.gauge("plimsoll.fleet.hosts", "{host}", "Other hosts: heard, and those that fell silent without a word in the last quarter of an hour.")
	hosts.set(int64(f.Hosts), with(label{"state", "heard"}))
	hosts.set(int64(f.Gone), with(label{"state", "gone"}))
	live := all.gauge("plimsoll.fleet.runs", "{run}", "Runs that live on other hosts, by state.")
	live.set(int64(f.Running), with(label{"state", "running"}))
	live.set(int64(f.Waiting), with(label{"state", "waiting"}))
	all.gauge("plimsoll.fleet.waiting.max", "s", "How long the run has waited that waits longest on another host.").put(f.Oldest.Seconds(), nil)
	all.gauge("plimsoll.fleet.memory.total", "By", "Memory of the other hosts.").set(f.TotalBytes, nil)
	all.gauge("plimsoll.fleet.memory.available", "By", "Memory that new work could use on them.").set(f.AvailableBytes, nil)
}
