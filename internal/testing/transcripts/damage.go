package transcripts

import (
	"maps"
	"slices"
	"strings"
)

// Damages are the kinds of damage, sorted.
var Damages = slices.Sorted(maps.Keys(damages))

// damages change the entries in place; false when there was nothing to change.
var damages = map[string]func(m *maker) (id string, ok bool){
	"delete_result": func(m *maker) (string, bool) {
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		id := m.entries[e].results[k].id
		m.removeResult(e, k)
		return id, true
	},
	"delete_results": func(m *maker) (string, bool) { // a crash between a call and its results
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		id := m.entries[e].results[k].id
		m.entries = slices.Delete(m.entries, e, e+1)
		return id, true
	},
	"delete_call": func(m *maker) (string, bool) {
		e, k, ok := m.pickCall()
		if !ok {
			return "", false
		}
		a := &m.entries[e]
		id := a.calls[k].id
		a.calls = slices.Delete(slices.Clone(a.calls), k, k+1)
		if len(a.calls) == 0 && len(a.texts) == 0 {
			a.texts = []string{m.marker("step") + "."}
		}
		return id, true
	},
	"duplicate_result": func(m *maker) (string, bool) {
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		again := m.entries[e].results[k]
		m.entries[e].results = append(slices.Clone(m.entries[e].results), again)
		return again.id, true
	},
	"result_again_later": func(m *maker) (string, bool) {
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		again := m.entries[e].results[k]
		m.insert(e+1+m.r.IntN(len(m.entries)-e), entry{role: "results", results: []result{again}})
		return again.id, true
	},
	"duplicate_call": func(m *maker) (string, bool) {
		e, k, ok := m.pickCall()
		if !ok {
			return "", false
		}
		again := m.entries[e].calls[k]
		m.entries[e].calls = append(slices.Clone(m.entries[e].calls), again)
		return again.id, true
	},
	"late_result": func(m *maker) (string, bool) { // a slow tool
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		late := m.entries[e].results[k]
		if m.removeResult(e, k) {
			e--
		}
		m.insert(e+1+m.r.IntN(len(m.entries)-e), entry{role: "results", results: []result{late}})
		return late.id, true
	},
	"early_result": func(m *maker) (string, bool) {
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		early := m.entries[e].results[k]
		m.removeResult(e, k)
		m.insert(m.r.IntN(e), entry{role: "results", results: []result{early}})
		return early.id, true
	},
	"interleave": func(m *maker) (string, bool) { // the user types while a tool runs
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		m.insert(e, entry{role: "user", texts: []string{m.marker("user") + m.words(3)}, listed: true})
		return m.entries[e+1].results[k].id, true
	},
	"text_first": func(m *maker) (string, bool) {
		e, k, ok := m.pickResult()
		if !ok || m.entries[e].before != "" {
			return "", false
		}
		m.entries[e].before = m.marker("user")
		return m.entries[e].results[k].id, true
	},
	"split_results": func(m *maker) (string, bool) {
		e, _, ok := m.pickResult()
		if !ok || len(m.entries[e].results) < 2 {
			return "", false
		}
		all := m.entries[e]
		first := entry{role: "results", results: slices.Clone(all.results[:1]), before: all.before}
		m.entries[e].results, m.entries[e].before = slices.Clone(all.results[1:]), ""
		m.insert(e, first)
		return first.results[0].id, true
	},
	"cut_head": func(m *maker) (string, bool) { // a truncation that knows no pairs
		e, k, ok := m.pickResult()
		if !ok {
			return "", false
		}
		id := m.entries[e].results[k].id
		m.entries = m.entries[e:]
		return id, true
	},
	"cut_tail": func(m *maker) (string, bool) { // a session that was killed
		e, k, ok := m.pickCall()
		if !ok {
			return "", false
		}
		id := m.entries[e].calls[k].id
		m.entries = m.entries[:e+1]
		return id, true
	},
	"forged_result": func(m *maker) (string, bool) {
		id := "call_of_nobody"
		if m.noIDs {
			id = ""
		}
		forged := result{id: id, name: "bash", text: m.marker("result")}
		m.insert(1+m.r.IntN(len(m.entries)), entry{role: "results", results: []result{forged}})
		return id, true
	},
}

func (m *maker) insert(at int, e entry) {
	m.entries = slices.Insert(m.entries, min(at, len(m.entries)), e)
}

// pickResult picks at random an entry with results, and one of them. It is never the first entry; ok is false if there is none.
func (m *maker) pickResult() (e, k int, ok bool) {
	var found []int
	for i, entry := range m.entries {
		if i > 0 && len(entry.results) > 0 {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return 0, 0, false
	}
	e = found[m.r.IntN(len(found))]
	return e, m.r.IntN(len(m.entries[e].results)), true
}

// pickCall picks at random an entry with calls, and one of them; ok is false if there is none.
func (m *maker) pickCall() (e, k int, ok bool) {
	var found []int
	for i, entry := range m.entries {
		if len(entry.calls) > 0 {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return 0, 0, false
	}
	e = found[m.r.IntN(len(found))]
	return e, m.r.IntN(len(m.entries[e].calls)), true
}

// removeResult removes a result from an entry. If no result is left, the entry becomes one of the user's with its texts, or is removed if it
// has none; emptied reports that.
func (m *maker) removeResult(e, k int) (emptied bool) {
	entry := &m.entries[e]
	entry.results = slices.Delete(slices.Clone(entry.results), k, k+1)
	if len(entry.results) > 0 {
		return false
	}
	if text := strings.TrimSpace(entry.before + entry.after); text != "" {
		*entry = newUser(entry.before, entry.after)
		return false
	}
	m.entries = slices.Delete(m.entries, e, e+1)
	return true
}

func newUser(texts ...string) entry {
	return entry{role: "user", listed: true, texts: slices.DeleteFunc(texts, func(t string) bool { return t == "" })}
}
