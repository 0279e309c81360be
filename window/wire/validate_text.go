package wire

import "strings"

// ProviderText returns the refusal as the dialect's own provider words it, for what is
// played back to clients: OpenAI for Chat and Responses, Anthropic, Google. Rules without
// known words get a sentence in the provider's manner.
func (i *Invalid) ProviderText(d Dialect) string {
	return d.Rules().words(i)
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
