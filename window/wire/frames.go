package wire

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/plimsoll/plimsoll/internal/eventstream"
	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// frameHeld bounds the event frames that are looked into, in bytes: the events of a model are far smaller. A larger frame passes unread.
const frameHeld = 256 << 10

// frameOutput returns the model's output in a frame: its payload, or for InvokeModel the bytes in it, decoded into scratch, which is
// reused. It is nil if they cannot be decoded.
func frameOutput(e *eventstream.Frame, scratch *[]byte) []byte {
	if e.Name != "chunk" {
		return e.Payload
	}
	at := rawjson.Get(e.Payload, "bytes")
	if at.Len() < 2 || e.Payload[at.Start] != '"' {
		return nil
	}
	lit := e.Payload[at.Start+1 : at.End-1]
	plain, err := base64.StdEncoding.AppendDecode((*scratch)[:0], lit)
	if err != nil {
		return nil
	}
	*scratch = plain
	return plain
}

// frameError returns an exception frame as the JSON object of an error.
func frameError(e *eventstream.Frame) []byte {
	message := e.Message
	if text, ok := rawjson.Text(e.Payload, "message"); ok {
		message = text
	}
	out := Quote([]byte(`{"type":"error","error":{"type":`), e.Name)
	return append(Quote(append(out, `,"message":`...), message), "}}"...)
}

// End marks a part as one end of a pair that the provider, or a person, answers rather than the client: a tool of the
// provider's own and what it found, a program and its output, a request for an approval and the approval. What the
// client runs is a [Call] and a [Result] instead.
//
// The two ends are told by their names and paired by their id, so that kinds nobody knows yet are paired too: "_use",
// "_call" and "_request" open; "_result", "_output" and "_response" close. The public schemas of Anthropic (Messages
// beta), OpenAI (Responses) and Google (toolCall and toolResponse) keep to that, but for "program" and "executableCode"
// (looked up 2026-11). Google's need no id: the two then stand one behind the other.
type End uint8

// The ends.
const (
	NoEnd  End = iota
	Opens      // asks for something; its id is its own
	Closes     // brings what was asked for; its id is of the part that asked
)

// pairEnd returns whether a block, item or part opens or closes a pair by the last word of its type, such as server_tool_use or toolResult;
// NoEnd for any other.
func pairEnd(kind string) End {
	at := strings.LastIndexFunc(kind, func(r rune) bool { return r == '_' || r >= 'A' && r <= 'Z' })
	switch strings.ToLower(strings.TrimPrefix(kind[max(at, 0):], "_")) {
	case "use", "call", "request", "program", "code":
		return Opens
	case "result", "output", "response":
		return Closes
	}
	return NoEnd
}

// CallerID returns the id of the script at the provider that made a call of the client's tools, "" if the model made it itself. It reads
// the part again, so it is for callers who know that there are such scripts.
func (r *Request) CallerID(p *Part) string {
	if p.Kind != Call {
		return ""
	}
	caller := rawjson.Get(r.Raw(p.Span), "caller")
	if caller.IsZero() {
		return ""
	}
	for _, member := range [...]string{"tool_id", "caller_id"} { // Messages, Responses
		if id, ok := rawjson.Text(caller.Of(r.Raw(p.Span)), member); ok {
			return id
		}
	}
	return ""
}

// declaresTools reports whether a Messages block that is opaque here declares tools or instructions: tools that were found, added or
// removed, and instructions among the messages.
func declaresTools(kind string, raw []byte) bool {
	switch kind {
	case "tool_addition", "tool_removal", "mid_conv_system":
		return true
	}
	return pairEnd(kind) == Closes && bytes.Contains(raw, []byte(`tool_reference"`))
}

// requests are the words with which agents ask a model for a summary of their own
// history, as the clients have them (Claude Code 2.1, Codex 0.169, Gemini CLI 0.61 and the
// older words that Qwen Code still has, opencode 1.18). They stand near the beginning of
// the system prompt or of a text of the last message. None has a character that a client
// might write as an escape.
var requests = [...][]byte{
	[]byte("Your task is to create a detailed summary of "),
	[]byte("You are a helpful AI assistant tasked with summarizing conversations"),
	[]byte("You are performing a CONTEXT CHECKPOINT COMPACTION"),
	[]byte("specialized system component responsible for distilling chat history"),
	[]byte("component that summarizes internal chat history into a given structure"),
	[]byte("You are a context summarization agent"),
	[]byte("Create a new anchored summary from the conversation history"),
	[]byte("anchored context summarization assistant"),
}

const (
	// Claude Code puts some 600 bytes of warnings before its request.
	requestBytes = 2 << 10
	// A request stands in one of the last texts of a message: reminders may follow it.
	requestParts = 8
)

// summarising returns Summarising if the agent asks for a summary, otherwise 0.
func summarising(r *Request) Bypass {
	if n := len(r.Messages); n > 0 {
		if first := &r.Messages[0]; first.Role == RoleSystem && r.asksForSummary(first.Parts[:min(len(first.Parts), requestParts)]) {
			return Summarising
		}
		for n > 1 && r.Messages[n-1].Role == RoleSystem {
			n-- // reminders of Claude Code
		}
		last := &r.Messages[n-1]
		if last.Role == RoleUser && r.asksForSummary(last.Parts[max(0, len(last.Parts)-requestParts):]) {
			return Summarising
		}
	}
	if r.asksForSummary(r.System[:min(len(r.System), requestParts)]) {
		return Summarising
	}
	return 0
}

// asksForSummary reports whether one of some parts has, near its beginning, the words with which a known agent asks for a summary.
func (r *Request) asksForSummary(parts []Part) bool {
	for i := range parts {
		if parts[i].Kind != Text || len(parts[i].Texts) != 1 {
			continue
		}
		lit := parts[i].Texts[0]
		head := r.Body[lit.Start:min(lit.End, lit.Start+requestBytes)]
		for _, words := range requests {
			if bytes.Contains(head, words) {
				return true
			}
		}
	}
	return false
}
