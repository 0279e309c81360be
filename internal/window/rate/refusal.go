package rate

import (
	"bytes"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// A Refusal is the answer of a provider that does not let a request through now.
type Refusal struct {
	// Final is true where waiting is of no use: money or a day's allowance is used up, or the request is larger than the allowance.
	Final bool
	// After is the time until the provider may be asked again; 0 where it does not say.
	After time.Duration
	// Limit is the allowance of requests a minute, where only the refusal names it.
	Limit float64
}

// finalWords are in refusals for which nobody waits; all of them in lower case.
var finalWords = [][]byte{
	[]byte("insufficient_quota"), []byte("billing_hard_limit"), []byte("usage_limit_reached"), []byte("usage_not_included"), []byte("quota_exceeded"),
	[]byte("credit balance"), []byte("request too large"), []byte("extra usage"), []byte("perday"),
}

// StatusOverloaded is Anthropic's status for "come again, it is not your fault".
const StatusOverloaded = 529

// Refused reports whether an answer refuses a request because of a rate limit or a used-up allowance, or because the provider is
// overloaded. r says how long to wait, and whether waiting is of no use.
func Refused(status int, h http.Header, body []byte) (r Refusal, ok bool) {
	switch status {
	case http.StatusTooManyRequests, StatusOverloaded:
	case http.StatusServiceUnavailable: // of an overloaded model; else the server is down, which is for the client to know
		if h.Get("Retry-After") == "" && !bytes.Contains(bytes.ToLower(body), []byte("overloaded")) {
			return r, false
		}
	default:
		return r, false
	}
	s, _ := readHeaders(h, time.Now())
	r.After = s.after
	small := bytes.ToLower(body)
	for _, words := range finalWords {
		if bytes.Contains(small, words) {
			r.Final = true
		}
	}
	if r.After == 0 {
		r.readDetails(body)
	}
	if r.After == 0 {
		r.After = waitInWords(small)
	}
	if strings.EqualFold(h.Get("X-Should-Retry"), "false") {
		r.Final = true
	}
	for _, p := range PlanOf(h) {
		if p.Status == Rejected {
			r.Final = r.Final || p.Reset.IsZero() || time.Until(p.Reset) > time.Minute
			r.After = max(r.After, time.Until(p.Reset), 0)
		}
	}
	r.After = min(r.After, maxWait)
	return r, true
}

// maxDetails bounds the details of an error that are looked at.
const maxDetails = 16

// readDetails reads the time to wait and the limit from Gemini's google.rpc.RetryInfo and QuotaFailure.
func (r *Refusal) readDetails(body []byte) {
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) {
		for first := range elements(body) {
			body = first
			break
		}
	}
	n := 0
	for d := range elements(value(body, "error", "details")) {
		if n++; n > maxDetails {
			return
		}
		if after := longestWait([]string{text(d, "retryDelay")}, time.Now()); after > 0 {
			r.After = after
		}
		for v := range elements(value(d, "violations")) {
			if n++; n > maxDetails {
				return
			}
			id := strings.ToLower(text(v, "quotaId"))
			if limit, ok := greatestNumber([]string{text(v, "quotaValue")}); ok && limit >= 1 && strings.Contains(id, "requestsperminute") {
				r.Limit = limit
			}
		}
	}
}

// elements yields the elements of a JSON array, up to the first syntax error; none for any other value.
func elements(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !bytes.HasPrefix(list, []byte("[")) {
			return
		}
		for span, err := range rawjson.Elements(list, 0) {
			if err != nil || !yield(span.Of(list)) {
				return
			}
		}
	}
}

// value returns the JSON value at a path of keys in an object; nil if there is none.
func value(object []byte, keys ...string) []byte {
	if !bytes.HasPrefix(object, []byte("{")) {
		return nil
	}
	return rawjson.Get(object, keys...).Of(object)
}

// text returns a string member of a JSON object; "" if there is none.
func text(object []byte, key string) string {
	if !bytes.HasPrefix(object, []byte("{")) {
		return ""
	}
	s, _ := rawjson.Text(object, key)
	return s
}

// waitInWords returns the duration in "try again in 1.2s", in a text in lower case; 0 if it is not there.
func waitInWords(small []byte) time.Duration {
	_, rest, ok := bytes.Cut(small, []byte("try again in "))
	if !ok {
		return 0
	}
	end := bytes.IndexFunc(rest, func(c rune) bool { return c != '.' && c != 'm' && c != 's' && c != 'h' && (c < '0' || c > '9') })
	if end < 0 {
		end = len(rest)
	}
	return max(longestWait([]string{strings.TrimRight(string(rest[:min(end, 20)]), ".")}, time.Now()), 0)
}
