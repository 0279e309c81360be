package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The rules a provider holds a history to, as they are named in an Invalid. They are
// stable: tests and journals compare them.
const (
	RuleJSON            = "json"             // the body is not JSON, or nested beyond 10,000 levels
	RuleShape           = "shape"            // a member has the wrong type, or a required one lacks
	RuleEmptyHistory    = "empty_history"    // no message at all
	RuleRole            = "role"             // a role the dialect does not know
	RuleRoleFirst       = "role_first"       // the first message is not the user's
	RuleBlockRole       = "block_role"       // a call outside the model's messages, or a result outside the user's
	RuleOrphanCall      = "orphan_call"      // a call without its result where the dialect wants it
	RuleOrphanResult    = "orphan_result"    // a result of a call that is nowhere before it
	RuleAdjacency       = "adjacency"        // a result of an earlier call, not in the place for it
	RuleDuplicateCall   = "duplicate_call"   // a second call with an id that is still open, or (Messages) was ever used
	RuleDuplicateResult = "duplicate_result" // a second result of one call
	RuleResultsFirst    = "results_first"    // a result behind other content of its message
	RuleResultCount     = "result_count"     // Gemini: not as many responses as calls
	RuleResultName      = "result_name"      // Gemini: a response that fits no call by id, nor by order and name
	RuleCallTurn        = "call_turn"        // Gemini: a call turn that does not follow a user or response turn
	RuleEmptyCalls      = "empty_calls"      // Chat: tool_calls is there and empty
	RuleContentNull     = "content_null"     // Chat: no content, and no call that would excuse it
	RuleEmptyContent    = "empty_content"    // a message without content
	RuleEmptyText       = "empty_text"       // Messages: a text block that is empty or all white space
	RuleReasoningFollow = "reasoning_follow" // Responses: a reasoning item without the item it led to
	RuleThinkingFirst   = "thinking_first"   // Messages: the last assistant turn lost the thinking block it began with
	RuleThinkingLast    = "thinking_last"    // Messages: an assistant message ends in a thinking block
	RuleTrailingSpace   = "trailing_space"   // Messages: a prefilled answer ends in white space
	RuleAlternate       = "alternate"        // Converse: two messages of one speaker that follow each other
	RuleToolConfig      = "tool_config"      // Converse: calls or results without a toolConfig
	RuleCacheMarks      = "cache_marks"      // Messages: more than four cache_control marks
	RuleID              = "id_pattern"       // an id is empty or holds a character the provider does not take
	RuleIDLength        = "id_length"        // Bedrock: an id of more than 64 characters
)

// maxFindings bounds what one validation keeps: a history broken in more places is
// described well enough by the first of them. What was wrong before an edit is needed in
// full, within reason.
const (
	maxFindings = 64
	maxKnown    = 1 << 16
)

// Invalid means that a request breaks one rule of a provider. It holds ids and places, never message text, so it may be logged.
type Invalid struct {
	Rule  string // one of the Rule constants
	Place string // as the providers write it: messages.3.content.1, input.4, contents.2.parts.0
	ID    string // of the call concerned; "" when none is
	// Detail is the item's type or the value that was wrong, where the provider's own
	// words name it.
	Detail string
	others []string // further ids of the same place (providers name them all)
}

// Error returns the place, the rule and the ids of the finding.
func (i *Invalid) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", i.Place, i.Rule)
	if i.ID != "" {
		fmt.Fprintf(&b, " (%s)", strings.Join(i.ids(), ", "))
	}
	if i.Detail != "" {
		fmt.Fprintf(&b, ": %s", i.Detail)
	}
	return b.String()
}

func (i *Invalid) ids() []string { return append([]string{i.ID}, i.others...) }

// Validate checks a request body against every rule of pairing and placement that the dialect's provider enforces, and returns an *Invalid
// for the first that is broken. It shares nothing with Parse but the Dialect, so that it can judge edits. A call at the very end without
// its result is an orphan here, as it is for every provider. What lies outside the body cannot be judged: results that may belong to a
// previous_response_id, conversation, item_reference, cachedContent or to messages that a compaction item stands for are not checked.
func Validate(d Dialect, body []byte) error {
	return first(inspect(d, body))
}

// ValidateBedrock works like Validate for Messages bodies that go to Bedrock: its ids have 1 to 64
// characters out of [a-zA-Z0-9_-].
func ValidateBedrock(body []byte) error {
	c := &checker{limit: maxFindings, bedrock: true}
	c.checkBody(Messages, body)
	return first(c.found)
}

// ValidateEdit returns the first breach of a rule in after, as an *Invalid, that before did not have: before has it if the same rule is broken by
// the same id. It returns nil if there is none. A client's request that was odd before the edit, in ways its provider may well accept, does not
// count against the edit.
func ValidateEdit(d Dialect, before, after []byte) error {
	found := inspect(d, after)
	if len(found) == 0 {
		return nil
	}
	known := map[string]bool{}
	c := &checker{limit: maxKnown}
	c.checkBody(d, before)
	for _, i := range c.found {
		known[i.Rule+"\x00"+i.ID] = true
	}
	for _, i := range found {
		if !known[i.Rule+"\x00"+i.ID] {
			return i
		}
	}
	return nil
}

func inspect(d Dialect, body []byte) []*Invalid {
	c := &checker{limit: maxFindings}
	c.checkBody(d, body)
	return c.found
}

func first(found []*Invalid) error {
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// A checker walks one body and collects the rules it breaks.
type checker struct {
	found   []*Invalid
	limit   int
	bedrock bool
	idMarks string // characters that an id may hold beside letters and digits; "" means those of Messages
}

// add records a finding, unless there are limit of them, and returns it.
func (c *checker) add(rule, place, id, detail string) *Invalid {
	i := &Invalid{Rule: rule, Place: place, ID: id, Detail: detail}
	if len(c.found) < c.limit {
		c.found = append(c.found, i)
	}
	return i
}

// forgive drops the findings so far about the order of messages, because a compaction stands in the place of those messages.
func (c *checker) forgive() {
	c.found = slices.DeleteFunc(c.found, func(i *Invalid) bool {
		switch i.Rule {
		case RuleOrphanCall, RuleOrphanResult, RuleAdjacency, RuleDuplicateCall, RuleDuplicateResult, RuleResultsFirst, RuleReasoningFollow, RuleRoleFirst:
			return true
		}
		return false
	})
}

// orphans records one finding for all calls that have no result; none without ids.
func (c *checker) orphans(place string, ids []string, detail string) {
	if len(ids) > 0 {
		c.add(RuleOrphanCall, place, ids[0], detail).others = ids[1:]
	}
}

// checkBody checks a body that may not even be JSON, by the rules of a dialect.
func (c *checker) checkBody(d Dialect, body []byte) {
	// encoding/json judges the syntax, and refuses nesting beyond 10,000 levels without
	// recursing. What follows relies on that.
	if !json.Valid(body) {
		var syntax *json.SyntaxError
		what := "not JSON"
		if errors.As(json.Unmarshal(body, new(json.RawMessage)), &syntax) {
			what = fmt.Sprintf("not JSON at byte %d", syntax.Offset)
		}
		c.add(RuleJSON, "body", "", what)
		return
	}
	top, ok := splitObject(body)
	if !ok {
		c.add(RuleJSON, "body", "", "not an object")
		return
	}
	d.Rules().check(c, top)
}
