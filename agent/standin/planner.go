package standin

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// maxCalls bounds the calls of one step.
	maxCalls = maxTools
	// shownWhole is the number of items up to which all are shown at once, and shownRows the number shown of more.
	shownWhole = 50
	shownRows  = 20
	// maxPolls bounds how often one job is asked after.
	maxPolls = 1000
)

// madeCall is a call of this turn with its result.
type madeCall struct {
	call
	result string
	done   bool // there is a result
}

// turn is a question and what was done about it.
type turn struct {
	before   []message
	question string
	made     []madeCall
	said     string // words of the model behind all results
}

// planner goes by the words of the question and the tools that there are.
type planner struct {
	tools  []tool
	rules  []rule
	single bool
	loop   bool
}

// reply answers a request. While Options.Malformed lasts, it breaks the arguments of the last call.
func (s *Standin) reply(a *request) reply {
	p := planner{tools: a.tools, rules: rules(), single: a.single, loop: s.o.Loop}
	r := p.answer(a.messages)
	if n := len(r.calls); n > 0 && takeOne(&s.malformedLeft) {
		r.calls[n-1].arguments = strings.TrimSuffix(r.calls[n-1].arguments, "}") + `,"broken`
	}
	return r
}

// answer returns the next message of the model: the rest of a cut answer, calls of tools, a description of their results, a refusal to write a
// summary, or the help text.
func (p *planner) answer(ms []message) reply {
	if rest, ok := p.continueAnswer(ms); ok {
		return reply{text: rest}
	}
	t, ok := newestTurn(ms)
	if !ok {
		return reply{text: p.help()}
	}
	if len(p.tools) == 0 && len(t.made) == 0 && asksForSummary(ms) {
		return reply{refusal: "I cannot write a summary: " + Model + " is a stand-in and has no language model."}
	}
	planned := p.plan(&t)
	if len(planned.calls) == 0 && planned.text == "" && notice(t.question) { // a note to the model, not a question
		if earlier, ok := newestTurn(ms[:len(t.before)]); ok && len(earlier.made) > 0 {
			t, planned = earlier, p.plan(&earlier)
		}
	}
	if len(p.tools) > 0 {
		if next := p.remainingCalls(&t, planned); len(next) > 0 {
			if p.single {
				next = next[:1]
			}
			return reply{calls: next[:min(len(next), maxCalls)]}
		}
	}
	switch {
	case len(t.made) > 0:
		return reply{text: p.describeResults(&t, planned)}
	case planned.text != "":
		return reply{text: planned.text + signature}
	default:
		return reply{text: p.help()}
	}
}

// newestTurn returns the newest question of the user with the calls made since and their results; false if there is no question.
func newestTurn(ms []message) (turn, bool) {
	at := -1
	for i := range ms {
		if ms[i].role == wire.RoleUser {
			at = i
		}
	}
	if at < 0 {
		return turn{}, false
	}
	t := turn{before: ms[:at], question: ms[at].text}
	places := map[string]int{}
	for _, m := range ms[at+1:] {
		t.said = ""
		switch m.role {
		case wire.RoleAssistant:
			if len(m.calls) == 0 {
				t.said = m.text
			}
			for _, c := range m.calls {
				places[c.id] = len(t.made)
				t.made = append(t.made, madeCall{call: c})
			}
		case wire.RoleTool:
			if i, ok := places[m.callID]; ok {
				t.made[i].result, t.made[i].done = m.text, true
			}
		}
	}
	return t, true
}

// notice reports whether what stands in a user's place is about the steps and not a question.
func notice(text string) bool {
	lower := strings.ToLower(text[:min(len(text), 2<<10)])
	return slices.ContainsFunc([]string{"step", "tool", "repeat", "same call", "with what", "limit"}, func(w string) bool { return strings.Contains(lower, w) })
}

// asksForSummary reports whether the model is to write down a conversation for later, by the beginning of the system prompt.
func asksForSummary(ms []message) bool {
	if len(ms) == 0 || ms[0].role != wire.RoleSystem {
		return false
	}
	return strings.Contains(strings.ToLower(ms[0].text[:min(len(ms[0].text), 200)]), "summar")
}

// continueAnswer returns the rest of an answer that was cut at the output limit, if the newest message of the user asks to go on. It writes the whole
// answer again and removes the part that was sent; false if that part is not its beginning, or nothing is left.
func (p *planner) continueAnswer(ms []message) (string, bool) {
	end, part := len(ms), ""
	for end > 0 {
		m := ms[end-1]
		if m.role == wire.RoleUser && (end < 2 || !asksToContinue(m.text) || ms[end-2].role != wire.RoleAssistant) {
			break
		}
		if m.role == wire.RoleAssistant {
			if len(m.calls) > 0 || m.text == "" {
				break
			}
			part = m.text + part
		}
		if m.role != wire.RoleUser && m.role != wire.RoleAssistant {
			break
		}
		end--
	}
	if part == "" || end == 0 {
		return "", false
	}
	t, ok := newestTurn(ms[:end])
	if !ok {
		return "", false
	}
	planned := p.plan(&t)
	whole := planned.text + signature
	if len(t.made) > 0 {
		whole = p.describeResults(&t, planned)
	} else if planned.text == "" {
		whole = p.help()
	}
	rest, ok := strings.CutPrefix(whole, part)
	return rest, ok && rest != ""
}

func asksToContinue(text string) bool {
	if len(text) > 1<<10 {
		return false
	}
	lower := strings.ToLower(text)
	return slices.ContainsFunc([]string{"continue", "go on", "rest", "left off", "cut", "broke off", "carry on"}, func(w string) bool { return strings.Contains(lower, w) })
}

// plan is the planner's answer to a question: calls, or words where none is needed.
type plan struct {
	calls []call
	count bool // only how many are asked for
	whole bool // the question is a page of what was listed before
	text  string
	// search is set where nothing but a search comes of it.
	search bool
}

// remainingCalls returns the calls to make now: those of the plan that have not been made yet, or else those that follow from the results.
// In a demonstration of a loop it repeats calls.
func (p *planner) remainingCalls(t *turn, planned plan) []call {
	if p.loop && slices.Contains(stemsOf(t.question[:min(len(t.question), maxQuestion)]), "loop") {
		return p.loopCalls(t, planned)
	}
	done := map[[2]string]int{}
	for _, m := range t.made {
		done[key(m.call)]++
	}
	var left []call
	for _, c := range planned.calls {
		if k := key(c); done[k] > 0 {
			done[k]--
		} else if len(t.made) == 0 || p.single {
			left = append(left, c)
		}
	}
	if len(left) > 0 {
		return left
	}
	return p.followUps(t, planned)
}

// loopCalls returns the next call of a loop that the user asked for: the calls of the plan in turn, one at each step. If the question asks
// for variety, the text among the arguments is another one each time.
func (p *planner) loopCalls(t *turn, planned plan) []call {
	calls := planned.calls
	if len(calls) == 0 {
		for i := range p.tools {
			if !slices.ContainsFunc(p.tools[i].props, func(one prop) bool { return one.required }) && !p.tools[i].pager {
				calls = []call{{name: p.tools[i].name, arguments: "{}"}}
				break
			}
		}
	}
	if len(calls) == 0 {
		return nil
	}
	c := calls[len(t.made)%len(calls)]
	if lower := strings.ToLower(t.question); strings.Contains(lower, "differen") || strings.Contains(lower, "chang") || strings.Contains(lower, "vary") {
		var a arguments
		if one := p.findTool(c.name); one != nil && json.Unmarshal([]byte(c.arguments), &a) == nil {
			one.numberText(a, len(t.made))
			c.arguments = a.json()
		}
	}
	return []call{c}
}

// followUps returns the calls that follow from the results: the same call again while a job is not done, the whole of a short list, or a search for a
// name that a tool did not find; nil if none does.
func (p *planner) followUps(t *turn, planned plan) []call {
	if len(t.made) == 0 {
		return nil
	}
	last := t.made[len(t.made)-1]
	v, _, whole := readValue(last.result)
	if whole && v.equals("false", "done") && len(t.made) < maxPolls {
		return []call{last.call}
	}
	var more []call
	for _, m := range t.made[:min(len(t.made), len(planned.calls))] {
		one := p.findTool(m.name)
		if one == nil || planned.count || planned.whole {
			continue
		}
		v, _, _ := readValue(m.result)
		total, known := v.number("pagination", "total_items")
		size := one.prop("page_size")
		var a arguments
		if size == nil || !known || total > shownWhole || !v.equals("true", "pagination", "has_next") || json.Unmarshal([]byte(m.arguments), &a) != nil || a[size.name] != nil {
			continue
		}
		a[size.name] = total
		if c := (call{name: m.name, arguments: a.json()}); !t.contains(c) {
			more = append(more, c)
		}
	}
	if len(more) == 0 && len(planned.calls) == 1 && len(t.made) == 1 && failed(last.result) {
		return p.searchInstead(t, planned.calls[0])
	}
	return more
}

// searchInstead returns a search for the name that a tool did not know, nil if there is nothing to search with or that search was made
// already.
func (p *planner) searchInstead(t *turn, c call) []call {
	one, f := p.findTool(c.name), p.finder()
	var a arguments
	if one == nil || f == nil || one.lister || one.finder || one.pager || json.Unmarshal([]byte(c.arguments), &a) != nil {
		return nil
	}
	for _, prop := range one.props {
		if name, is := a[prop.name].(string); is && prop.required {
			if found := f.searchCall(regexp.QuoteMeta(name), ""); !t.contains(found) {
				return []call{found}
			}
		}
	}
	return nil
}

func (t *turn) contains(c call) bool {
	return slices.ContainsFunc(t.made, func(m madeCall) bool { return key(m.call) == key(c) })
}

// key returns the same for calls that are spelled differently and mean the same.
func key(c call) [2]string {
	var a arguments
	if json.Unmarshal([]byte(c.arguments), &a) == nil {
		c.arguments = a.json()
	}
	return [2]string{c.name, c.arguments}
}

// findTool returns the tool with a name, which may lack the server's name in front; nil if there is none.
func (p *planner) findTool(name string) *tool {
	for i := range p.tools {
		if t := &p.tools[i]; t.name == name || strings.HasSuffix(t.name, "__"+name) {
			return t
		}
	}
	return nil
}
