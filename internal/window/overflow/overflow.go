// Package overflow recognises that a model provider refused a request because it is too long, in the words of every provider that was seen,
// and reads the numbers in them; the proxy recovers by it. [Classify] takes a response, [Event] one event of a stream, [StopReason] the
// reason for which an answer ended, and [SilentTruncation] tells from the usage that a server threw input away without a word.
//
// One table has a row for each form: provider, statuses, code and phrase, with {limit}, {actual} and {output} for numbers. Another holds
// what looks alike and is something else, such as rate limits in tokens; those never match. The tests hold the literal bodies.
//
// All functions are pure. Of a body 64 KiB are read, and only members with the provider's words, never the echo of a request. Whether a
// limit is plausible is for the one who learns it to say: a server once named 3.
package overflow

import (
	"bytes"
	"mime"
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/refusal"
)

// An Overflow holds the facts in a refusal.
type Overflow struct {
	// Form names the row that matched, for events and metrics: "anthropic.prompt", …
	Form string
	// Provider is whose form it is; compatible servers borrow it.
	Provider string
	// Limit is the window in tokens, Actual the input that was counted, Output the requested
	// output; 0 where the text does not name them. Limits in bytes or characters are not
	// reported: they say nothing about tokens.
	Limit, Actual, Output int
	// AtLeast is true when the server stopped counting at Actual: the input may be longer.
	AtLeast bool
	// LowerOutput is true when the input alone fits into Limit: asking for less output is enough.
	LowerOutput bool
}

// Classify reports whether a response refuses a request as too long. The body must be
// decoded (no gzip); its first 64 KiB are read. A 429 and a 5xx never are such a refusal,
// except for the 500 of servers that use it for this. A 200 is one only when it carries an
// error; its events are looked at one by one when contentType is text/event-stream.
func Classify(status int, contentType string, body []byte) (Overflow, bool) {
	body = body[:min(len(body), refusal.MaxBody)]
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "text/event-stream" {
		for data := range refusal.Events(body) {
			if o, ok := classifyOne(status, data); ok {
				return o, true
			}
		}
		return Overflow{}, false
	}
	return classifyOne(status, body)
}

// Event reports whether one event of a stream refuses the request as too long. Data is what
// follows "data:"; the first 64 KiB are read.
func Event(data []byte) (Overflow, bool) {
	return classifyOne(200, data)
}

// Busy reports whether an error says that a rate, a quota or the account's money is used up, so that no change of the request helps. It
// reads the first 64 KiB.
func Busy(body []byte) bool {
	w := refusal.Read(body, false)
	return slices.ContainsFunc(others[:], func(o other) bool { return o.busy && o.matches(w) })
}

// classifyOne returns the overflow in one answer; false if it does not refuse the request as too long. An error inside of a 200 or 400, as
// gateways send it, counts as that error.
func classifyOne(status int, body []byte) (Overflow, bool) {
	switch status {
	case 200, 400, 413, 422, 500:
	default:
		return Overflow{}, false
	}
	w := refusal.Read(body, status == 200)
	if w.Status != 0 && w.Status != status {
		// A gateway that answers 200, or 400 for everything, names the real status inside.
		if w.Status == 429 || w.Status >= 500 {
			return Overflow{}, false
		}
		if status == 200 && w.Status >= 400 && w.Status < 500 {
			status = w.Status
		}
	}
	if len(w.Texts) == 0 && len(w.Codes) == 0 {
		return classifySilent(status, body)
	}
	if slices.ContainsFunc(others[:], func(o other) bool { return o.matches(w) }) {
		return Overflow{}, false
	}
	for i := range table {
		if o, ok := table[i].matchRow(status, w); ok {
			return o, true
		}
	}
	if status == 413 {
		return Overflow{Form: "http.413", Provider: "any"}, true
	}
	return Overflow{}, false
}

// classifySilent returns the overflow for an error without words; false for other errors. Cerebras, and Mistral at times, answer a long
// request with 400 or 413 and no body; a 413 is about length whatever its body is.
func classifySilent(status int, body []byte) (Overflow, bool) {
	if status == 413 || status == 400 && len(bytes.TrimSpace(body)) == 0 {
		return Overflow{Form: "http.no_body", Provider: "cerebras"}, true
	}
	return Overflow{}, false
}

// StopReason reports whether an answer ended because the window was full: Anthropic's newer
// models, Bedrock Converse and GLM say model_context_window_exceeded in place of an error.
// An answer that reached its own max_tokens (length, MAX_TOKENS, incomplete) is no overflow.
func StopReason(reason string) (Overflow, bool) {
	if reason == "model_context_window_exceeded" {
		return Overflow{Form: "stop." + reason, Provider: "anthropic"}, true
	}
	return Overflow{}, false
}

// Bounds of [SilentTruncation]: below 1,024 tokens a chat template's own tokens and the
// error of an estimate are as large as what could have been cut.
const (
	truncationFloor = 1024
	truncationShare = 0.75
)

// SilentTruncation reports whether a server that took a request without complaint must have
// thrown input away: it reports having read less than three quarters of the lower estimate
// of that input. Ollama cuts the oldest messages down to num_ctx and answers 200; what it
// reports is then close to its window. Both are in tokens, a reported 0 means that there
// was no report, and tokens read from a prompt cache must be in it.
func SilentTruncation(low, reported int) bool {
	return low >= truncationFloor && reported > 0 && float64(reported) < truncationShare*float64(low)
}
