package wire

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

var responsesRules = &Rules{
	Name:  "responses",
	Route: Route{Path: "responses"},

	Items: true, StringContent: true,
	TextArguments: "function_call",
	NamedCalls:    []string{"function_call", "custom_tool_call"},
	OpenAI:        true,

	Results: ResultsAnywhere, Served: true,
	FreeEnd:       true,
	NameBytes:     128,
	ArgumentBytes: 1 << 20, // inspect_ai#4683, 2026-07

	// Of what came with its content nothing outlives; one that is only named is the provider's own copy and fits, where it keeps any.
	Bound: func(r *Request) func(*Message, *Part) bool {
		unkept := string(r.Raw(rawjson.Get(r.Body, "store"))) == "false"
		return func(_ *Message, p *Part) bool { return unkept || !p.Sealed.IsZero() }
	},

	Price: Price{
		Request: Range{3, 3, 16}, Model: Range{0, 8, 64}, Tools: Range{8, 12, 160},
		Message: Range{1, 4, 10}, Own: Range{1, 4, 10}, Tool: Range{35, 70, 110},
	},
	Count:     countResponses,
	CountedBy: "openai",

	Error: openAIFailure,
	TooLong: func(tokens, limit int) string {
		return fmt.Sprintf("Your input exceeds the context window of this model: %d tokens, the window is %d.", tokens, limit)
	},
	StreamError: func(text string, _ []byte) []byte {
		return fmt.Appendf(nil, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":%s}}}\n\n",
			Quote(nil, text))
	},

	list: "input", content: "content",
	member: (*parser).responsesMember, element: (*parser).responsesItem, check: (*checker).responses, words: (*Invalid).responsesText,
	textType: itemTextType, textMessage: contentMessage, textElement: itemText, resultElement: resultItem,
	takesText: func(p *Part) bool {
		switch p.Type {
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "apply_patch_call_output", "shell_call_output":
			return true
		}
		return false
	},
	putResult: func(_ *Draft, p *Part, lit []byte) (string, []byte) {
		if p.Type == "shell_call_output" {
			lit = join(`[{"stdout":`, lit, `,"stderr":"","outcome":{"type":"exit","exit_code":0}}]`)
		}
		return "output", lit
	},
	answer: answerRules{statuses: true, calls: callsClient, event: responsesEvent},
	pulse: pulseRules{
		progress: progress,
		reasons: func(_ *Pulse, event []byte) bool {
			return hasAny(event, reasonings) || hasAny(event, itemsAdded) && hasAny(event, reasoningItems)
		},
	},
}

// callsClient reports whether an item of this type is a call that the client answers. Others, as a search of the web, the provider runs itself.
func callsClient(kind string) bool {
	switch kind {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call", "mcp_approval_request":
		return true
	}
	return false
}

// itemTextType returns the type of a block of text in a message of a role.
func itemTextType(role Role) string {
	if role == RoleAssistant {
		return "output_text"
	}
	return "input_text"
}

func itemText(out []byte, role Role, text string) []byte {
	return typedText(out, itemTextType(role), text)
}

// countResponses returns the path and the body of an input_tokens request.
func countResponses(r *Request, below, model string) (string, []byte) {
	body := append([]byte(`{"model":`), Quote(nil, model)...)
	body = r.counted(body, "instructions", r.SystemSpan)
	body = r.counted(body, "tools", r.ToolsSpan)
	return below + "/input_tokens", append(r.counted(body, "input", r.List), '}')
}

// resultItem appends the output item for a call of that type; it returns nil for a type whose output cannot be a text.
func resultItem(out []byte, call Part, text string, failed bool) []byte {
	switch call.Type {
	case "", "function_call", "custom_tool_call", "local_shell_call":
		kind := "function_call_output"
		// Codex answers a local_shell_call with a function_call_output as well, and the
		// provider pairs both by call_id.
		if call.Type == "custom_tool_call" {
			kind = "custom_tool_call_output"
		}
		out = append(append(append(out, `{"type":"`...), kind...), `","call_id":`...)
		out = Quote(append(Quote(out, call.CallID), `,"output":`...), text)
		return append(out, '}')
	case "shell_call":
		out = Quote(append(out, `{"type":"shell_call_output","call_id":`...), call.CallID)
		out = append(out, `,"output":[{"stdout":"","stderr":`...)
		code := byte('0')
		if failed {
			code = '1'
		}
		out = append(Quote(out, text), `,"outcome":{"type":"exit","exit_code":`...)
		return append(append(out, code), "}}]}"...)
	case "apply_patch_call":
		out = Quote(append(out, `{"type":"apply_patch_call_output","call_id":`...), call.CallID)
		status := "completed"
		if failed {
			status = "failed"
		}
		out = append(append(append(out, `,"status":"`...), status...), `","output":`...)
		return append(Quote(out, text), '}')
	case "tool_search_call":
		out = Quote(append(out, `{"type":"tool_search_output","call_id":`...), call.CallID)
		return append(out, `,"status":"completed","execution":"client","tools":[]}`...)
	}
	return nil
}

var responsePrefix = []byte("response.")

// responsesEvent sets what the type of an event says about an answer.
func responsesEvent(a *Answer, kind []byte) {
	switch string(kind) {
	case "response.created", "response.in_progress", "response.queued":
	case "response.failed":
		a.failed = true
	case "response.completed", "response.incomplete":
		a.last = true
	default:
		a.Begun = a.Begun || bytes.HasPrefix(kind, responsePrefix)
	}
}

// responsesText returns the finding in the words of OpenAI's Responses.
func (i *Invalid) responsesText() string {
	kind := strings.ReplaceAll(strings.TrimSuffix(i.Detail, "_output"), "_", " ")
	switch i.Rule {
	case RuleOrphanCall:
		if i.Detail == approvalRequest {
			return "The following MCP approval requests do not have an approval: " + i.ID
		}
		return fmt.Sprintf("No tool output found for %s %s.", kind, i.ID)
	case RuleOrphanResult, RuleAdjacency, RuleDuplicateResult:
		return fmt.Sprintf("No tool call found for %s output with call_id %s.", kind, i.ID)
	case RuleDuplicateCall:
		return fmt.Sprintf("Duplicate item found with id %s. Remove duplicate items from your input and try again.", i.ID)
	case RuleReasoningFollow:
		return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", i.ID)
	}
	return i.chatText()
}
