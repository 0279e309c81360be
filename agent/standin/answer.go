package standin

import (
	"fmt"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// created is the time at which the stand-in claims that it and its answers were made: the same answer to
// the same request, to the byte.
const created = 1_767_225_600 // 2026-01-01T00:00:00Z

// reply is the planner's answer: words or calls.
type reply struct {
	text    string
	refusal string // why it will not answer
	calls   []call
}

// answer returns a reply in the words of the server, as far as the answer may be long.
func (a *request) answer(r reply) *modelserver.Answer {
	out := &modelserver.Answer{
		Model: Model, Fingerprint: Owner, Created: created, Stream: a.stream, IncludeUsage: a.usage, Refusal: r.refusal,
		NewID: func(prefix string) string { return prefix + a.digest },
	}
	spent := 1
	for i, c := range r.calls {
		out.Calls = append(out.Calls, modelserver.Call{ID: fmt.Sprintf("call_%s%02d", a.digest[:20], i), Name: c.name, Arguments: c.arguments})
		spent += 4 + tokens.O200K().Count([]byte(c.name+c.arguments))
	}
	text, n := shortened(r.text, a.output-spent)
	if len(text) < len(r.text) || spent > a.output {
		out.Stop = "length"
	}
	if spent > a.output && len(out.Calls) > 0 { // no part of a call: nobody could make it
		out.Calls, spent = nil, a.output
	}
	out.Text, out.Usage = text, modelserver.Usage{Input: a.input, Output: spent + n}
	return out
}

// shortened returns as much of a text as so many tokens are, on the boundary of a rune, and how
// many tokens that is.
func shortened(text string, most int) (string, int) {
	all := tokens.O200K().Append(nil, []byte(text))
	if len(all) <= max(most, 0) {
		return text, len(all)
	}
	size := 0
	for _, token := range all[:max(most, 0)] {
		size += len(tokens.O200K().Bytes(token))
	}
	return text[:limit.Boundary(text, min(size, len(text)))], max(most, 0)
}

// write writes an answer, and reports whether it went out whole.
func (s *Standin) write(w http.ResponseWriter, r *http.Request, a *modelserver.Answer) bool {
	out := &modelserver.Stream{W: w, Context: r.Context(), Delay: s.o.Delay, Timeout: writeTimeout}
	if a.Stream && take(&s.cutLeft) {
		out.Each = func(event string) bool {
			if out.Events == 2 { // the head and a piece are out
				out.Raw(event[:len(event)/2])
				out.Flush()
				s.brokenOff.Add(1)
				panic(http.ErrAbortHandler) // ends the connection without an end of the answer
			}
			return false
		}
	}
	if out.Chat(a); out.Err != nil {
		s.brokenOff.Add(1)
		return false
	}
	return true
}
