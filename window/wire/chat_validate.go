package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// chat checks a Chat Completions body: every call of an assistant message is answered by one tool message, and nothing but those stands
// between. An id may be used again by a later message: the pairing is local.
func (c *checker) chat(top object) {
	list, ok := c.array("messages", top["messages"])
	if !ok {
		return
	}
	if len(list) == 0 {
		c.add(RuleEmptyHistory, "messages", "", "")
		return
	}
	var open group
	seen := map[string]bool{}
	for i, raw := range list {
		place := joinPath("messages", i)
		m, ok := c.object(place, raw)
		if !ok {
			continue
		}
		role, _ := m.text("role")
		if role == "tool" {
			c.chatResult(place, m, &open, seen)
			continue
		}
		c.orphans(open.place, open.unanswered(), "")
		open = group{place: place}
		switch role {
		case "assistant":
			c.checkAssistant(place, m, &open, seen)
		case "system", "developer", "user", "function":
			if !m.has("content") {
				c.add(RuleContentNull, joinPath(place, "content"), "", role)
			}
			c.chatContent(place, m)
		default:
			c.add(RuleRole, joinPath(place, "role"), "", role)
		}
	}
	c.orphans(open.place, open.unanswered(), "")
}

// chatContent reports an empty content, and parts without a type. A string, null or no content is fine here.
func (c *checker) chatContent(place string, m object) {
	if !m.has("content") {
		return
	}
	if m.isText("content") {
		return
	}
	parts, ok := c.array(joinPath(place, "content"), m["content"])
	if ok && len(parts) == 0 {
		c.add(RuleEmptyContent, joinPath(place, "content"), "", "")
	}
	for k, raw := range parts {
		part, ok := c.object(joinPath(place, "content", k), raw)
		if !ok {
			continue
		}
		if !part.isText("type") {
			c.add(RuleShape, joinPath(place, "content", k, "type"), "", "required")
		}
	}
}

// chatResult checks a tool message: it needs a content, and must answer an open call of the assistant message before it.
func (c *checker) chatResult(place string, m object, open *group, seen map[string]bool) {
	c.chatContent(place, m)
	if !m.has("content") {
		c.add(RuleContentNull, joinPath(place, "content"), "", "tool")
	}
	id, ok := m.text("tool_call_id")
	switch {
	case !ok:
		c.add(RuleShape, joinPath(place, "tool_call_id"), "", "required")
	case open.answered[id]:
		c.add(RuleDuplicateResult, place, id, "")
	case open.has(id):
		open.answer(id)
	case seen[id]:
		c.add(RuleAdjacency, place, id, "")
	default:
		c.add(RuleOrphanResult, place, id, "")
	}
}

// checkAssistant checks an assistant message: it needs a content or calls, and each call an id of its own. It opens its calls in open and
// adds their ids to seen.
func (c *checker) checkAssistant(place string, m object, open *group, seen map[string]bool) {
	c.chatContent(place, m)
	if !m.has("tool_calls") {
		if !m.has("content") && !m.has("function_call") && !m.has("refusal") && !m.has("audio") {
			c.add(RuleContentNull, joinPath(place, "content"), "", "assistant")
		}
		return
	}
	calls, ok := c.array(joinPath(place, "tool_calls"), m["tool_calls"])
	if !ok {
		return
	}
	if len(calls) == 0 {
		c.add(RuleEmptyCalls, joinPath(place, "tool_calls"), "", "")
	}
	for k, raw := range calls {
		here := joinPath(place, "tool_calls", k)
		call, ok := c.object(here, raw)
		if !ok {
			continue
		}
		id, ok := call.text("id")
		if !ok || id == "" {
			c.add(RuleShape, joinPath(here, "id"), "", "required")
			continue
		}
		if open.has(id) {
			c.add(RuleDuplicateCall, here, id, "")
		}
		open.openCall(id)
		seen[id] = true
		c.chatCall(here, id, call)
	}
}

// chatCall checks the type, the name and the arguments of a call.
func (c *checker) chatCall(place, id string, call object) {
	kind, _ := call.text("type")
	body, argument := "function", "arguments"
	switch kind {
	case "function":
	case "custom":
		body, argument = "custom", "input"
	default:
		c.add(RuleShape, joinPath(place, "type"), id, "required")
		return
	}
	f, ok := c.object(joinPath(place, body), call[body])
	if !ok {
		return
	}
	if name, ok := f.text("name"); !ok || name == "" {
		c.add(RuleShape, joinPath(place, body, "name"), id, "required")
	}
	switch {
	case !f.isText(argument):
		c.add(RuleShape, joinPath(place, body, argument), id, "not a string")
	case body == "function":
		c.arguments(joinPath(place, body, argument), id, f[argument])
	}
}

// A group is the calls of one message and those of them that have been answered.
type group struct {
	place    string
	calls    []string
	open     map[string]bool
	answered map[string]bool
}

func (g *group) has(id string) bool { return g.open[id] }

// openCall records a call of the assistant whose result must follow.
func (g *group) openCall(id string) {
	if g.open == nil {
		g.open, g.answered = map[string]bool{}, map[string]bool{}
	}
	if !g.open[id] {
		g.calls = append(g.calls, id)
	}
	g.open[id] = true
}

func (g *group) answer(id string) { g.answered[id] = true }

// unanswered returns the ids of the calls that have no result, in the order of the calls.
func (g *group) unanswered() []string {
	var ids []string
	for _, id := range g.calls {
		if !g.answered[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

var chatRules = &Rules{
	Name:  "chat",
	Route: Route{Path: "chat/completions", Deployment: true},

	StringContent: true, KeepsString: true,
	CallHolder:    func(call *Part) string { return call.Type },
	TextArguments: "function",
	OpenAI:        true,

	Results:    ResultsBehind,
	PrefixFlag: "prefix", // Mistral's way to say that a last message of the model's is meant
	NameBytes:  64,

	BlankReasoning: blankMember,
	Bound: func(*Request) func(*Message, *Part) bool {
		return func(m *Message, _ *Part) bool { return m.hasSealed() }
	},

	// Three tokens begin the answer in OpenAI's chat format; the newer models add a few for their own settings, and a preamble about tools.
	Price: Price{
		Request: Range{3, 3, 16}, Model: Range{0, 8, 64}, Tools: Range{8, 12, 160},
		Message: Range{1, 4, 10}, Own: Range{3, 4, 6}, // three and the role, one more with a name
		Tool: Range{35, 70, 110},
	},
	SharedWindow: true,

	Error: openAIFailure,
	TooLong: func(tokens, limit int) string {
		return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", limit, tokens)
	},
	StreamError: dataEvent,

	list: "messages", content: "content",
	member: (*parser).chatMember, element: (*parser).chatMessage, check: (*checker).chat, words: (*Invalid).chatText,
	textType: plainTextType, textMessage: contentMessage, textElement: plainText, resultElement: toolMessage,
	takesText: anyText, putResult: contentResult, isCall: isCallElement,
	pulse: pulseRules{reasons: saysReasoning},
}

// blankMember gives a message a reasoning_content: what it has as reasoning under another name, else a space. DeepSeek V4 Pro takes "" for
// none (hermes-agent#17341), and wants it in answers without calls too (hermes-agent#15228).
func blankMember(d *Draft, msg int) bool {
	span := d.r.Messages[msg].Span
	raw := d.r.Raw(span)
	if words, _ := rawjson.Text(raw, "reasoning_content"); words != "" {
		return false
	}
	with := []byte(`" "`)
	if words, _ := rawjson.Text(raw, "reasoning"); words != "" {
		with = rawjson.Get(raw, "reasoning").Of(raw)
	}
	d.SetMember(span, "reasoning_content", with)
	return true
}

// toolMessage appends the message with the result of a call.
func toolMessage(out []byte, call Part, text string, _ bool) []byte {
	out = Quote(append(out, `{"role":"tool","tool_call_id":`...), call.CallID)
	return append(Quote(append(out, `,"content":`...), text), '}')
}

// isCallElement reports whether an element belongs into tool_calls.
func isCallElement(raw []byte) bool {
	for _, m := range membersOf(raw, Span{Start: 0, End: len(raw)}) {
		if m.name == "type" {
			kind := string(raw[m.value.Start:m.value.End])
			return kind == `"function"` || kind == `"custom"`
		}
	}
	return false
}

// hasSealed reports whether a message has reasoning sealed by a provider.
func (m *Message) hasSealed() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool {
		return p.Kind == Reasoning && (p.Type == "reasoning_details" || p.Type == "thinking_blocks")
	})
}

// chatText returns the finding in the words of OpenAI's Chat Completions.
func (i *Invalid) chatText() string {
	switch i.Rule {
	case RuleOrphanCall:
		return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
			"The following tool_call_ids did not have response messages: " + strings.Join(i.ids(), ", ")
	case RuleOrphanResult, RuleAdjacency, RuleDuplicateResult:
		// The spelling is the provider's.
		return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
	case RuleDuplicateCall:
		return "Invalid parameter: duplicate tool_call_id '" + i.ID + "' in 'tool_calls'."
	case RuleEmptyCalls, RuleEmptyHistory, RuleEmptyContent:
		return fmt.Sprintf("Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", brackets(i.Place))
	case RuleContentNull:
		return fmt.Sprintf("Invalid value for 'content': expected a string, got null. (%s)", brackets(i.Place))
	case RuleRole:
		return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (%s)", i.Detail, brackets(i.Place))
	case RuleArguments:
		return fmt.Sprintf("Invalid request: %s: arguments must be a valid JSON object string", i.Place) // no words of OpenAI's own are known
	case RuleJSON:
		return "We could not parse the JSON body of your request."
	}
	return fmt.Sprintf("Invalid type for '%s': %s.", brackets(i.Place), i.Detail)
}
