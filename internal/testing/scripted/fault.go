package scripted

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A Kind is one way for a provider to go wrong.
type Kind uint8

// The kinds of faults.
const (
	None      Kind = iota
	Hang           // no answer until the client goes away
	Cut            // the connection ends in the middle of the event behind Events
	HTML           // a proxy's error page, with Status (default 502)
	Gzip           // the answer is gzip, asked for or not
	Drip           // every event in pieces of Bytes
	RateLimit      // 429: tokens per minute; no overflow
	ServerErr      // 500, or Status, in the dialect's form
	Garbage        // events that are not JSON, before the real ones
	HugeEvent      // one event of Bytes (default 2 MiB) before the real ones
)

var kinds = [...]string{"none", "hang", "cut", "html", "gzip", "drip", "rate-limit", "server-error", "garbage", "huge-event"}

// String returns the name of the fault.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// A Fault is a fault of one answer. The zero value is a good answer.
type Fault struct {
	Kind   Kind
	Events int // events written whole before Cut
	Bytes  int // of Drip (default 1) and HugeEvent
	Status int // of HTML and ServerErr
}

// FaultAt makes one fault happen to the model request of that number, and to no other.
func FaultAt(number int, f Fault) func(*Request) Fault {
	return func(r *Request) Fault {
		if r.N == number {
			return f
		}
		return Fault{}
	}
}

// replaceAnswer plays the faults that take the place of an answer; true when it did.
func (f Fault) replaceAnswer(s *stream, p *Provider, r *Request) bool {
	switch f.Kind {
	case Hang:
		<-s.Context.Done()
		s.Status = 0
		return true
	case HTML:
		s.Status = f.Status
		s.Status = cmp.Or(s.Status, http.StatusBadGateway)
		page := "<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>\n"
		s.W.Header().Set("Content-Type", "text/html; charset=UTF-8")
		s.W.WriteHeader(s.Status)
		s.W.Write([]byte(page))
		return true
	case RateLimit:
		s.Status = http.StatusTooManyRequests
		s.W.Header().Set("Retry-After", "1")
		words := fmt.Sprintf("Request too large for %s in organization org-scripted on tokens per min (TPM): Limit 30000, Requested %d. The input or output tokens must be reduced in order to run successfully.", r.Model, r.Input)
		switch r.Dialect {
		case wire.Messages:
			s.JSON(s.Status, anthropic("rate_limit_error", "This request would exceed your organization's rate limit of 30,000 input tokens per minute."))
		case wire.Gemini:
			s.JSON(s.Status, m{"error": m{"code": s.Status, "message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}})
		default:
			s.JSON(s.Status, m{"error": m{"message": words, "type": "tokens", "param": nil, "code": "rate_limit_exceeded"}})
		}
		return true
	case ServerErr:
		s.Status = f.Status
		s.Status = cmp.Or(s.Status, http.StatusInternalServerError)
		kind := "server_error"
		if r.Dialect == wire.Messages {
			kind = "api_error"
		}
		p.fail(s.W, r.Dialect, s.Status, kind, "The server had an error while processing your request.")
		return true
	}
	return false
}

// disturb plays the faults that happen before an event is written. A cut closes the connection by a panic.
func (f Fault) disturb(s *stream, text string) {
	switch {
	case f.Kind == Cut && s.Events == f.Events:
		s.Raw(text[:len(text)/2])
		s.Flush()
		panic(http.ErrAbortHandler) // closes the connection without an end
	case f.Kind == Garbage && s.Events == 0:
		s.Raw("data: {\"broken\": \ndata: \xff\xfe{{{\n\n: a comment\n\nevent: nothing\n\n")
	case f.Kind == HugeEvent && s.Events == 0:
		size := f.Bytes
		size = cmp.Or(size, 2<<20)
		s.Raw(": " + strings.Repeat(".", size) + "\n\n") // a comment
	}
}

// Why a request was refused, for [Recorded.Cause] and [Stats.Refusals].
const (
	CauseBody       = "body"       // unreadable, or no JSON
	CauseKey        = "key"        // the wrong one
	CauseHistory    = "history"    // calls without results and the like: Request.Broken has the rule
	CauseContent    = "content"    // empty texts, images, marks, prefill: Options.Strict
	CauseParameter  = "parameter"  // a parameter without its beta, or beside one it excludes
	CauseSignature  = "signature"  // reasoning that the provider did not sign, or that was changed
	CausePrefix     = "prefix"     // reasoning that is bound to another conversation
	CauseCompaction = "compaction" // a compaction request or block that the provider does not take
	CauseOverflow   = "overflow"   // the input is too long
	CauseFault      = "fault"      // Options.Fault
	CausePath       = "path"       // an unknown path
)

// A denial is a refusal in the provider's own words.
type denial struct {
	cause string
	words string
	code  string // Messages: of error.details
}

func (d *denial) Error() string { return d.words }

func deny(cause, words string) error { return &denial{cause: cause, words: words} }
