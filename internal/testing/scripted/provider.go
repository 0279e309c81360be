// Package scripted is a model provider that plays a script. It speaks the protocols of providers well enough for real agent CLIs, and is as
// strict as the real ones: a history with an orphaned tool call, or an input over the window, is refused in the provider's own words.
//
//	p := scripted.New(scripted.Options{Window: 40_000, Script: scripted.Shells("finished", "cat a.log", "cat b.log")})
//	server := httptest.NewServer(p)
//
// A [Script] says what the model answers in which turn; its calls (Shell, Read) become calls of whatever tool for that the request declares,
// so that one script drives every client. A refused or failed request is the same turn again. Requests without tools, and a client's own
// compaction, go to Options.Side. Options.Reasoning plays what newer models bind their reasoning to ([RuleOf]), [Fault] what goes wrong on the
// way. Whether an answer gets better or worse without a block of reasoning is not played.
//
// Usage includes what a prompt cache would have found, which lives by Options.Now. The newest requests are kept, within Options.RecordBytes
// ([Provider.Requests]). A Provider may be used by any number of connections.
package scripted

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// DefaultRecordBytes bounds the kept requests, in bytes of decoded bodies.
	DefaultRecordBytes = 64 << 20
	// maxBody bounds one request, decoded. Real providers take 20 to 50 MiB.
	maxBody = 256 << 20
	// maxConversations bounds the turns that are counted; beyond it all start anew.
	maxConversations = 10_000
)

// Options of a Provider. The zero value answers "ok" to everything.
type Options struct {
	// Script gives the answer to each turn. Default: the text "ok".
	Script Script
	// Side answers requests without tools and a client's own compaction. Default: a short
	// title, or a summary in the form the client asks for.
	Side Script
	// Window is the largest input in tokens; 0 has no limit.
	Window int
	// WithOutput demands that input and requested output fit into Window together, as
	// Anthropic's older models and the OpenAI-compatible servers do.
	WithOutput bool
	// Form names the refusal of a longer input, see [Forms]. Default: the dialect's own.
	Form string
	// Tokenizer counts text. Default: [Simple].
	Tokenizer Tokenizer
	// Lenient accepts histories that the real provider would refuse.
	Lenient bool
	// Bedrock makes Messages Amazon Bedrock's: ids of 1 to 64 characters, its own words and
	// its own form of errors.
	Bedrock bool
	// CheckSignatures refuses thinking that this provider did not sign, in the last turn of
	// a Messages history: the real one refuses thinking that was changed. Reasoning, which
	// checks more, takes its place.
	CheckSignatures bool
	// Reasoning is the rule for a model: what the reasoning of Messages and Responses is bound
	// to. [RuleOf] is the published one. Default: nothing is bound.
	Reasoning func(model string) Rule
	// Strict refuses content that the real provider refuses and the validators let pass: see
	// content.go. Messages only.
	Strict bool
	// Fault returns the fault of a model request; N counts them from 0.
	Fault func(r *Request) Fault
	// Usage, when set, maps the counted input to what is reported: to play a provider whose
	// reports are under the truth.
	Usage func(input int) int
	// Marked caches of a Messages request only what cache_control marks, as Anthropic does.
	// Default: one without marks is cached whole.
	Marked bool
	// Now is the clock of the cache. Default: time.Now.
	Now func() time.Time
	// Conversation returns a key for the conversation of a request. Default: all requests are one.
	Conversation func(r *Request) string
	// Models are the ids of the model list. Default: one per protocol.
	Models []string
	// Key, when set, must be in Authorization, x-api-key or x-goog-api-key.
	Key string
	// RecordBytes bounds what is kept of requests. Default: DefaultRecordBytes.
	RecordBytes int
}

// A Provider is an http.Handler. Create it with New.
type Provider struct {
	o      Options
	record recorder
	prefix prefixes
	count  counter
	parser parser
	stats  stats
	number atomic.Int64 // of model requests
	ids    atomic.Int64
	mu     sync.Mutex
	turns  map[string]int
}

// New makes a Provider. An unknown Form is a mistake in a test and panics.
func New(o Options) *Provider {
	if o.Form != "" && forms[o.Form].write == nil {
		panic(fmt.Sprintf("scripted: no form %q; there are %s", o.Form, strings.Join(Forms(), ", ")))
	}
	if o.Script == nil {
		o.Script = func(int, *Request) Reply { return Reply{Text: "ok"} }
	}
	if o.Side == nil {
		o.Side = answerAside
	}
	if o.Tokenizer == nil {
		o.Tokenizer = Simple
	}
	o.RecordBytes = cmp.Or(o.RecordBytes, DefaultRecordBytes)
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Models) == 0 {
		o.Models = []string{"gpt-5.1", "claude-sonnet-4-5", "gemini-2.5-pro"}
	}
	p := &Provider{o: o, turns: map[string]int{}}
	p.record.limit = o.RecordBytes
	p.count.tokenizer = o.Tokenizer
	return p
}

// Turns returns how many turns of a conversation have been answered; "" is the only one
// when Options.Conversation is nil.
func (p *Provider) Turns(conversation string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns[conversation]
}

// Refused returns how many model requests were refused, for whatever reason.
func (p *Provider) Refused() int { return p.Stats().Refused }

func (p *Provider) id(prefix string) string {
	n := p.ids.Add(1)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%d", prefix, n))
	return prefix + hex.EncodeToString(sum[:12])
}

func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, body, err := readBody(r)
	sum := sha256.Sum256(raw)
	w.Header().Set("Scripted-Digest", hex.EncodeToString(sum[:]))
	kept := &Recorded{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Host: r.Host, Header: r.Header.Clone(), Body: body, Digest: hex.EncodeToString(sum[:])}
	defer func() {
		p.stats.add(kept)
		p.record.add(kept)
	}()
	if err != nil {
		kept.refuse(http.StatusBadRequest, CauseBody, err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := route(r)
	kept.Kind = path.kind
	switch {
	case r.Method == http.MethodHead && r.URL.Path == "/":
		kept.Status = http.StatusOK
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		kept.Status = http.StatusUpgradeRequired
		w.Header().Set("Upgrade", "h2c")
		p.fail(w, path.dialect, kept.Status, "invalid_request_error", "WebSocket is not available here.")
	case p.o.Key != "" && !authorised(r, p.o.Key):
		kept.refuse(http.StatusUnauthorized, CauseKey, "key")
		p.fail(w, path.dialect, http.StatusUnauthorized, "authentication_error", "Incorrect API key provided.")
	case path.kind == "models":
		kept.Status = http.StatusOK
		p.models(w, r)
	case path.kind == "count":
		p.answerCount(w, r, path, body, kept)
	case path.kind == "model":
		p.answerModel(w, r, path, body, kept)
	default:
		kept.refuse(http.StatusNotFound, CausePath, "")
		p.fail(w, path.dialect, http.StatusNotFound, "not_found_error", "Unknown request URL: "+r.Method+" "+r.URL.Path)
	}
}

// answerModel answers one model request.
func (p *Provider) answerModel(w http.ResponseWriter, hr *http.Request, path place, body []byte, kept *Recorded) {
	r, err := readRequest(path, hr, body)
	if err != nil {
		p.refuse(w, path.dialect, kept, err)
		return
	}
	r.N = int(p.number.Add(1) - 1)
	if p.o.Conversation != nil {
		r.Conversation = p.o.Conversation(r)
	}
	kept.Request = r
	if err := p.check(r); err != nil {
		p.refuse(w, r.Dialect, kept, err)
		return
	}
	p.measure(r)
	kept.Input = r.Input
	fault := Fault{}
	if p.o.Fault != nil {
		fault = p.o.Fault(r)
	}
	out := newStream(w, hr, fault)
	if fault.replaceAnswer(out, p, r) {
		kept.refuse(out.Status, CauseFault, "fault "+fault.Kind.String())
		return
	}
	if over := p.overflow(r); over != nil {
		kept.refuse(http.StatusBadRequest, CauseOverflow, "overflow "+over.form)
		kept.Status = over.answer(out, p, r)
		return
	}
	turn, reply := p.reply(r)
	reply.resolve(p, r)
	kept.Turn, kept.Status = turn, http.StatusOK
	if fault.Kind != None {
		kept.Note = "fault " + fault.Kind.String()
	}
	p.remember(r)
	out.answer(p, r, reply)
	if !r.Side && out.Err == nil {
		p.advance(r.Conversation, turn)
	}
}

// reply returns the script's reply to a request, and the number of its turn in the conversation; -1 for a request beside the task.
func (p *Provider) reply(r *Request) (int, Reply) {
	if r.Side {
		return -1, p.o.Side(-1, r)
	}
	p.mu.Lock()
	turn := p.turns[r.Conversation]
	p.mu.Unlock()
	return turn, p.o.Script(turn, r)
}

// advance notes that a turn of a conversation was answered.
func (p *Provider) advance(conversation string, turn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.turns) >= maxConversations {
		clear(p.turns)
	}
	p.turns[conversation] = max(p.turns[conversation], turn+1)
}

// check holds a request to every rule but that of its size.
func (p *Provider) check(r *Request) error {
	if !p.o.Lenient {
		if err := p.validate(r); err != nil {
			return err
		}
	}
	if p.o.Strict && r.Dialect == wire.Messages {
		if err := p.checkContent(r); err != nil {
			return err
		}
	}
	switch {
	case p.o.Reasoning == nil:
		if p.o.CheckSignatures && !p.o.Lenient && r.Dialect == wire.Messages {
			return checkSignatures(r)
		}
	case r.Dialect == wire.Messages:
		if err := p.checkReasoning(r); err != nil {
			return err
		}
		summarize, err := p.summarizes(r)
		if summarize {
			r.Summarize, r.Compaction, r.Side = true, true, true
		}
		return err
	case r.Dialect == wire.Responses:
		return p.checkItems(r)
	}
	return nil
}

// validate checks a request with the validators of its dialect, and notes in r.Broken what is wrong.
func (p *Provider) validate(r *Request) error {
	body := p.validated(r)
	err := wire.Validate(r.Dialect, body)
	if p.bedrock(r.Dialect) {
		err = wire.ValidateBedrock(body)
	}
	if invalid, ok := errors.AsType[*wire.Invalid](err); ok {
		r.Broken = invalid
		if p.bedrock(r.Dialect) {
			return deny(CauseHistory, invalid.BedrockText())
		}
		return deny(CauseHistory, invalid.ProviderText(r.Dialect))
	}
	return nil
}

func (p *Provider) bedrock(d wire.Dialect) bool { return p.o.Bedrock && d == wire.Messages }

// refuse answers 400 in the dialect's form.
func (p *Provider) refuse(w http.ResponseWriter, d wire.Dialect, kept *Recorded, err error) {
	cause := CauseHistory
	denied, ok := errors.AsType[*denial](err)
	if ok {
		cause = denied.cause
	}
	kept.refuse(http.StatusBadRequest, cause, err.Error())
	if ok && denied.code != "" && d == wire.Responses {
		writeJSON(w, http.StatusBadRequest, m{"error": m{"message": denied.words, "type": "invalid_request_error", "param": "input", "code": denied.code}})
		return
	}
	if ok && denied.code != "" {
		w.Header().Set("request-id", p.id("req_"))
		writeJSON(w, http.StatusBadRequest, m{
			"type": "error", "request_id": p.id("req_"),
			"error": m{"type": "invalid_request_error", "message": denied.words, "details": m{"error_code": denied.code}},
		})
		return
	}
	p.fail(w, d, http.StatusBadRequest, "invalid_request_error", err.Error())
}

// fail writes an error object as the dialect's provider does.
func (p *Provider) fail(w http.ResponseWriter, d wire.Dialect, status int, kind, words string) {
	out := &modelserver.Stream{W: w}
	f := wire.Failure{Status: status, Kind: kind, Message: words}
	switch {
	case p.bedrock(d), d == wire.Converse:
		w.Header().Set("x-amzn-ErrorType", "ValidationException")
		out.JSON(status, m{"message": words})
		return
	case d == wire.Messages:
		w.Header().Set("request-id", p.id("req_"))
		f.ID = p.id("req_")
	case d == wire.Responses:
		f.Param = "input"
	}
	out.Fail(d, f)
}

func authorised(r *http.Request, key string) bool {
	return r.Header.Get("Authorization") == "Bearer "+key || r.Header.Get("x-api-key") == key ||
		r.Header.Get("x-goog-api-key") == key || r.URL.Query().Get("key") == key
}

// created is a fixed time, so that answers are the same from run to run.
var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Unix()
