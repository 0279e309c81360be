package wire

import "strings"

// ProviderText returns the refusal in the words of the dialect's own provider, to be sent to clients: OpenAI for Chat and Responses,
// Anthropic, Google, Amazon. Rules without known words get a sentence in the provider's manner.
func (i *Invalid) ProviderText(d Dialect) string {
	return d.Rules().words(i)
}

// brackets returns a place as OpenAI and Google write it: messages.3.content.1 becomes messages[3].content[1].
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

// message returns the message of a place: messages.3.content.1 becomes messages.3.
func message(place string) string {
	parts := strings.SplitN(place, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
