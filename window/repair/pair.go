package repair

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// none stands for no call, no result.
const none = -1

// A call is one call in the request.
type call struct {
	msg, part int
	group     int // calls of one group were made at once
	result    int // index in results, or none
	id        string
	newID     string // "" keeps it
	drop      bool
}

// A result is one result in the request.
type result struct {
	msg, part int
	call      int // index in calls, or none
	// second is the index of the call that it would belong to if that had no result yet, or none.
	second    int
	added     bool // its words are in that other result now
	elsewhere bool // its call may be kept by the provider: it is left alone
}

// A pairing matches the results of a request with its calls.
type pairing struct {
	r       *wire.Request
	rules   *wire.Rules
	calls   []call
	results []result
	// open is the group of the open last turn, none when there is none.
	open    int
	frozen  int             // number of the first messages that were sent before
	asked   map[string]bool // all ids of calls, in dialects that pair by name too
	told    map[string]bool // and all ids of results
	count   map[string]int  // number of calls by id
	joined  map[int]string  // by result: its text with those of its second results
	run     [2]int          // the calls that were made together, of whom was last asked
	draft   *wire.Draft
	actions []Action
	// What stands before the edge, a part of a message, is compacted: it is left alone (see [wire.Request.Edge]).
	edge, edgePart int
	covered        map[string]bool // ids of calls before it
}

// pair returns the pairing of a history, in which each result is matched with a call.
func pair(r *wire.Request) *pairing {
	p := &pairing{r: r, rules: r.Dialect.Rules(), open: none}
	byID, byName := index{}, index{}
	seen, newest := map[string]int{}, map[string]int{} // calls by id so far, and the last
	if p.rules.ByName {
		p.collectIDs()
	}
	group, fresh := none, true
	p.edge, p.edgePart = r.Edge()
	for i := range r.Messages {
		m := &r.Messages[i]
		if !p.rules.Items || m.Role != wire.RoleAssistant {
			fresh = true
		}
		for j := range m.Parts {
			part := &m.Parts[j]
			switch {
			case p.compacted(i, j):
				p.addCovered(part)
			case part.Kind == wire.Result:
				res := result{msg: i, part: j, call: p.findCall(part, byID, byName), second: none}
				if res.call != none {
					p.calls[res.call].result = len(p.results)
				} else if k, ok := newest[part.CallID]; ok && part.CallID != "" {
					res.second = k
				}
				p.results = append(p.results, res)
			case part.Kind == wire.Call && m.Role == wire.RoleAssistant:
				if fresh {
					group, fresh = group+1, false
				}
				k := len(p.calls)
				p.calls = append(p.calls, call{msg: i, part: j, group: group, result: none, id: part.CallID})
				if part.CallID != "" || !p.rules.ByName {
					byID.push(part.CallID, k, group)
				}
				if p.rules.ByName {
					byName.push(part.Name, k, group)
				}
				seen[part.CallID]++
				newest[part.CallID] = k
			}
		}
	}
	p.findOpen()
	p.matchEarly(seen)
	p.count = seen
	for s := range p.results {
		res := &p.results[s]
		res.elsewhere = res.call == none && res.second == none && p.callElsewhere(res)
	}
	return p
}

// compacted reports whether a part stands before the edge, and so is left alone.
func (p *pairing) compacted(msg, part int) bool {
	return msg < p.edge || msg == p.edge && part < p.edgePart
}

// addCovered records the id of a call that stands before the provider's compaction.
func (p *pairing) addCovered(part *wire.Part) {
	if part.Kind != wire.Call || part.CallID == "" {
		return
	}
	if p.covered == nil {
		p.covered = map[string]bool{}
	}
	p.covered[part.CallID] = true
}

// callElsewhere reports whether the provider may have the missing call of a result, so that the result must stay: in a stored or cached
// part of the conversation, or before a compaction of Responses if the result follows that directly. Compactions of Messages are texts and
// hold no calls.
func (p *pairing) callElsewhere(res *result) bool {
	switch p.rules.Results {
	case wire.ResultsInOrder: // they stand right behind their calls, so only the first can have them in a cache
		return p.r.Bypass.Partial() && res.msg == 0
	case wire.ResultsAnywhere:
	default:
		return false
	}
	if p.r.Bypass&(wire.Stored|wire.Referenced) != 0 || p.covered[p.resultPart(res).CallID] {
		return true
	}
	for i := p.edge + 1; i < res.msg; i++ {
		if !hasResult(&p.r.Messages[i]) {
			return false
		}
	}
	return p.edgePart > 0
}

// partOf returns the part of the request that is the call.
func (p *pairing) partOf(c *call) *wire.Part { return &p.r.Messages[c.msg].Parts[c.part] }

// resultPart returns the part of the request that is the result.
func (p *pairing) resultPart(s *result) *wire.Part { return &p.r.Messages[s.msg].Parts[s.part] }

// collectIDs records all ids of calls and of results, for dialects in which ids may be absent. A call and a result with the same id belong
// together, wherever they stand.
func (p *pairing) collectIDs() {
	p.asked, p.told = map[string]bool{}, map[string]bool{}
	for i := range p.r.Messages {
		for j := range p.r.Messages[i].Parts {
			switch part := &p.r.Messages[i].Parts[j]; {
			case part.CallID == "":
			case part.Kind == wire.Call:
				p.asked[part.CallID] = true
			case part.Kind == wire.Result:
				p.told[part.CallID] = true
			}
		}
	}
}

// findCall returns the index in calls of the earlier call that a result answers; none if there is none.
func (p *pairing) findCall(part *wire.Part, byID, byName index) int {
	answered := func(k int) bool { return p.calls[k].result != none }
	if p.rules.ByName && !p.asked[part.CallID] {
		return byName.top(part.Name, func(k int) bool { return answered(k) || p.told[p.calls[k].id] })
	}
	if k := byID.top(part.CallID, answered); k != none && p.mayAnswer(part, &p.calls[k]) {
		return k
	}
	return none
}

// mayAnswer reports whether a result with the id of a call may answer it, by its type or name.
func (p *pairing) mayAnswer(part *wire.Part, c *call) bool {
	switch {
	case p.rules.Items:
		return fitsType(part.Type, p.partOf(c).Type)
	case p.rules.ByName:
		return part.Name == p.partOf(c).Name
	}
	return true
}

// findOpen sets open to the group of calls that the client is about to answer: those of the last message, if none of their turn has a
// result yet.
func (p *pairing) findOpen() {
	if len(p.calls) == 0 {
		return
	}
	last := p.calls[len(p.calls)-1]
	for i := last.msg + 1; i < len(p.r.Messages); i++ {
		if !p.rules.Items || p.r.Messages[i].Role != wire.RoleAssistant {
			return
		}
	}
	for k := len(p.calls) - 1; k >= 0 && p.calls[k].group == last.group; k-- {
		if p.calls[k].result != none {
			return
		}
	}
	p.open = last.group
}

// matchEarly matches results that stand before their calls, if only one call has the id. seen has the number of calls by id.
func (p *pairing) matchEarly(seen map[string]int) {
	only := map[string]int{}
	for k := range p.calls {
		if c := &p.calls[k]; c.result == none && c.group != p.open && c.id != "" && seen[c.id] == 1 {
			only[c.id] = k
		}
	}
	for s := range p.results {
		res := &p.results[s]
		part := p.resultPart(res)
		if k, ok := only[part.CallID]; ok && res.call == none {
			c := &p.calls[k]
			switch {
			case c.result != none:
				res.second = k
			case p.mayAnswer(part, c):
				c.result, res.call = s, k
			}
		}
	}
}

// An index finds the newest open call by a key, an id or a name. Calls of one group are found in their order.
type index map[string]*[]queue

type queue struct {
	group int
	calls []int
}

// push adds call k, of a group of calls made together, to the calls with a key.
func (x index) push(key string, k, group int) {
	stack := x[key]
	if stack == nil {
		stack = new([]queue)
		x[key] = stack
	}
	if n := len(*stack); n > 0 && (*stack)[n-1].group == group {
		(*stack)[n-1].calls = append((*stack)[n-1].calls, k)
		return
	}
	*stack = append(*stack, queue{group: group, calls: []int{k}})
}

// top returns the call that a result with a key answers: the first open one of the newest group; none if there is none. It removes answered
// calls on the way, so that each is looked at only once.
func (x index) top(key string, answered func(int) bool) int {
	stack := x[key]
	if stack == nil {
		return none
	}
	for n := len(*stack); n > 0; n = len(*stack) {
		q := &(*stack)[n-1]
		for len(q.calls) > 0 && answered(q.calls[0]) {
			q.calls = q.calls[1:]
		}
		if len(q.calls) > 0 {
			return q.calls[0]
		}
		*stack = (*stack)[:n-1]
	}
	return none
}

// fitsType reports whether an output item of Responses may answer a call of type kind.
func fitsType(output, kind string) bool {
	switch output {
	case "function_call_output":
		return kind == "function_call" || kind == "local_shell_call"
	case "local_shell_call_output":
		return kind == "local_shell_call"
	case "tool_search_output":
		return kind == "tool_search_call"
	}
	return output == kind+"_output"
}

// owesOutput reports whether the client must answer a call of Responses. Other calls run at the provider and may have an output.
func owesOutput(r *wire.Request, part *wire.Part) bool {
	switch part.Type {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return true
	case "tool_search_call":
		var item struct{ Execution string }
		return json.Unmarshal(r.Raw(part.Span), &item) == nil && item.Execution == "client"
	}
	return false
}

// placeAnywhere gives every call of Responses an output somewhere after it. An output that is after its call already stays where it is.
func (p *pairing) placeAnywhere() {
	p.applyIDs()
	kept := make([]bool, len(p.results))
	gone := map[int]bool{} // items that leave
	for _, i := range p.repairServed() {
		gone[i] = true
	}
	for k := range p.calls {
		c := &p.calls[k]
		switch {
		case c.drop:
			gone[c.msg] = true
		case c.result != none && p.results[c.result].msg > c.msg:
			kept[c.result] = true
		case c.result != none:
			p.draft.InsertMessages(p.endOfCalls(c.msg), p.resultFor(c))
		case c.group == p.open || !owesOutput(p.r, p.partOf(c)):
		default:
			if raw := p.noteFor(c); raw != nil {
				p.draft.InsertMessages(p.endOfCalls(c.msg), raw)
				continue
			}
			gone[c.msg] = true
			p.draft.DropMessages(c.msg, c.msg+1)
			p.addAction(Dropped, c.msg, c.id, p.partOf(c).Span.Len())
		}
	}
	for s := range p.results {
		gone[p.results[s].msg] = gone[p.results[s].msg] || !kept[s] && !p.results[s].elsewhere
	}
	p.keepOrDrop(kept)
	p.dropReasoning(gone)
}

// dropReasoning drops reasoning items that are not followed by an item of the model. gone holds the messages that are dropped already.
// Reasoning at the very end stays, because the turn is open.
func (p *pairing) dropReasoning(gone map[int]bool) {
	follows := true // what comes next is the model's, or the end
	for i := len(p.r.Messages) - 1; i >= p.edge; i-- {
		if gone[i] {
			continue
		}
		if m := &p.r.Messages[i]; isReasoning(m) {
			if !follows {
				p.draft.DropMessages(i, i+1)
				p.addAction(Reasoning, i, "", m.Span.Len())
			}
			continue // those before it share its fate
		}
		follows = mayFollowReasoning(&p.r.Messages[i])
	}
}

// isReasoning reports whether a message is a reasoning item of Responses.
func isReasoning(m *wire.Message) bool {
	return len(m.Parts) == 1 && m.Parts[0].Kind == wire.Reasoning && m.Parts[0].Type == "reasoning"
}

// mayFollowReasoning reports whether an item may follow a reasoning item: the model made it, or the provider for the model.
func mayFollowReasoning(m *wire.Message) bool {
	switch m.Role {
	case wire.RoleAssistant:
		return true
	case wire.RoleUser, wire.RoleSystem:
		return false
	}
	if len(m.Parts) != 1 {
		return true
	}
	switch m.Parts[0].Type {
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output",
		"apply_patch_call_output", "computer_call_output", "mcp_approval_response":
		return false
	}
	return true
}

// joinSecond appends the words of a second result to those of the first, if they differ: a client may have noted "running" first and the
// outcome later, and a provider takes one result only. Results with media, or as lists or objects, are not joined, nor is anything if
// several calls have the id.
func (p *pairing) joinSecond() {
	said := map[int]map[string]bool{} // by result: the texts that are in it
	for s := range p.results {
		double := &p.results[s]
		if double.second == none || p.count[p.calls[double.second].id] != 1 {
			continue
		}
		first := p.calls[double.second].result
		if first == none || !p.isString(&p.results[first]) {
			continue
		}
		if said[first] == nil {
			words, _ := p.resultText(&p.results[first])
			said[first] = map[string]bool{words: true}
			if p.joined == nil {
				p.joined = map[int]string{}
			}
		}
		words, ok := p.resultText(double)
		if !ok || said[first][words] || strings.TrimSpace(words) == "" {
			continue
		}
		said[first][words] = true
		text, begun := p.joined[first]
		if !begun {
			text, _ = p.resultText(&p.results[first])
		}
		p.joined[first] = text + "\n" + words
		double.added = true
	}
}

// isString reports whether a result is a single string, or, in a dialect without strings, a single text block.
func (p *pairing) isString(s *result) bool {
	part := p.resultPart(s)
	switch {
	case part.Content.IsZero() || len(part.Texts) != 1:
		return false
	case p.rules.StringContent:
		return p.r.Body[part.Content.Start] == '"'
	case p.rules.ObjectResults:
		return false
	}
	blocks, content := 0, p.r.Raw(part.Content)
	for at, err := range rawjson.Elements(content, 0) {
		if blocks++; err != nil || blocks > 1 || rawjson.Get(at.Of(content), "text").IsZero() {
			return false
		}
	}
	return blocks == 1
}

// resultText returns the texts of a result; false if it also contains media or other JSON.
func (p *pairing) resultText(s *result) (string, bool) {
	part := p.resultPart(s)
	if len(part.Media) > 0 || !part.Raw.IsZero() {
		return "", false
	}
	return p.r.Words(part), true
}
