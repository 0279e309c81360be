package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// ProviderText returns the refusal as the dialect's own provider words it, for what is
// played back to clients: OpenAI for Chat and Responses, Anthropic, Google. Rules without
// known words get a sentence in the provider's manner.
func (i *Invalid) ProviderText(d Dialect) string {
	switch d {
	case Chat:
		return i.chatText()
	case Responses:
		return i.responsesText()
	case Gemini:
		return i.geminiText()
	default:
		return i.messagesText()
	}
}

// BedrockText is ProviderText for Messages bodies at Amazon Bedrock, in the words of its
// Converse API where those differ from Anthropic's.
func (i *Invalid) BedrockText() string {
	switch i.Rule {
	case RuleOrphanCall:
		next := i.Place
		if n, err := strconv.Atoi(strings.TrimPrefix(i.Place, "messages.")); err == nil {
			next = at("messages", n+1)
		}
		return fmt.Sprintf("Expected toolResult blocks at %s.content for the following Ids: %s", next, strings.Join(i.ids(), ", "))
	case RuleOrphanResult, RuleAdjacency, RuleDuplicateResult:
		return fmt.Sprintf("The number of toolResult blocks at %s.content exceeds the number of toolUse blocks of previous turn.", message(i.Place))
	case RuleIDLength:
		return fmt.Sprintf("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length less than or equal to 64", i.ID, i.Place)
	case RuleID:
		return fmt.Sprintf("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", i.ID, i.Place)
	}
	return i.messagesText()
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

func (i *Invalid) responsesText() string {
	kind := strings.ReplaceAll(strings.TrimSuffix(i.Detail, "_output"), "_", " ")
	switch i.Rule {
	case RuleOrphanCall:
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

func (i *Invalid) geminiText() string {
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

// brackets turns messages.3.content.1 into messages[3].content[1].
func brackets(place string) string {
	var b strings.Builder
	for k, name := range strings.Split(place, ".") {
		switch {
		case name != "" && name[0] >= '0' && name[0] <= '9':
			b.WriteString("[" + name + "]")
		case k > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}

// message cuts a place down to its message: messages.3.content.1 becomes messages.3.
func message(place string) string {
	parts := strings.SplitN(place, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
