package reasoning

import "strings"

// A form is one way in which a provider says it. It matches when all its words stand in one text, in their
// order, or when its code is there.
type form struct {
	name  string // "provider.what", as it is named in events and metrics
	cause Cause
	words []string // as [refusal.Normal] leaves them: lower case, no quotation marks
	code  string   // value of code or type in the error object, in lower case
}

// says reports whether all words of a form are in a text, in their order.
func (f *form) says(text string) bool {
	for _, w := range f.words {
		i := strings.Index(text, w)
		if i < 0 {
			return false
		}
		text = text[i+len(w):]
	}
	return len(f.words) > 0
}

// forms are searched from the top, the words with more in them first. Read on 2026-11-26.
var forms = [...]form{
	// platform.claude.com, fix-bound-to-a-different-conversation; Bedrock and Vertex pass it on.
	{name: "anthropic.prefix", cause: Changed, words: []string{"thinking block", "bound to a different conversation"}},
	{name: "anthropic.prefix", cause: Changed, words: []string{"bound to a different conversation", "thinking"}},
	// claude-code#63357, gajae-code#4382: taken once all thinking from there on is out.
	{name: "anthropic.modified", cause: Changed, words: []string{"redacted_thinking blocks in the latest assistant message cannot be modified"}},
	// opencode#6418, and every switch between accounts and clouds.
	{name: "anthropic.signature", cause: Foreign, words: []string{"invalid signature in thinking block"}},
	{name: "anthropic.signature", cause: Foreign, words: []string{"invalid signature in redacted_thinking block"}},
	{name: "anthropic.data", cause: Foreign, words: []string{"invalid data in redacted_thinking block"}},
	{name: "anthropic.unsigned", cause: Missing, words: []string{"thinking.signature: field required"}},
	{name: "anthropic.unsigned", cause: Missing, words: []string{"thinking.signature: input should be a valid string"}},
	// claude-code#20705: models with a thinking budget; newer ones take a turn without.
	{name: "anthropic.first", cause: Wanted, words: []string{"expected thinking or redacted_thinking, but found"}},
	// forgecode#2107.
	{name: "anthropic.last", cause: Changed, words: []string{"the final block in an assistant message cannot be thinking"}},
	// forgecode#1195.
	{name: "anthropic.off", cause: Changed, words: []string{"when thinking is disabled, an assistant message in the final position cannot contain thinking"}},

	// codex#8121, openclaw#90093; "Reason: Encrypted content could not be decrypted or parsed", or
	// "… organization_id did not match the target organization".
	{name: "openai.encrypted", cause: Foreign, words: []string{"encrypted content", "could not be verified"}, code: "invalid_encrypted_content"},
	{name: "openai.encrypted", cause: Foreign, words: []string{"encrypted content", "could not be decrypted"}},
	// vercel/ai#7543, bifrost#5410: 404 or 400.
	{name: "openai.not_kept", cause: Missing, words: []string{"rs_", "not found. items are not persisted when store is set to false"}},
	{name: "openai.alone", cause: Changed, words: []string{"of type reasoning was provided without its required following item"}},
	{name: "openai.alone", cause: Changed, words: []string{"of type 'reasoning' was provided without its required following item"}},
	{name: "openai.wanted", cause: Wanted, words: []string{"was provided without its required", "reasoning", "item"}},

	// ai.google.dev, thought-signatures; gemini-cli#13467, 9router#301, Antigravity-Manager#3342, ruby_llm#521.
	{name: "gemini.wanted", cause: Wanted, words: []string{"missing a thought_signature"}},
	{name: "gemini.signature", cause: Foreign, words: []string{"corrupted thought signature"}},
	{name: "gemini.signature", cause: Foreign, words: []string{"thought signature is not valid"}},
	{name: "gemini.signature", cause: Foreign, words: []string{"invalid thought signature"}},
	{name: "gemini.signature", cause: Foreign, words: []string{"thought_signature", "base64 decoding failed"}},

	// api-docs.deepseek.com and platform.kimi.ai: thinking with tools wants the thoughts of the running turn.
	{name: "chat.wanted", cause: Wanted, words: []string{"reasoning_content is missing"}},
	{name: "chat.wanted", cause: Wanted, words: []string{"missing reasoning_content"}},
	{name: "chat.wanted", cause: Wanted, words: []string{"reasoning_content", "must be passed back"}},
}
