package scripted

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A Request is a model request as a script sees it. Its fields are not to be changed.
type Request struct {
	N            int // counts model requests from 0
	Dialect      wire.Dialect
	Model        string
	Stream       bool
	Header       http.Header
	Body         []byte // decoded
	Conversation string
	Tools        []Tool
	Messages     int               // elements of messages, input or contents
	LastUser     string            // the newest text of a user message
	MaxOutput    int               // tokens; 0 when the request names none
	Input        int               // tokens, by the provider's count
	Cached       int               // of those, the prefix that is in the cache
	Written      int               // of those, what the answer puts into the cache
	Usage        modelserver.Usage // what the answer reported
	// Side is true when this is no turn of the task: no tools are declared, or the client asks
	// for a summary of its own (Compaction).
	Side       bool
	Compaction bool
	// Summarize is true when the provider's own compaction is asked for: Anthropic's on-demand
	// compaction, OpenAI's /responses/compact or a compaction_trigger.
	Summarize bool
	// Broken is the rule a refused history broke.
	Broken *wire.Invalid
	// Reasoning counts the fates of the reasoning that came back; see Options.Reasoning.
	Reasoning Reasoning

	place place
	top   map[string]json.RawMessage
	list  []json.RawMessage
	bound *binding // nil without Options.Reasoning

	prefixes []prefix
	ttl      time.Duration
}

// A place is the endpoint that a path asks for.
type place struct {
	kind    string // "model", "count", "models" or ""
	dialect wire.Dialect
	model   string // when the path names it
	stream  bool   // when the path says it
	array   bool   // Gemini: a stream without alt=sse is one JSON array
	compact bool   // Responses: /responses/compact
	framed  bool   // Bedrock: a stream in event frames
}

// route reads method and path. The base may be any prefix.
func route(r *http.Request) place {
	path := strings.TrimSuffix(r.URL.Path, "/")
	last := path[strings.LastIndexByte(path, '/')+1:]
	p := place{dialect: wire.Chat}
	switch {
	case strings.Contains(path, "/v1beta") || strings.Contains(path, "/v1alpha") || strings.Contains(last, "enerateContent") || strings.Contains(last, ":countTokens"):
		p.dialect = wire.Gemini
	case r.Header.Get("anthropic-version") != "" || strings.Contains(path, "/messages"):
		p.dialect = wire.Messages
	case last == "responses", strings.HasSuffix(path, "/responses/compact"):
		p.dialect = wire.Responses
	}
	if r.Method == http.MethodGet && (last == "models" || strings.Contains(path, "/models/")) {
		p.kind = "models"
		return p
	}
	if r.Method != http.MethodPost {
		return p
	}
	model, verb, _ := strings.Cut(last, ":")
	head, id := path[:len(path)-len(last)], ""
	if at := strings.LastIndex(head, "/model/"); at >= 0 {
		id = strings.TrimSuffix(head[at+len("/model/"):], "/")
	}
	switch {
	case id != "" && (last == "converse" || last == "converse-stream"):
		p.kind, p.dialect, p.model, p.stream = "model", wire.Converse, id, last != "converse"
	case id != "" && last == "count-tokens":
		p.kind, p.dialect, p.model = "count", wire.Converse, id
	case last == "completions" && strings.HasSuffix(path, "/chat/completions"), last == "responses":
		p.kind = "model"
	case last == "messages":
		p.kind = "model"
	case strings.HasSuffix(path, "/responses/compact"):
		p.kind, p.compact = "model", true
	case last == "count_tokens":
		p.kind = "count"
	case verb == "countTokens":
		p.kind = "count"
	case verb == "generateContent" || verb == "streamGenerateContent":
		p.kind, p.model, p.stream = "model", model, verb == "streamGenerateContent"
		p.array = p.stream && r.URL.Query().Get("alt") != "sse"
	case verb == "rawPredict" || verb == "streamRawPredict":
		p.kind, p.model, p.dialect = "model", model, wire.Messages
	case id != "" && (last == "invoke" || last == "invoke-with-response-stream"):
		p.kind, p.dialect, p.model, p.stream = "model", wire.Messages, id, last != "invoke"
		p.framed = p.stream
	}
	return p
}

// readBody returns the body of a request as it came, and decompressed. A body that is too large, or in an unknown encoding, is an error.
func readBody(r *http.Request) (raw, body []byte, err error) {
	raw, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read the body: %w", err)
	}
	if len(raw) > maxBody {
		return nil, nil, errors.New("the body is larger than 256 MiB")
	}
	var in io.Reader
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return raw, raw, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return raw, nil, fmt.Errorf("gzip: %w", err)
		}
		in = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return raw, nil, fmt.Errorf("zstd: %w", err)
		}
		defer z.Close()
		in = z
	default:
		return raw, raw, fmt.Errorf("unknown Content-Encoding %q", encoding)
	}
	body, err = io.ReadAll(io.LimitReader(in, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errors.New("the decoded body is larger than 256 MiB")
	}
	return raw, body, err
}

var errParse = deny(CauseBody, "We could not parse the JSON body of your request.")

var lists = map[wire.Dialect]string{wire.Chat: "messages", wire.Responses: "input", wire.Messages: "messages", wire.Gemini: "contents", wire.Converse: "messages"}

func readRequest(p place, hr *http.Request, body []byte) (*Request, error) {
	r := &Request{Dialect: p.dialect, Model: p.model, Stream: p.stream, Header: hr.Header, Body: body, place: p}
	if err := json.Unmarshal(body, &r.top); err != nil || r.top == nil {
		return nil, errParse
	}
	if p.model == "" {
		json.Unmarshal(r.top["model"], &r.Model)
	}
	if p.dialect != wire.Gemini && p.dialect != wire.Converse {
		json.Unmarshal(r.top["stream"], &r.Stream)
	}
	json.Unmarshal(r.top[lists[p.dialect]], &r.list) // Responses: may be a string
	r.Messages = len(r.list)
	r.readMaxOutput()
	r.Tools = r.readTools()
	r.LastUser = r.lastUser()
	r.Summarize = p.compact || r.compactionItem()
	r.Compaction = r.Summarize || asksForSummary(r)
	r.Side = len(r.Tools) == 0 || r.Compaction
	return r, nil
}

// readMaxOutput sets r.MaxOutput by the member that the request's dialect has for it.
func (r *Request) readMaxOutput() {
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		json.Unmarshal(r.top[name], &r.MaxOutput)
	}
	var g struct{ MaxOutputTokens int }
	if json.Unmarshal(r.top["generationConfig"], &g) == nil && g.MaxOutputTokens > 0 {
		r.MaxOutput = g.MaxOutputTokens
	}
	var c struct{ MaxTokens int }
	if json.Unmarshal(r.top["inferenceConfig"], &c) == nil && c.MaxTokens > 0 {
		r.MaxOutput = c.MaxTokens
	}
}

// lastUser finds the newest text of the user, which may share its message with results.
func (r *Request) lastUser() string {
	if r.list == nil {
		var s string
		json.Unmarshal(r.top[lists[r.Dialect]], &s)
		return s
	}
	for i := len(r.list) - 1; i >= 0; i-- {
		if text := userText(r.list[i]); text != "" {
			return text
		}
	}
	return ""
}

// userText returns the last text of a user message, "" of anything else.
func userText(raw json.RawMessage) string {
	var e struct {
		Role           string
		Content, Parts json.RawMessage
	}
	if json.Unmarshal(raw, &e) != nil || e.Role != "user" {
		return ""
	}
	var plain string
	if json.Unmarshal(e.Content, &plain) == nil {
		return plain
	}
	if e.Parts != nil {
		e.Content = e.Parts
	}
	var parts []struct{ Text string }
	json.Unmarshal(e.Content, &parts)
	for k := len(parts) - 1; k >= 0; k-- {
		if parts[k].Text != "" {
			return parts[k].Text
		}
	}
	return ""
}

// summaries are words of the clients' own requests for a summary of the conversation, as
// they stand in its last message.
var summaries = []string{
	"Your task is to create a detailed summary of",                                  // Claude Code
	"CONTEXT CHECKPOINT COMPACTION",                                                 // Codex, local
	"anchored summary", "Provide a detailed prompt for continuing our conversation", // opencode
}

// asksForSummary looks at the last element alone: a summary once given stays in the
// history, words and all.
func asksForSummary(r *Request) bool {
	if len(r.list) == 0 {
		return false
	}
	last := r.list[len(r.list)-1]
	text := userText(last)
	for _, words := range summaries {
		if strings.Contains(text, words) {
			return true
		}
	}
	// Gemini CLI and Qwen Code ask without tools; with them it is a summary in the history.
	return len(r.Tools) == 0 && strings.Contains(text, "<state_snapshot>")
}

// compactionItem reports whether Codex wants one compaction item and nothing else.
func (r *Request) compactionItem() bool {
	return r.Dialect == wire.Responses && len(r.list) > 0 && bytes.Contains(r.list[len(r.list)-1], []byte(`"compaction_trigger"`))
}
