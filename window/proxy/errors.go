package proxy

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A refusal is an answer that Plimsoll gives itself. Its text is for the agent's user: it
// names the value and the next step, and holds no secret.
type refusal struct {
	status int
	reason string // of journal.WindowRefused
	text   string
	retry  time.Duration // sent as Retry-After
	// form is the dialect's own: its error code or type for this status, "" for the usual.
	code string
}

func (e *refusal) Error() string { return e.text }

// refuse answers with e in the form of the route's dialect, and writes it down.
func (p *Proxy) refuse(w http.ResponseWriter, rt *route, e *refusal) {
	name, model, request := "", "", uint64(0)
	if rt != nil && rt.up != nil {
		name, model, request = rt.up.Name, rt.asked, rt.request
	}
	p.event(journal.WindowRefused{Upstream: name, Model: model, Request: request, Status: e.status, Reason: e.reason, Text: e.text})
	body := errorBody(rt, e)
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if e.retry > 0 {
		h["Retry-After"] = []string{strconv.Itoa(int((e.retry + time.Second - 1) / time.Second))}
	}
	if rt != nil && rt.up != nil && rt.up.Provider == Bedrock {
		h["X-Amzn-Errortype"] = []string{bedrockError(e.status)}
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

// errorBody is the JSON that clients of the dialect know how to read.
func errorBody(rt *route, e *refusal) []byte {
	text := wire.Quote(nil, e.text)
	provider := OpenAI
	if rt != nil && rt.up != nil {
		provider = rt.up.Provider
	}
	if rt != nil && rt.model && provider != Bedrock {
		switch rt.dialect {
		case wire.Messages:
			provider = Anthropic
		case wire.Gemini:
			provider = Gemini
		default:
			provider = OpenAI
		}
	}
	switch provider {
	case Anthropic:
		return fmt.Appendf(nil, `{"type":"error","error":{"type":%q,"message":%s}}`, anthropicError(e), text)
	case Gemini, Vertex:
		return fmt.Appendf(nil, `{"error":{"code":%d,"message":%s,"status":%q}}`, e.status, text, googleStatus(e.status))
	case Bedrock:
		return fmt.Appendf(nil, `{"message":%s}`, text)
	}
	code := "null"
	if e.code != "" {
		code = strconv.Quote(e.code)
	}
	return fmt.Appendf(nil, `{"error":{"message":%s,"type":%q,"param":null,"code":%s}}`, text, openAIError(e.status), code)
}

func openAIError(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden || status == http.StatusMisdirectedRequest:
		return "permission_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func anthropicError(e *refusal) string {
	switch {
	case e.status == http.StatusUnauthorized:
		return "authentication_error"
	case e.status == http.StatusForbidden || e.status == http.StatusMisdirectedRequest:
		return "permission_error"
	case e.status == http.StatusNotFound:
		return "not_found_error"
	case e.status == http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case e.status == http.StatusServiceUnavailable:
		return "overloaded_error"
	case e.status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

func googleStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden, http.StatusMisdirectedRequest:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

func bedrockError(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusMisdirectedRequest:
		return "AccessDeniedException"
	case status == http.StatusServiceUnavailable:
		return "ServiceUnavailableException"
	case status >= 500:
		return "InternalServerException"
	}
	return "ValidationException"
}

// tooLong says in the provider's own words that a request cannot be made to fit, so that
// clients which look for those words understand it; then what Plimsoll found out.
func tooLong(d wire.Dialect, tokens, limit int, detail string) *refusal {
	e := &refusal{status: http.StatusBadRequest, reason: "does_not_fit", code: "context_length_exceeded"}
	switch d {
	case wire.Messages:
		e.text = fmt.Sprintf("prompt is too long: %d tokens > %d maximum. Plimsoll: %s", tokens, limit, detail)
	case wire.Gemini:
		e.text = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d). Plimsoll: %s", tokens, limit, detail)
	case wire.Responses:
		e.text = fmt.Sprintf("Your input exceeds the context window of this model: %d tokens, the window is %d. Plimsoll: %s", tokens, limit, detail)
	default:
		e.text = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Plimsoll: %s", limit, tokens, detail)
	}
	return e
}
