package wire

import "encoding/json"

// What a call is made with and what came back, beyond whose is which.
const (
	RuleArguments   = "arguments"    // Chat, Responses: the arguments of a function are no JSON
	RuleSilentError = "silent_error" // Messages: a result says that it failed, and nothing else
)

// arguments reports arguments that are not JSON: an answer that ended at its output limit leaves half of it. An empty text is fine: OpenAI
// itself sends it for a function without parameters.
func (c *checker) arguments(place, id string, raw json.RawMessage) {
	s, ok := text(raw)
	if ok && s != "" && !json.Valid([]byte(s)) {
		c.add(RuleArguments, place, id, "not JSON")
	}
}

// silentError reports a failed result without content: "content cannot be empty if `is_error` is true".
func (c *checker) silentError(place, id string, b object) {
	if string(b["is_error"]) != "true" {
		return
	}
	list, _ := splitArray(b["content"])
	if !b.has("content") || string(b["content"]) == `""` || b["content"][0] == '[' && len(list) == 0 {
		c.add(RuleSilentError, place, id, "")
	}
}
