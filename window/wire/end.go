package wire

import (
	"bytes"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// End marks a part as one end of a pair that the provider, or a person, answers rather than the client: a tool of the
// provider's own and what it found, a program and its output, a request for an approval and the approval. What the
// client runs is a [Call] and a [Result] instead.
//
// The two ends are told by their names and paired by their id, so that kinds nobody knows yet are paired too: "_use",
// "_call" and "_request" open; "_result", "_output" and "_response" close. The public schemas of Anthropic (Messages
// beta), OpenAI (Responses) and Google (toolCall and toolResponse) keep to that, but for "program" and "executableCode"
// (looked up 2026-11). Google's need no id: the two then stand one behind the other.
type End uint8

// The ends.
const (
	NoEnd  End = iota
	Opens      // asks for something; its id is its own
	Closes     // brings what was asked for; its id is of the part that asked
)

// endOf returns the end of a pair that a block, item or part is by its name, in snake_case or camelCase; NoEnd for any other name.
func endOf(kind string) End {
	at := strings.LastIndexFunc(kind, func(r rune) bool { return r == '_' || r >= 'A' && r <= 'Z' })
	switch strings.ToLower(strings.TrimPrefix(kind[max(at, 0):], "_")) {
	case "use", "call", "request", "program", "code":
		return Opens
	case "result", "output", "response":
		return Closes
	}
	return NoEnd
}

// CallerID returns the id of the script at the provider that made a call of the client's tools, "" if the model made it itself. It reads
// the part again, so it is for callers who know that there are such scripts.
func (r *Request) CallerID(p *Part) string {
	if p.Kind != Call {
		return ""
	}
	caller := rawjson.Get(r.Raw(p.Span), "caller")
	if caller.IsZero() {
		return ""
	}
	for _, member := range [...]string{"tool_id", "caller_id"} { // Messages, Responses
		if id, ok := rawjson.Text(caller.Of(r.Raw(p.Span)), member); ok {
			return id
		}
	}
	return ""
}

// declaresTools reports whether a Messages block that is opaque here declares tools or instructions: tools that were found, added or
// removed, and instructions among the messages.
func declaresTools(kind string, raw []byte) bool {
	switch kind {
	case "tool_addition", "tool_removal", "mid_conv_system":
		return true
	}
	return endOf(kind) == Closes && bytes.Contains(raw, []byte(`tool_reference"`))
}
