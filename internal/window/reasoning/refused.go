package reasoning

import (
	"mime"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/refusal"
)

// Cause is the fault of reasoning that was refused.
type Cause uint8

// The causes.
const (
	Changed Cause = iota + 1 // it, or what stood before it, is not what it was
	Foreign                  // its signature or encryption is not valid here: another model's, another account's, damaged
	Missing                  // it has no signature, and the provider keeps no copy
	Wanted                   // it is not there, and the provider asks for it
)

// String returns "changed", "foreign", "missing" or "wanted".
func (c Cause) String() string {
	return [...]string{"none", "changed", "foreign", "missing", "wanted"}[min(int(c), 4)]
}

// A Refusal describes the reasoning that a provider does not take.
type Refusal struct {
	// Form names the row that matched, for events and metrics: "anthropic.prefix", …
	Form  string
	Cause Cause
	// Message and Part are the indices that the provider names, in the list of messages of the request as
	// it was sent and in the content of that message; -1 where it names none. In Responses Message is the
	// item's index.
	Message, Part int
	// Item is the id of a Responses item that it names; "" where it names none.
	Item string
}

// Bound reports whether a refusal says that the model's reasoning is bound to what stood before it.
func (r Refusal) Bound() bool { return r.Form == "anthropic.prefix" }

// Refused reports whether a response refuses a request for the reasoning in it. The body must be decoded (no
// gzip); its first 64 KiB are read. A 429 and a 5xx never are such a refusal; a 200 is one only when it
// carries an error. Its events are looked at one by one when contentType is text/event-stream.
func Refused(status int, contentType string, body []byte) (Refusal, bool) {
	body = body[:min(len(body), refusal.MaxBody)]
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "text/event-stream" {
		for data := range refusal.Events(body) {
			if no, ok := matchRefusal(status, data); ok {
				return no, true
			}
		}
		return Refusal{}, false
	}
	return matchRefusal(status, body)
}

// Event reports whether one event of a stream that began with a 200 refuses the request for its reasoning.
// Data are the bytes behind "data:"; the first 64 KiB are read.
func Event(data []byte) (Refusal, bool) { return matchRefusal(200, data) }

// matchRefusal returns the refusal in the body of a complete answer with that status; false if no known form matches.
func matchRefusal(status int, body []byte) (Refusal, bool) {
	switch status {
	case 200, 400, 404, 422:
	default:
		return Refusal{}, false
	}
	w := refusal.Read(body, status == 200)
	if w.Status == 429 || w.Status >= 500 {
		return Refusal{}, false
	}
	for i := range forms {
		f := &forms[i]
		for _, text := range w.Texts {
			if f.matches(text) {
				no := Refusal{Form: f.name, Cause: f.cause, Item: itemID(text)}
				no.Message, no.Part = faultPlace(text, w.Param)
				return no, true
			}
		}
		if f.code != "" && slices.Contains(w.Codes, f.code) {
			no := Refusal{Form: f.name, Cause: f.cause}
			no.Message, no.Part = faultPlace("", w.Param)
			return no, true
		}
	}
	return Refusal{}, false
}

// faultPlace returns the message and part that a refusal names, such as "messages.3.content.1" (Anthropic), "contents[2].parts[0]" (Google)
// or "input[4]" (OpenAI); -1 for what it does not name.
func faultPlace(texts ...string) (message, part int) {
	for _, text := range texts {
		for _, lists := range [...][2]string{{"messages", "content"}, {"contents", "parts"}, {"input", "content"}} {
			if m, rest, ok := indexAfter(text, lists[0]); ok {
				if p, _, ok := indexAfter(rest[:min(len(rest), len(lists[1])+8)], lists[1]); ok {
					return m, p
				}
				return m, -1
			}
		}
	}
	return -1, -1
}

// indexAfter returns the index after the name of a list in a text ("name.12" or "name[12]") and the rest of the text; false if there is
// none.
func indexAfter(text, name string) (n int, rest string, ok bool) {
	for {
		i := strings.Index(text, name)
		if i < 0 {
			return 0, "", false
		}
		text = text[i+len(name):]
		if text == "" || text[0] != '.' && text[0] != '[' {
			continue
		}
		n, size := 0, 0
		for _, c := range []byte(text[1:min(len(text), 8)]) {
			if c < '0' || c > '9' {
				break
			}
			n, size = n*10+int(c-'0'), size+1
		}
		if size > 0 {
			return n, text[1+size:], true
		}
	}
}

// itemID returns the id of a reasoning item ("rs_…") in a text in lower case, "" if there is none. Ids have no capital letters.
func itemID(text string) string {
	for i := 0; ; {
		at := strings.Index(text[i:], "rs_")
		if at < 0 {
			return ""
		}
		at += i
		end := at + len("rs_")
		for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] >= '0' && text[end] <= '9' || text[end] == '_' || text[end] == '-') {
			end++
		}
		whole := end - at
		if whole > len("rs_") && whole <= 128 && (at == 0 || !isWordByte(text[at-1])) {
			return text[at:end]
		}
		i = end
	}
}

// isWordByte reports whether c is a lower-case letter, a digit or '_'.
func isWordByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }

// A form is one way in which a provider says it. It matches when all its words stand in one text, in their
// order, or when its code is there.
type form struct {
	name  string // "provider.what", as it is named in events and metrics
	cause Cause
	words []string // as [refusal.Normal] leaves them: lower case, no quotation marks
	code  string   // value of code or type in the error object, in lower case
}

// matches reports whether a text has all words of the form in their order.
func (f *form) matches(text string) bool {
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
	// opencode#48742, Kilo#14314; the second is xAI's (sub2api#4535).
	{name: "openai.encrypted", cause: Foreign, words: []string{"encrypted_content", "was not issued to this caller"}},
	{name: "openai.encrypted", cause: Foreign, words: []string{"could not decrypt the provided encrypted_content"}},
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
}
