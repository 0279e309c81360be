package metrics

import (
	"github.com/plimsoll/plimsoll/journal"
)

// remembered are the instruments of the memory. No label holds a word that is remembered, nor the name of a project.
type remembered struct {
	recalls, recalled, recalledBytes         *instrument
	refused, forgotten, evicted              *instrument
	asked, episodes, proposals, tokens, fail *instrument
}

// register adds the instruments for the memory.
func (r *remembered) register(all *instruments) {
	r.recalls = all.counter("plimsoll.memory.recalls", "{prompt}", "Prompts that were added to.")
	r.recalled = all.counter("plimsoll.memory.recalled", "{record}", "Records that were added to prompts.")
	r.recalledBytes = all.counter("plimsoll.memory.recalled.size", "By", "Bytes that were added to prompts.")
	r.refused = all.counter("plimsoll.memory.refused", "{record}", "Records that came again after they had been forgotten, and were not kept.")
	r.forgotten = all.counter("plimsoll.memory.forgotten", "{record}", "Records that were forgotten.")
	r.evicted = all.counter("plimsoll.memory.evicted", "{record}", "Records that a bound removed, by reason.")
	r.asked = all.counter("plimsoll.memory.facts.requests", "{request}", "Requests to a model for facts that were answered with a list.")
	r.episodes = all.counter("plimsoll.memory.facts.episodes", "{episode}", "Passages that were read for facts.")
	r.proposals = all.counter("plimsoll.memory.facts.proposals", "{fact}", "Facts that a model proposed, by what became of them.")
	r.tokens = all.counter("plimsoll.memory.facts.tokens", "{token}", "Tokens that facts have cost.")
	r.fail = all.counter("plimsoll.memory.facts.failures", "{time}", "Times that no facts were drawn, by reason.")
}

// reasons of [journal.MemoryFactsFailed] that have a series of their own.
var factsFailures = map[string]bool{"failed": true, "gave_up": true, "dropped": true, "budget": true}

// observe counts an event of the memory.
func (r *remembered) observe(e journal.Event) {
	switch e := e.(type) {
	case journal.MemoryRecalled:
		r.recalls.add(1, nil)
		r.recalled.add(int64(len(e.Records)), nil)
		r.recalledBytes.add(e.Bytes, nil)
	case journal.MemoryRefused:
		r.refused.add(int64(e.Records), nil)
	case journal.MemoryForgotten:
		r.forgotten.add(int64(e.Records), nil)
	case journal.MemoryEvicted:
		r.evicted.add(int64(e.Records), makeLabels(textLabel("reason", e.Why)))
	case journal.MemoryFacts:
		r.asked.add(1, nil)
		r.episodes.add(int64(e.Episodes), nil)
		r.tokens.add(int64(e.Tokens), nil)
		for _, p := range []struct {
			outcome string
			n       int
		}{{"kept", e.Kept}, {"known", e.Known}, {"unquoted", e.Unquoted}, {"unsupported", e.Unsupported}, {"malformed", e.Malformed}} {
			r.proposals.add(int64(p.n), makeLabels(label{"outcome", p.outcome}))
		}
	case journal.MemoryFactsFailed:
		why := e.Why
		if !factsFailures[why] {
			why = "other"
		}
		r.fail.add(1, makeLabels(label{"reason", why}))
		if why == "failed" {
			r.tokens.add(int64(e.Tokens), nil)
		}
	}
}

// Memory counts what a daemon has kept of conversations since it began, and what waits for facts.
type Memory struct {
	Records           int64 // that were written or counted
	Dropped, Failed   int64 // parts of conversations for which the queue had no room, records that could not be written
	DroppedBytes      int64
	Waiting           int // parts that wait
	WaitingBytes      int64
	Facts             bool // that they are drawn in the background
	FactsWaiting      int  // episodes
	FactsSpent        int  // tokens of the day, over all processes
	FactsTokensPerDay int
}

// ShowMemory adds what now tells to every scrape: the events of these are written at the end only, or not each time.
func (m *Metrics) ShowMemory(now func() Memory) {
	m.shown.add(func(all *instruments) {
		told := now()
		told.show(all)
	})
}

// show adds the counts to a scrape; those of facts only where facts are drawn.
func (m *Memory) show(all *instruments) {
	captured := all.counter("plimsoll.memory.captured", "{record}", "Records of conversations, by whether they could be written.")
	captured.add(m.Records, makeLabels(boolLabel("failed", false)))
	captured.add(m.Failed, makeLabels(boolLabel("failed", true)))
	all.counter("plimsoll.memory.dropped", "{part}", "Parts of conversations for which the queue had no room.").add(m.Dropped, nil)
	all.counter("plimsoll.memory.dropped.size", "By", "Their bytes.").add(m.DroppedBytes, nil)
	all.gauge("plimsoll.memory.queued", "{part}", "Parts of conversations that wait to be kept.").set(int64(m.Waiting), nil)
	all.gauge("plimsoll.memory.queued.size", "By", "Their bytes.").set(m.WaitingBytes, nil)
	if m.Facts {
		all.gauge("plimsoll.memory.facts.queued", "{episode}", "Passages that wait to be read for facts.").set(int64(m.FactsWaiting), nil)
		all.gauge("plimsoll.memory.facts.spent", "{token}", "Tokens of the day that facts have cost, over all processes.").set(int64(m.FactsSpent), nil)
		all.gauge("plimsoll.memory.facts.limit", "{token}", "Tokens that facts may cost in a day.").set(int64(m.FactsTokensPerDay), nil)
	}
}
