package wire

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// converseIDMarks lists the characters an id may contain besides letters and digits (botocore 1.44.8).
const converseIDMarks = "_.:-"

var converseRules = &Rules{
	Name:  "converse",
	Route: Route{Verbs: map[string]bool{"converse": false, "converse-stream": true}},

	Merges: true, Untyped: true, MarkBlocks: true,
	CallHolder:      func(*Part) string { return "toolUse" },
	ObjectArguments: "input",
	Mixed:           true,

	Results: ResultsFirst, UniqueIDs: true, IDMarks: converseIDMarks, UserFirst: true, Alternates: true,
	NoEmpty: true, NoEmptyText: true, NoBlankText: true, SilentError: true, NoTrailing: true,
	Marks: maxCacheMarks,
	NamedTools: func(names []string) []NamedValue {
		return []NamedValue{{"toolConfig", declared(names, `{"tools":[`, `{"toolSpec":{"inputSchema":{"json":{"type":"object"}},"name":`, `}}`, `]}`)}}
	},
	NameBytes: 64, PlainNames: true,
	Images: ImageBytes,

	SignedThinking: true,
	Bound:          func(*Request) func(*Message, *Part) bool { return func(*Message, *Part) bool { return true } },

	// Most of what is asked here is a Claude.
	Price:        messagesRules.Price,
	Count:        countConverse,
	CountedBy:    "bedrock",
	SharedWindow: true,

	Error: func(f Failure) []byte { return fmt.Appendf(nil, `{"message":%s}`, Quote(nil, f.Message)) },
	ErrorHeader: func(f Failure) (name, value string) {
		return "X-Amzn-Errortype", f.kind(bedrockKind)
	},
	TooLong: func(tokens, limit int) string {
		return fmt.Sprintf("Input is too long for requested model. %d tokens > %d maximum.", tokens, limit)
	},
	StreamError: dataEvent,

	list: "messages", content: "content", resultHolder: "toolResult",
	member: (*parser).converseMember, element: (*parser).converseMessage, check: (*checker).converse, words: (*Invalid).converseText,
	textType: plainTextType,
	textMessage: func(out []byte, role Role, text string) []byte {
		name := "user"
		if role == RoleAssistant {
			name = "assistant"
		}
		out = append(append(append(out, `{"role":"`...), name...), `","content":[{"text":`...)
		return append(Quote(out, text), `}]}`...)
	},
	textElement: geminiRules.textElement,
	resultElement: func(out []byte, call Part, text string, failed bool) []byte {
		out = Quote(append(out, `{"toolResult":{"toolUseId":`...), call.CallID)
		out = append(Quote(append(out, `,"content":[{"text":`...), text), `}]`...)
		if failed {
			out = append(out, `,"status":"error"`...)
		}
		return append(out, "}}"...)
	},
	takesText: anyText,
	putResult: func(_ *Draft, _ *Part, lit []byte) (string, []byte) { return "content", join(`[{"text":`, lit, `}]`) },
	answer:    answerRules{output: true, cacheBeside: true, event: converseEvent},
	pulse:     pulseRules{reasons: func(_ *Pulse, event []byte) bool { return hasAny(event, reasoningContents) }},
}

// countConverse returns the path and the body of a CountTokens request, which not every model has; the path is "" if below names no model.
func countConverse(r *Request, below, _ string) (string, []byte) {
	body := append([]byte(`{"input":{"converse":{"messages":`), r.Raw(r.List)...)
	body = r.counted(body, "system", r.SystemSpan)
	return countTokensPath(below), append(r.counted(body, "toolConfig", r.ToolsSpan), "}}}"...)
}

// CountInvoked returns the path and the body of a request that has Amazon Bedrock count a body that goes by InvokeModel to the path below;
// the path is "" if below names no model.
func CountInvoked(r *Request, below string) (string, []byte) {
	body := base64.StdEncoding.AppendEncode([]byte(`{"input":{"invokeModel":{"body":"`), r.Body)
	return countTokensPath(below), append(body, `"}}}`...)
}

// geographies are prefixes of the names of inference profiles over several regions. CountTokens refuses those and takes the model behind
// them (pydantic-ai#3367, Portkey-AI/gateway#1437, 2026-11-27).
var geographies = []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "ca.", "global."}

// countTokensPath returns the path of CountTokens for the model that another path names, without the model's region; "" if it names none.
func countTokensPath(below string) string {
	i := strings.LastIndexByte(below, '/')
	j := strings.LastIndexByte(below[:max(i, 0)], '/') + 1
	if i < 0 || j > i {
		return ""
	}
	model := below[j:i]
	for _, g := range geographies {
		if rest, ok := strings.CutPrefix(model, g); ok {
			model = rest
			break
		}
	}
	return below[:j] + model + "/count-tokens"
}

// converseEvent sets Begun and last by the name of an event in a stream.
func converseEvent(a *Answer, kind []byte) {
	switch string(kind) {
	case "contentBlockStart", "contentBlockDelta":
		a.Begun = true
	case "metadata": // comes last, with the usage
		a.last = true
	}
}

// bedrockKind returns the name of Bedrock's exception for a status.
func bedrockKind(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusMisdirectedRequest:
		return "AccessDeniedException"
	case status == http.StatusTooManyRequests:
		return "ThrottlingException"
	case status == http.StatusServiceUnavailable:
		return "ServiceUnavailableException"
	case status >= 500:
		return "InternalServerException"
	}
	return "ValidationException"
}

// BedrockText returns the refusal in the words of Amazon Bedrock's Converse where these are known, else in Anthropic's; for Messages bodies
// too.
func (i *Invalid) BedrockText() string {
	switch i.Rule {
	case RuleOrphanCall:
		next := i.Place
		if n, err := strconv.Atoi(strings.TrimPrefix(i.Place, "messages.")); err == nil {
			next = joinPath("messages", n+1)
		}
		return fmt.Sprintf("Expected toolResult blocks at %s.content for the following Ids: %s", next, strings.Join(i.ids(), ", "))
	case RuleOrphanResult, RuleAdjacency, RuleDuplicateResult:
		return fmt.Sprintf("The number of toolResult blocks at %s.content exceeds the number of toolUse blocks of previous turn.", message(i.Place))
	case RuleIDLength:
		return fmt.Sprintf("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length less than or equal to 64", i.ID, i.Place)
	case RuleID:
		return fmt.Sprintf("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", i.ID, i.Place)
	case RuleAlternate:
		return "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
	case RuleToolConfig:
		return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
	}
	return i.messagesText()
}

// converseText returns the finding in the words of Converse, if the rule is its own, else BedrockText.
func (i *Invalid) converseText() string {
	switch i.Rule {
	case RuleRoleFirst:
		return "A conversation must start with a user message. Try again with a conversation that starts with a user message."
	case RuleEmptyContent:
		return fmt.Sprintf("The content field in the Message object at %s is empty. Add a ContentBlock object to the content field and try again.", message(i.Place))
	case RuleEmptyText:
		return fmt.Sprintf("The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", i.Place)
	}
	return i.BedrockText()
}
