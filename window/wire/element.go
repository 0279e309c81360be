package wire

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// TextMessage returns a message of one text in the dialect's own JSON. A role that the dialect has no message for becomes the user's:
// RoleTool and RoleOther everywhere, RoleSystem in Gemini and Converse.
func TextMessage(d Dialect, role Role, text string) []byte {
	return d.Rules().textMessage(make([]byte, 0, len(text)+len(text)/8+96), role, text)
}

// TextElement returns a content block (a Gemini part) of one text.
func TextElement(d Dialect, role Role, text string) []byte {
	return d.Rules().textElement(make([]byte, 0, len(text)+len(text)/8+48), role, text)
}

// ResultElement returns the result of a call: a tool message in Chat, an item in Responses, a block in Messages and Converse, a part in
// Gemini. It returns nil for calls whose result cannot be a text (a computer's screen).
func ResultElement(d Dialect, call Part, text string, failed bool) []byte {
	return d.Rules().resultElement(make([]byte, 0, len(text)+len(text)/8+len(call.CallID)+128), call, text, failed)
}

// declared returns a list of tools: before, then each name between open and end, with commas between them, then after.
func declared(names []string, before, open, end, after string) []byte {
	out := []byte(before)
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(Quote(append(out, open...), name), end...)
	}
	return append(out, after...)
}

// contentMessage appends a message with a role and a content that is one string.
func contentMessage(out []byte, role Role, text string) []byte {
	name := "user"
	switch role {
	case RoleAssistant:
		name = "assistant"
	case RoleSystem:
		name = "system"
	}
	out = append(append(append(out, `{"role":"`...), name...), `","content":`...)
	return append(Quote(out, text), '}')
}

// typedText appends a block of one text that names its type.
func typedText(out []byte, kind, text string) []byte {
	out = append(append(append(out, `{"type":"`...), kind...), `","text":`...)
	return append(Quote(out, text), '}')
}

func plainTextType(Role) string { return "text" }

func plainText(out []byte, _ Role, text string) []byte { return typedText(out, "text", text) }

// anyText and contentResult are the rules of dialects in which every result may have a text as its content.
func anyText(*Part) bool { return true }

func contentResult(_ *Draft, _ *Part, lit []byte) (string, []byte) { return "content", lit }

// counted appends a member with the value in a span, if there is one, to the body of a request for a count.
func (r *Request) counted(body []byte, name string, s Span) []byte {
	if s.IsZero() {
		return body
	}
	return append(append(append(append(body, ',', '"'), name...), '"', ':'), r.Raw(s)...)
}

// dataEvent returns an event without a name, with body as its data.
func dataEvent(_ string, body []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", body) }

// openAIFailure returns an error as OpenAI writes it.
func openAIFailure(f Failure) []byte {
	return fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":%s,"code":%s}}`,
		Quote(nil, f.Message), Quote(nil, f.kind(openAIKind)), orNull(f.Param), orNull(f.Code))
}

func orNull(s string) []byte {
	if s == "" {
		return []byte("null")
	}
	return Quote(nil, s)
}

// kind returns the kind of a failure, or the usual one for its status.
func (f *Failure) kind(usual func(status int) string) string {
	if f.Kind != "" {
		return f.Kind
	}
	return usual(f.Status)
}

// openAIKind returns the type of OpenAI's error for a status.
func openAIKind(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden || status == http.StatusMisdirectedRequest:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// Alternating returns the body of a request with consecutive messages of one role joined, if the dialect wants roles to alternate: edits
// may have brought them together. Without any it returns r.Body. A message is appended to the one before it, so what was sent of a
// conversation stays as it was sent.
func (r *Request) Alternating() []byte {
	if !r.Dialect.Rules().Alternates {
		return r.Body
	}
	var edits []Edit
	first := 0 // of a run
	for i := 1; i < len(r.Messages); i++ {
		m, into := &r.Messages[i], &r.Messages[first]
		if m.Role != into.Role || m.Content.Len() <= 2 || into.Content.Len() <= 2 {
			first = i
			continue
		}
		inner := bytes.TrimSpace(r.Body[m.Content.Start+1 : m.Content.End-1])
		at := into.Content.End - 1
		if n := len(edits); n > 1 && edits[n-2].Span.Start == at {
			edits[n-2].With = join("", edits[n-2].With, ","+string(inner))
			edits[n-1].Span.End = m.Span.End
			continue
		}
		edits = append(edits, Edit{Span: Span{Start: at, End: at}, With: join(",", inner, "")}, Edit{Span: Span{Start: r.Messages[i-1].Span.End, End: m.Span.End}})
	}
	if len(edits) == 0 {
		return r.Body
	}
	body, err := Splice(r.Body, edits)
	if err != nil { // they lie in messages and apart
		return r.Body
	}
	return body
}

// Unquote appends the text of a JSON string literal (quotes included) to dst. A lone half
// of a surrogate pair becomes U+FFFD, as encoding/json has it. Bytes that are no UTF-8,
// and escapes that JSON does not know, stay as they are.
func Unquote(dst, literal []byte) []byte { return rawjson.Unquote(dst, literal) }

// Quote appends text as a JSON string literal, quotes included: the shortest form, with
// nothing escaped but what JSON demands. Bytes that are no UTF-8 become U+FFFD.
func Quote[T string | []byte](dst []byte, text T) []byte { return rawjson.Quote(dst, text) }

// Edit puts With in place of the bytes of Span. An empty span inserts.
type Edit = rawjson.Edit

// Splice returns body with the edits made, in memory of its own. The edits are sorted by
// position and do not overlap; several may insert at one place, in their order.
func Splice(body []byte, edits []Edit) ([]byte, error) { return rawjson.Splice(body, edits) }
