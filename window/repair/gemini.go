package repair

import "github.com/plimsoll/plimsoll/window/wire"

// inOrder puts results into the content right behind their calls: as many as there are calls, in their order, because without ids the order
// is all there is.
func (p *pairing) inOrder() {
	p.rename()
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
				put = append(put, p.brought(c))
			}
			p.draft.InsertMessages(host, joinElements(`{"role":"user","parts":[`, put))
			continue
		}
		if p.sameOrder(present) || len(present) == len(calls) && p.allNamed(calls) {
			for _, s := range present {
				kept[s] = true
			}
		}
		p.fill(host, calls, kept)
	}
	p.serve()
	p.settle(kept)
}

// sameOrder reports whether results stand in the order of their calls.
func (p *pairing) sameOrder(results []int) bool {
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

// fill inserts the results that are missing in the content host: each before the next result that stays, else behind the last, so that it
// does not matter which others leave.
func (p *pairing) fill(host int, calls []*call, kept []bool) {
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
		p.draft.InsertPart(host, places[i], p.brought(c))
	}
}

func (p *pairing) firstResult(msg int) int {
	parts := p.r.Messages[msg].Parts
	for j := range parts {
		if parts[j].Kind == wire.Result {
			return j
		}
	}
	return len(parts)
}
