package wire

import (
	"fmt"
	"slices"
	"strings"
)

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
