package repair

import (
	"sync"

	"github.com/plimsoll/plimsoll/window/wire"
)

// scratch is the memory of a check. Its strings share a body's memory, so it is emptied
// before anybody else gets it.
type scratch struct{ ids map[string]state }

type state uint8

const (
	called state = iota + 1
	answered
)

// maxScratch is the number of ids beyond which a scratch is not reused: a map does not shrink.
const maxScratch = 4096

var scratches = sync.Pool{New: func() any { return &scratch{ids: map[string]state{}} }}

// manyCalls is the number of calls in one message above which they are not compared one by one: the whole walk, which has a map, then
// decides.
const manyCalls = 64

// needsNoRepair reports whether calls and results are in order. It is a quick check: it may return false for a request in order, and then
// the walk finds nothing to do.
func needsNoRepair(r *wire.Request, o Options) bool {
	s := scratches.Get().(*scratch)
	defer func() {
		if len(s.ids) <= maxScratch {
			clear(s.ids)
			scratches.Put(s)
		}
	}()
	if len(r.Messages) == 0 {
		return true
	}
	if !isServedInOrder(r) {
		return false
	}
	rules := r.Dialect.Rules()
	if rules.Items {
		return s.itemsInOrder(r, o)
	}
	covered := none // the last message whose results were judged from their calls
	for i := range r.Messages {
		m := &r.Messages[i]
		calls := 0
		for j := range m.Parts {
			if part := &m.Parts[j]; part.Kind == wire.Call && m.Role == wire.RoleAssistant {
				calls++
				if !s.claimID(rules, part, o) {
					return false
				}
			}
		}
		if calls == 0 {
			if i > covered && hasResult(m) || m.EmptyCalls() {
				return false // results of no call, or not in the place for them
			}
			continue
		}
		if calls > manyCalls || !isAnswered(r, i, calls) {
			return false
		}
		if covered = i + 1; rules.Results == wire.ResultsBehind {
			covered = i + calls
		}
	}
	if rules.UserFirst {
		i := firstNonSystem(r)
		return i == len(r.Messages) || r.Messages[i].Role != wire.RoleAssistant || r.Bypass.Partial()
	}
	return true
}

// claimID reports whether a call may keep its id. It records ids that must be unique.
func (s *scratch) claimID(rules *wire.Rules, part *wire.Part, o Options) bool {
	if badID(rules, part.CallID, o) {
		return false
	}
	if !rules.UniqueIDs && !o.UniqueIDs {
		return true // compared within the message
	}
	if s.ids[part.CallID] != 0 {
		return false
	}
	s.ids[part.CallID] = called
	return true
}

// isAnswered reports whether the calls of message i, of which there are so many, have their results where the dialect wants them. Calls of
// the last message need none.
func isAnswered(r *wire.Request, i, calls int) bool {
	m, rules := &r.Messages[i], r.Dialect.Rules()
	if hasResult(m) || rules.CallsBehindUser && callsWithoutUser(r, i) {
		return false
	}
	if i == len(r.Messages)-1 {
		return hasDistinctIDs(m) // the open last turn
	}
	switch rules.Results {
	case wire.ResultsBehind:
		return followedByTools(r, i, calls)
	case wire.ResultsFirst:
		return beginsWithResults(m, &r.Messages[i+1], calls)
	}
	return hasResponses(m, &r.Messages[i+1], calls)
}

// hasResult reports whether a message has a result.
func hasResult(m *wire.Message) bool {
	for j := range m.Parts {
		if m.Parts[j].Kind == wire.Result {
			return true
		}
	}
	return false
}

// hasDistinctIDs reports whether no two calls of a message have the same id. Calls without an id do not count.
func hasDistinctIDs(m *wire.Message) bool {
	for j := range m.Parts {
		id := m.Parts[j].CallID
		if m.Parts[j].Kind != wire.Call || id == "" {
			continue
		}
		if _, ok := findCall(m, id); !ok {
			return false
		}
	}
	return true
}

// findCall returns the tool's name of the call in m with that id; ok is false unless exactly one call has it.
func findCall(m *wire.Message, id string) (name string, ok bool) {
	n := 0
	for j := range m.Parts {
		if part := &m.Parts[j]; part.Kind == wire.Call && part.CallID == id {
			n, name = n+1, part.Name
		}
	}
	return name, n == 1
}

// followedByTools reports whether message i is followed by exactly one tool message for each of its calls, and no others.
func followedByTools(r *wire.Request, i, calls int) bool {
	n := 0
	for ; i+1+n < len(r.Messages) && r.Messages[i+1+n].Role == wire.RoleTool; n++ {
		parts := r.Messages[i+1+n].Parts
		if n == calls || len(parts) != 1 {
			return false
		}
		if _, ok := findCall(&r.Messages[i], parts[0].CallID); !ok {
			return false
		}
		for k := range n {
			if r.Messages[i+1+k].Parts[0].CallID == parts[0].CallID {
				return false
			}
		}
	}
	return n == calls
}

// beginsWithResults reports whether the next message begins with exactly one result for each of the calls of m.
func beginsWithResults(m, next *wire.Message, calls int) bool {
	if next.Role != wire.RoleUser || len(next.Parts) < calls {
		return false
	}
	for j := range next.Parts {
		part := &next.Parts[j]
		if (part.Kind == wire.Result) != (j < calls) {
			return false
		}
		if j >= calls {
			continue
		}
		if _, ok := findCall(m, part.CallID); !ok {
			return false
		}
		for k := range j {
			if next.Parts[k].CallID == part.CallID {
				return false
			}
		}
	}
	return true
}

// hasResponses reports whether the next content has exactly one response for each call of m: by id, or by order and name.
func hasResponses(m, next *wire.Message, calls int) bool {
	if next.Role == wire.RoleAssistant || !hasDistinctIDs(m) {
		return false
	}
	n, byID, byName, at := 0, true, true, 0
	for j := range next.Parts {
		part := &next.Parts[j]
		if part.Kind != wire.Result {
			continue
		}
		if n++; n > calls {
			return false
		}
		name, ok := findCall(m, part.CallID)
		byID = byID && ok && part.CallID != "" && name == part.Name && !repeatsEarlier(next, j)
		for at < len(m.Parts) && m.Parts[at].Kind != wire.Call {
			at++
		}
		// An id that another call has would pair with that one.
		byName = byName && m.Parts[at].Name == part.Name && (!ok || part.CallID == m.Parts[at].CallID)
		at++
	}
	return n == calls && (byID || byName)
}

// repeatsEarlier reports whether an earlier result in m has the same id as part j.
func repeatsEarlier(m *wire.Message, j int) bool {
	for k := range j {
		if m.Parts[k].Kind == wire.Result && m.Parts[k].CallID == m.Parts[j].CallID {
			return true
		}
	}
	return false
}

// itemsInOrder reports whether the calls of a Responses input have outputs and its reasoning is followed by an item of the model. For rare
// kinds of calls it returns false, and the full check decides.
func (s *scratch) itemsInOrder(r *wire.Request, o Options) bool {
	owing, thinking := 0, false
	tail := len(r.Messages) // the open last turn begins here
	for tail > 0 && r.Messages[tail-1].Role == wire.RoleAssistant {
		tail--
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if thinking && !isReasoning(m) && !mayFollowReasoning(m) {
			return false
		}
		thinking = isReasoning(m)
		for j := range m.Parts {
			part := &m.Parts[j]
			switch {
			case part.Kind == wire.Call && m.Role == wire.RoleAssistant:
				if was := s.ids[part.CallID]; was == called || o.UniqueIDs && was != 0 || badID(r.Dialect.Rules(), part.CallID, o) || part.Type != "function_call" && part.Type != "custom_tool_call" {
					return false // rare kinds are for the walk to judge
				}
				s.ids[part.CallID] = called
				if i < tail {
					owing++
				}
			case part.Kind == wire.Result:
				if s.ids[part.CallID] != called || part.Type != "function_call_output" && part.Type != "custom_tool_call_output" || !s.fitsCall(r, i, part) {
					return false
				}
				s.ids[part.CallID] = answered
				owing--
			}
		}
	}
	return owing == 0
}

// fitsCall reports whether the output in message i is of the type of its call. It looks back over manyCalls messages; if the call is
// further away, it returns false, and the full check decides.
func (s *scratch) fitsCall(r *wire.Request, i int, part *wire.Part) bool {
	for k := i - 1; k >= max(0, i-manyCalls); k-- {
		for j := range r.Messages[k].Parts {
			if c := &r.Messages[k].Parts[j]; c.Kind == wire.Call && c.CallID == part.CallID {
				return fitsType(part.Type, c.Type)
			}
		}
	}
	return false
}

// placeInOrder puts results into the content right after their calls (Gemini): as many as there are calls and in the same order, because
// without ids the order alone pairs them.
func (p *pairing) placeInOrder() {
	p.applyIDs()
	kept := make([]bool, len(p.results))
	for calls := range p.groups {
		host := calls[0].msg + 1
		var present []int // results of these calls in the content behind, by call
		if host < len(p.r.Messages) && p.r.Messages[host].Role != wire.RoleAssistant {
			for _, c := range calls {
				if c.result != none && p.results[c.result].msg == host {
					present = append(present, c.result)
				}
			}
		}
		if len(present) == 0 {
			var put [][]byte
			for _, c := range calls {
				put = append(put, p.resultFor(c))
			}
			p.draft.InsertMessages(host, joinMessage(`{"role":"user","parts":[`, put))
			continue
		}
		if p.areInOrder(present) || len(present) == len(calls) && p.allNamed(calls) {
			for _, s := range present {
				kept[s] = true
			}
		}
		p.insertMissing(host, calls, kept)
	}
	p.repairServed()
	p.keepOrDrop(kept)
}

// areInOrder reports whether results of one content, given in the order of their calls, also stand in that order.
func (p *pairing) areInOrder(results []int) bool {
	for i := 1; i < len(results); i++ {
		if p.results[results[i]].part < p.results[results[i-1]].part {
			return false
		}
	}
	return true
}

// allNamed reports whether every call has a result with the call's id, so that their order does not matter.
func (p *pairing) allNamed(calls []*call) bool {
	for _, c := range calls {
		if c.id == "" || c.result == none || p.resultPart(&p.results[c.result]).CallID != c.id {
			return false
		}
	}
	return true
}

// insertMissing inserts into message host the results that calls lack, each before the next result that stays, else after the last. So the
// order is right whatever other results are dropped.
func (p *pairing) insertMissing(host int, calls []*call, kept []bool) {
	end := p.firstResult(host)
	places := make([]int, len(calls))
	next := none
	for i := len(calls) - 1; i >= 0; i-- {
		places[i] = next
		if s := calls[i].result; s != none && kept[s] {
			next = p.results[s].part
			end = max(end, next+1)
		}
	}
	for i, c := range calls {
		if c.result != none && kept[c.result] {
			continue
		}
		if places[i] == none {
			places[i] = end
		}
		p.draft.InsertPart(host, places[i], p.resultFor(c))
	}
}

// firstResult returns the index of the first result in a message, or the number of its parts.
func (p *pairing) firstResult(msg int) int {
	parts := p.r.Messages[msg].Parts
	for j := range parts {
		if parts[j].Kind == wire.Result {
			return j
		}
	}
	return len(parts)
}
