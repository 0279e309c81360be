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
	return d.Rules().words(i)
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
