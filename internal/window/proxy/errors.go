package proxy

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A refusal is an answer of Plimsoll's own in place of a provider's. Its text is for the agent's user: it names the value and the next
// step, and holds no secret.
type refusal struct {
	status int
	reason string // of journal.WindowRefused
	text   string
	retry  time.Duration // sent as Retry-After
	// code is the dialect's error code or type for this refusal, "" for the usual one of the status.
	code string
}

func (e *refusal) Error() string { return e.text }

// answerRefusal answers with e in the form of the route's dialect, and journals it. For a nil rt the form is OpenAI's.
func (p *Proxy) answerRefusal(w http.ResponseWriter, rt *route, e *refusal) {
	name, model, request := "", "", uint64(0)
	if rt != nil && rt.up != nil {
		name, model, request = rt.up.Name, rt.asked, rt.request
	}
	p.journalEvent(journal.WindowRefused{Upstream: name, Model: model, Request: request, Status: e.status, Reason: e.reason, Text: e.text})
	body := errorBody(rt, e)
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if e.retry > 0 {
		h["Retry-After"] = []string{strconv.Itoa(int((e.retry + time.Second - 1) / time.Second))}
	}
	if d := formOf(rt).Rules(); d.ErrorHeader != nil {
		name, value := d.ErrorHeader(e.failure())
		h[name] = []string{value}
	}
	switch e.status {
	case http.StatusUnauthorized: // RFC 9110, section 15.5.2: it says how to come in
		h["Www-Authenticate"] = []string{`Bearer realm="plimsoll"`}
	case http.StatusUnsupportedMediaType: // RFC 9110, section 15.5.16
		h["Accept-Encoding"] = []string{wire.Encodings}
	case http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable, http.StatusRequestTimeout:
		// The body may not have been read; draining 200 MB to keep one connection is no gain.
		h["Connection"] = []string{"close"}
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(body)
}

// forms are the dialects of the errors that providers return where no model is asked; providers that are not listed use OpenAI's.
var forms = map[Provider]wire.Dialect{Anthropic: wire.Messages, Gemini: wire.Gemini, Vertex: wire.Gemini, Bedrock: wire.Converse}

// formOf returns the dialect in which the client expects an error; OpenAI's Chat for a nil route.
func formOf(rt *route) wire.Dialect {
	d := wire.Chat
	if rt != nil && rt.up != nil {
		if form, ok := forms[rt.up.Provider]; ok {
			d = form
		}
		if rt.model && rt.up.Provider != Bedrock { // which has one form for all that it speaks
			d = rt.dialect
		}
	}
	return d
}

// failure returns the refusal as package wire takes it.
func (e *refusal) failure() wire.Failure {
	return wire.Failure{Status: e.status, Message: e.text, Code: e.code}
}

// errorBody returns the refusal as JSON in the form that the route's clients expect.
func errorBody(rt *route, e *refusal) []byte { return formOf(rt).Rules().Error(e.failure()) }

// overLimit returns the refusal of a request because a limit that a person has set is used up. reason is that of [journal.WindowRefused]. Its
// status is one that clients take as final: of those that say "later" they try again for hours.
func overLimit(rt *route, reason, text string) *refusal {
	return &refusal{status: cmp.Or(formOf(rt).Rules().Final, http.StatusBadRequest), reason: reason, text: "Plimsoll: " + text}
}

// tooLong returns the refusal of a request that cannot be made to fit, in the provider's own words, for clients that look for those; then
// what Plimsoll found out, which is detail.
func tooLong(d wire.Dialect, tokens, limit int, detail string) *refusal {
	return &refusal{
		status: http.StatusBadRequest, reason: "does_not_fit", code: "context_length_exceeded",
		text: d.Rules().TooLong(tokens, limit) + " Plimsoll: " + detail,
	}
}
