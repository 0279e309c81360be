package wire

import "sort"

// Unit is the smallest group of messages that may be cut as a whole: a call, its results
// and its reasoning travel together. Units are contiguous and cover all messages.
type Unit struct {
	From, To int // the messages [From,To)
	// Pending is the number of calls in it that have no result.
	Pending int
	// Open marks the last unit: the model is about to go on from it.
	Open bool
}

// Units returns the messages in units. Results are matched to the newest call with their id, so reused ids pair with their own call; a
// result that comes late, with other messages in between, joins all of them into one unit. Where there are no ids, results belong to the
// calls right before them. In Responses all that a model made in one go, between two inputs of others, is one unit: a reasoning item is
// refused without its next item, and an item without its reasoning. What closes a pair ([End]) joins what opened it, and a call that a
// script at the provider made joins the script, wherever they stand.
func (r *Request) Units() []Unit {
	units := make([]Unit, 0, len(r.Messages))
	calls := map[string]int{} // id → message, of calls without a result so far
	var opened map[string]int // id → message, of parts that open a pair
	var (
		model    bool // the last unit began with what the model made
		answered bool // and has results already
	)
	for i := range r.Messages {
		m := &r.Messages[i]
		last := len(units) - 1
		into := last + 1 // the unit this message joins
		results, found := 0, 0
		for j := range m.Parts {
			p := &m.Parts[j]
			switch {
			case p.Kind == Result:
				results++
				if at, ok := calls[p.CallID]; ok && p.CallID != "" {
					into = min(into, unitOf(units, at))
					found++
					delete(calls, p.CallID)
				}
			case p.End == Opens:
				if opened == nil {
					opened = map[string]int{}
				}
				opened[p.CallID] = i
			case opened != nil && (p.End == Closes || p.Kind == Call):
				id := p.CallID
				if p.Kind == Call {
					id = r.CallerID(p)
				}
				if at, ok := opened[id]; ok && at < i {
					into = min(into, unitOf(units, at))
				}
			}
		}
		switch {
		case results > 0:
			if model && found < results {
				into = min(into, last)
			}
		case m.Role == RoleOther:
			if model {
				into = min(into, last)
			}
		case m.Role == RoleAssistant && r.Dialect.Rules().Items:
			if model && !answered {
				into = min(into, last)
			}
		}
		if into > last {
			units = append(units, Unit{From: i})
			model, answered = m.Role == RoleAssistant, false
		} else if into < last {
			for _, u := range units[into+1:] {
				units[into].Pending += u.Pending
			}
			units = units[:into+1]
			model = true
		}
		u := &units[into]
		u.To = i + 1
		u.Pending = max(0, u.Pending-results)
		answered = answered || results > 0
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Kind == Call {
				u.Pending++
				if p.CallID != "" {
					calls[p.CallID] = i
				}
			}
		}
	}
	if n := len(units); n > 0 {
		units[n-1].Open = true
	}
	return units
}

// unitOf returns the index of the unit that contains the message with this index, or len(units) if the message lies behind all of them.
func unitOf(units []Unit, message int) int {
	return sort.Search(len(units), func(k int) bool { return units[k].To > message })
}
