package wire

import (
	"fmt"
	"net/http"
	"strings"
)

var geminiRules = &Rules{
	Name:  "gemini",
	Route: Route{Methods: map[string]bool{"generateContent": false, "streamGenerateContent": true}},

	Merges: true, Untyped: true, ObjectResults: true,
	Google: true,

	Results: ResultsInOrder, ByName: true, CallsBehindUser: true, Served: true,
	NoEmpty: true, FreeEnd: true, SealedAlone: true,
	Images:     ImageInline,
	ImageTypes: []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, // ai.google.dev "image-understanding"

	// The provider then takes the call without looking (ai.google.dev, thought-signatures, 2026-11-26).
	Unsigned: `"skip_thought_signature_validator"`,
	// A signature is bound to its part alone, and a call without one is refused.
	Bound: func(*Request) func(*Message, *Part) bool { return func(*Message, *Part) bool { return false } },

	Price: Price{
		Request: Range{0, 1, 8}, Model: Range{0, 1, 8}, Tools: Range{0, 20, 200}, ToolsInside: true,
		Message: Range{1, 4, 8}, Own: Range{1, 4, 8}, Tool: Range{40, 80, 110}, ResultName: true,
	},
	Count:       countGemini,
	CountedBy:   "gemini",
	UsageInEach: true,

	ArrayStream: true,
	Error: func(f Failure) []byte {
		return fmt.Appendf(nil, `{"error":{"code":%d,"message":%s,"status":%q}}`, f.Status, Quote(nil, f.Message), googleStatus(f.Status))
	},
	TooLong: func(tokens, limit int) string {
		return fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, limit)
	},
	StreamError: dataEvent,

	list: "contents", content: "parts",
	member: (*parser).geminiMember, element: (*parser).geminiContent, check: (*checker).gemini, words: (*Invalid).geminiText,
	textType: plainTextType, textMessage: partsMessage,
	textElement: func(out []byte, _ Role, text string) []byte {
		return append(Quote(append(out, `{"text":`...), text), '}')
	},
	resultElement: functionResponse,
	takesText:     func(p *Part) bool { return !p.Content.IsZero() },
	putResult: func(d *Draft, p *Part, lit []byte) (string, []byte) {
		name := `{"output":`
		if p.Failed {
			name = `{"error":`
		}
		d.dropResponseParts(p)
		return "", join(name, lit, "}")
	},
	pulse: pulseRules{reasons: func(_ *Pulse, event []byte) bool { return hasAny(event, thoughts) }},
}

// partsMessage appends a content of one text.
func partsMessage(out []byte, role Role, text string) []byte {
	name := "user"
	if role == RoleAssistant {
		name = "model"
	}
	out = append(append(append(out, `{"role":"`...), name...), `","parts":[{"text":`...)
	return append(Quote(out, text), `}]}`...)
}

// functionResponse appends the part with the result of a call.
func functionResponse(out []byte, call Part, text string, failed bool) []byte {
	out = append(out, `{"functionResponse":{`...)
	if call.CallID != "" {
		out = append(Quote(append(out, `"id":`...), call.CallID), ',')
	}
	out = Quote(append(out, `"name":`...), call.Name)
	if failed {
		out = append(out, `,"response":{"error":`...)
	} else {
		out = append(out, `,"response":{"output":`...)
	}
	return append(Quote(out, text), "}}}"...)
}

// countGemini returns the path and the body of a countTokens request for r; "" and nil if below names no method.
func countGemini(r *Request, below, model string) (string, []byte) {
	i := strings.LastIndexByte(below, ':')
	if i < 0 {
		return "", nil
	}
	body := append([]byte(`{"generateContentRequest":{"model":`), Quote(nil, "models/"+model)...)
	body = r.counted(body, "systemInstruction", r.SystemSpan)
	body = r.counted(body, "tools", r.ToolsSpan)
	return below[:i] + ":countTokens", append(r.counted(body, "contents", r.List), "}}"...)
}

// googleStatus returns the name in google.rpc.Code for a status.
func googleStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden, http.StatusMisdirectedRequest:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

// geminiText returns the finding in the words of the Gemini API.
func (i *Invalid) geminiText() string {
	if strings.Contains(i.Place, ".parts.") {
		switch i.Rule { // in the manner of "contents[1].parts[0]: Tool type of tool_call part does not match with tool call context."
		case RuleOrphanCall:
			return fmt.Sprintf("%s: %s part without its response: %s.", brackets(i.Place), i.Detail, i.ID)
		case RuleOrphanResult, RuleAdjacency:
			return fmt.Sprintf("%s: %s part without its call: %s.", brackets(i.Place), i.Detail, i.ID)
		}
	}
	switch i.Rule {
	case RuleOrphanCall, RuleResultCount:
		return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
	case RuleOrphanResult, RuleAdjacency, RuleDuplicateResult:
		return "Please ensure that function response turn comes immediately after a function call turn."
	case RuleCallTurn:
		return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
	case RuleResultName:
		return "Please ensure that the name of each function response part matches the name of a function call part of the function call turn."
	case RuleRole:
		return "Please use a valid role: user, model."
	case RuleEmptyHistory:
		return "* GenerateContentRequest.contents: contents is not specified"
	case RuleEmptyContent:
		return fmt.Sprintf("* GenerateContentRequest.%s: contents.parts must not be empty.", brackets(i.Place))
	case RuleBlockRole:
		return fmt.Sprintf("Invalid value at '%s': %s is not allowed for this role.", brackets(i.Place), i.Detail)
	}
	return fmt.Sprintf("Invalid JSON payload received. Invalid value at '%s': %s", brackets(i.Place), i.Detail)
}
