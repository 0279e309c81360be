package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

var messagesRules = &Rules{
	Name:  "messages",
	Route: Route{Path: "messages"},

	Merges: true, StringContent: true,
	ObjectArguments: "input",

	Results: ResultsFirst, UniqueIDs: true, IDMarks: messagesIDMarks, UserFirst: true, Served: true,
	NoEmpty: true, NoEmptyText: true, EmptyLast: true, SilentError: true, NoTrailing: true,
	SummaryFlag: "compaction",
	Marks:       maxCacheMarks,
	NamedTools: func(names []string) []NamedValue {
		tools := declared(names, `[`, `{"input_schema":{"type":"object"},"name":`, `}`, `]`)
		return []NamedValue{{"tools", tools}, {"tool_choice", []byte(`{"type":"none"}`)}}
	},
	NameBytes: 200, // "tool_use.name: String should have at most 200 characters" (pi#1643, goose#10807)
	Images:    ImageSource,

	SignedThinking: true,
	BlankReasoning: blankThinking,
	Bound:          func(*Request) func(*Message, *Part) bool { return func(*Message, *Part) bool { return true } },
	SystemBetween:  true, Replaces: true,

	// The system prompt that enables tools: 346 tokens with tool_choice auto, 313 with any in Claude 4; 159 to 530 in Claude 3; up to 935 in
	// later models (Anthropic's tables of tool use).
	Price: Price{
		Request: Range{0, 4, 12}, Model: Range{0, 4, 12}, Tools: Range{159, 346, 960},
		Message: Range{1, 4, 8}, Own: Range{1, 4, 8}, Tool: Range{70, 100, 115}, WholeTool: true,
	},
	Count:        countMessages,
	SharedWindow: true,

	Error: func(f Failure) []byte {
		id := ""
		if f.ID != "" {
			id = `,"request_id":` + string(Quote(nil, f.ID))
		}
		return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s}%s}`, Quote(nil, f.kind(anthropicKind)), Quote(nil, f.Message), id)
	},
	Final: http.StatusPaymentRequired,
	TooLong: func(tokens, limit int) string {
		return fmt.Sprintf("prompt is too long: %d tokens > %d maximum.", tokens, limit)
	},
	StreamError: func(_ string, body []byte) []byte { return fmt.Appendf(nil, "event: error\ndata: %s\n\n", body) },

	list: "messages", content: "content",
	member: (*parser).messagesMember, element: (*parser).messagesMessage, check: (*checker).messages, words: (*Invalid).messagesText,
	textType: plainTextType, textMessage: contentMessage, textElement: plainText, resultElement: resultBlock,
	takesText: anyText, putResult: contentResult,
	answer: answerRules{blocks: true, cacheBeside: true, event: func(a *Answer, kind []byte) {
		a.last = string(kind) == "message_stop"
		a.Begun = a.Begun || bytes.HasPrefix(kind, blockPrefix)
	}},
	pulse: pulseRules{
		blockEnds: blockEnds,
		reasons: func(p *Pulse, event []byte) bool {
			return hasAny(event, thinkings) || p.thinks && hasAny(event, messageStarts)
		},
	},
}

var blockPrefix = []byte("content_block_")

// resultBlock appends a tool_result.
func resultBlock(out []byte, call Part, text string, failed bool) []byte {
	out = Quote(append(out, `{"type":"tool_result","tool_use_id":`...), call.CallID)
	out = Quote(append(out, `,"content":`...), text)
	if failed {
		out = append(out, `,"is_error":true`...)
	}
	return append(out, '}')
}

// blankThinking adds a thinking block of one space to a message with calls. Nobody checks the signature of models that are not Claude
// (claude-code-router#1639), and a message without calls needs none (qwen-code#3788).
func blankThinking(d *Draft, msg int) bool {
	called := false
	for _, p := range d.r.Messages[msg].Parts {
		if p.Kind == Reasoning {
			return false
		}
		called = called || p.Kind == Call
	}
	if called {
		d.InsertPart(msg, 0, []byte(`{"type":"thinking","thinking":" ","signature":""}`))
	}
	return called
}

// countMessages returns the path and the body of a count_tokens request.
func countMessages(r *Request, below, model string) (string, []byte) {
	body := append([]byte(`{"model":`), Quote(nil, model)...)
	body = r.counted(body, "system", r.SystemSpan)
	body = r.counted(body, "tools", r.ToolsSpan)
	body = r.counted(body, "messages", r.List)
	return below + "/count_tokens", append(r.counted(body, "context_management", r.Clears), '}') // what is counted is then what is left
}

// anthropicKind returns the type of Anthropic's error for a status.
func anthropicKind(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusPaymentRequired:
		return "billing_error"
	case status == http.StatusForbidden || status == http.StatusMisdirectedRequest:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == http.StatusNotFound:
		return "not_found_error"
	case status == http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case status == http.StatusServiceUnavailable:
		return "overloaded_error"
	case status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

// messagesText returns the finding in the words of Anthropic's Messages.
func (i *Invalid) messagesText() string {
	switch i.Rule {
	case RuleOrphanCall:
		if i.Detail != "" {
			return fmt.Sprintf("%s: `%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", message(i.Place), i.Detail, i.ID, i.Detail)
		}
		return fmt.Sprintf("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i.Place, strings.Join(i.ids(), ", "))
	case RuleResultsFirst:
		return fmt.Sprintf("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message(i.Place), i.ID)
	case RuleOrphanResult, RuleAdjacency:
		block, use, where := "tool_result", "tool_use", "in the previous message"
		if i.Detail != "" {
			block, use, where = i.Detail, "server_tool_use", "before it"
		}
		return fmt.Sprintf("%s: unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `%s` block %s.",
			i.Place, block, i.ID, block, use, where)
	case RuleDuplicateResult:
		return fmt.Sprintf("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i.Place, i.ID)
	case RuleDuplicateCall:
		return i.Place + ": `tool_use` ids must be unique"
	case RuleRoleFirst:
		return `messages: first message must use the "user" role`
	case RuleBlockRole:
		role := "assistant"
		if i.Detail == "tool_result" {
			role = "user"
		}
		return fmt.Sprintf("%s: `%s` blocks can only be in `%s` messages", i.Place, i.Detail, role)
	case RuleEmptyContent:
		return i.Place + ": all messages must have non-empty content except for the optional final assistant message"
	case RuleEmptyHistory:
		return "messages: at least one message is required"
	case RuleEmptyText:
		if i.Detail != "" {
			return "messages: text content blocks must contain non-whitespace text"
		}
		return "messages: text content blocks must be non-empty"
	case RuleTrailingSpace:
		return "messages: final assistant content cannot end with trailing whitespace"
	case RuleThinkingFirst:
		return fmt.Sprintf("%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block "+
			"(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. "+
			"To avoid this requirement, disable `thinking`.", i.Place, i.Detail)
	case RuleThinkingLast:
		return i.Place + ": The final block in an assistant message cannot be `thinking`."
	case RuleSilentError:
		return i.Place + ".tool_result: content cannot be empty if `is_error` is true"
	case RuleCacheMarks:
		return "A maximum of 4 blocks with cache_control may be provided."
	case RuleID:
		return i.Place + ": String should match pattern '^[a-zA-Z0-9_-]+$'"
	case RuleIDLength:
		return i.Place + ": Member must have length less than or equal to 64"
	case RuleRole:
		return i.Place + ": Input should be 'user' or 'assistant'"
	case RuleJSON:
		return "The request body is not valid JSON: " + i.Detail
	}
	if i.Detail == "required" {
		return i.Place + ": Field required"
	}
	return i.Place + ": Input should be a valid value: " + i.Detail
}

// served pairs what tools at the provider were asked with what they found, in a body of Messages or Gemini. The result
// stands behind its call in the same turn of the model. That turn may go over several messages, but between them stand
// results of the client's tools and nothing else: a script is refused beside other words of the user, and so is a call
// whose turn ended without a result ("was found without a corresponding result block"; Anthropic's pages on server tools
// and on programmatic tool calling, 2026-11; claude-code#80439 for a result without its call). Google wants each toolCall
// back "along with the corresponding ToolResponse" (its SDK, 2026-11, and ai.google.dev, "tool-combination"); its own
// words for half a pair are not known.
type served struct {
	turn  []callItem           // calls of this turn, in order
	state map[string]servedUse // by id
}

type servedUse uint8

const (
	servedOpen  servedUse = iota + 1
	servedDone            // has its result; what a second one in the same turn would do is not known
	servedEnded           // its turn is over
)

// noteServed notes a block of the model that is a call of a tool at the provider, or its result.
func (w *blocks) noteServed(place, kind string, b object) {
	switch {
	case kind == "tool_use", kind == "tool_result":
	case strings.HasSuffix(kind, "_use"):
		id, _ := b.text("id")
		name, ok := b.text("name")
		if !ok || kind == "mcp_tool_use" {
			name = "mcp" // whose results have one name
		}
		w.served.opens(callItem{name, place, id})
	case strings.HasSuffix(kind, "_result"):
		if id, ok := b.text("tool_use_id"); ok && id != "" { // else a kind that is no half of a pair
			w.served.close(w.checker, callItem{kind, place, id})
		}
	}
}

// opens notes a call of the turn whose result the provider gives.
func (s *served) opens(call callItem) {
	if s.state == nil {
		s.state = map[string]servedUse{}
	}
	s.state[call.id] = servedOpen
	s.turn = append(s.turn, call)
}

// close marks a call as answered by a result, and reports a result whose call is missing or in an earlier turn. A second result is not reported.
func (s *served) close(c *checker, result callItem) {
	switch s.state[result.id] {
	case servedOpen:
		s.state[result.id] = servedDone
	case servedEnded:
		c.add(RuleAdjacency, result.place, result.id, result.kind)
	case servedDone:
	default:
		c.add(RuleOrphanResult, result.place, result.id, result.kind)
	}
}

// endTurn reports the calls of the turn that have no result.
func (s *served) endTurn(c *checker) {
	for _, call := range s.turn {
		if s.state[call.id] == servedOpen {
			c.add(RuleOrphanCall, call.place, call.id, call.kind)
		}
		s.state[call.id] = servedEnded
	}
	s.turn = nil
}
