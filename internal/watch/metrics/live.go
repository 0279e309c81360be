package metrics

// Agent is the current state of an agent of this process.
type Agent struct {
	Name string
	// Memory is the bytes held by its queries: messages, step results, remembered calls.
	Memory int64
	// Window is the part of its window that it works with: less than 1 for a while after a death for memory.
	Window float64
}

// ShowAgents adds what now tells to every scrape.
func (m *Metrics) ShowAgents(now func() []Agent) {
	m.shown.add(func(all *instruments) {
		memory := all.gauge("plimsoll.agent.query.memory.used", "By", "What the queries that run hold now: messages, results, remembered calls.")
		window := all.gauge("plimsoll.agent.window.ratio", "1", "Part of its window that an agent works with: a half for a while after a death for memory.")
		for _, a := range now() {
			memory.set(a.Memory, with(m.agent(a.Name)))
			window.put(a.Window, with(m.agent(a.Name)))
		}
	})
}
