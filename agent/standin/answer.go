package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// member is a JSON object.
type member = map[string]any

// created is when the stand-in says that it and its answers were made: the same answer to
// the same request, to the byte.
const created = 1_767_225_600 // 2026-01-01T00:00:00Z

// pieceBytes is about how much of a text goes into one event: a few words, as models do.
const pieceBytes = 24

var errCut = errors.New("the answer was to break off")

// reply is what the planner answers: words or calls.
type reply struct {
	text    string
	refusal string // why it will not answer
	calls   []call
}

// answer writes a reply in the form that was asked for.
type answer struct {
	s     *Standin
	a     *asked
	w     http.ResponseWriter
	rc    *http.ResponseController
	ctx   context.Context
	delay time.Duration
	cut   bool
	sent  int // events
}

// write writes the reply, as far as the answer may be long.
func (o *answer) write(r reply) error {
	finish := "stop"
	if len(r.calls) > 0 {
		finish = "tool_calls"
	}
	for i := range r.calls {
		r.calls[i].id = fmt.Sprintf("call_%s%02d", o.a.digest[:20], i)
	}
	spent := 1
	for _, c := range r.calls {
		spent += 4 + tokens.O200K().Count([]byte(c.name+c.arguments))
	}
	text, n := shortened(r.text, o.a.output-spent)
	if len(text) < len(r.text) || spent > o.a.output {
		finish = "length"
	}
	if spent > o.a.output && len(r.calls) > 0 { // no part of a call: nobody could make it
		r.calls, spent = nil, o.a.output
	}
	r.text = text
	spent += n
	usage := member{
		"prompt_tokens": o.a.input, "completion_tokens": spent, "total_tokens": o.a.input + spent,
		"prompt_tokens_details":     member{"cached_tokens": 0},
		"completion_tokens_details": member{"reasoning_tokens": 0},
	}
	if o.a.stream {
		return o.events(r, finish, usage)
	}
	return o.whole(r, finish, usage)
}

// shortened is as much of a text as so many tokens are, on the boundary of a rune, and how
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

func (o *answer) whole(r reply, finish string, usage member) error {
	said := member{"role": "assistant", "content": nil, "refusal": orNull(r.refusal)}
	if r.refusal == "" && (r.text != "" || len(r.calls) == 0) {
		said["content"] = r.text
	}
	if len(r.calls) > 0 {
		var calls []any
		for _, c := range r.calls {
			calls = append(calls, member{"id": c.id, "type": "function", "function": member{"name": c.name, "arguments": c.arguments}})
		}
		said["tool_calls"] = calls
	}
	o.deadline()
	return writeJSON(o.w, http.StatusOK, member{
		"id": "chatcmpl-" + o.a.digest, "object": "chat.completion", "created": created, "model": Model, "system_fingerprint": Owner,
		"choices": []any{member{"index": 0, "message": said, "logprobs": nil, "finish_reason": finish}}, "usage": usage,
	})
}

func (o *answer) events(r reply, finish string, usage member) error {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	o.w.WriteHeader(http.StatusOK)
	deltas := []member{{"role": "assistant", "content": "", "refusal": nil}}
	for _, text := range pieces(r.refusal) {
		deltas = append(deltas, member{"refusal": text})
	}
	for _, text := range pieces(r.text) {
		deltas = append(deltas, member{"content": text})
	}
	for i, c := range r.calls {
		deltas = append(deltas, member{"tool_calls": []any{member{"index": i, "id": c.id, "type": "function", "function": member{"name": c.name, "arguments": ""}}}})
		for _, text := range pieces(c.arguments) {
			deltas = append(deltas, member{"tool_calls": []any{member{"index": i, "function": member{"arguments": text}}}})
		}
	}
	for i, delta := range append(deltas, member{}) {
		var end any
		if i == len(deltas) {
			end = finish
		}
		if err := o.chunk([]any{member{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": end}}, nil); err != nil {
			return err
		}
	}
	if o.a.usage {
		if err := o.chunk([]any{}, usage); err != nil {
			return err
		}
	}
	return o.event([]byte("[DONE]"))
}

func (o *answer) chunk(choices []any, usage any) error {
	c := member{"id": "chatcmpl-" + o.a.digest, "object": "chat.completion.chunk", "created": created, "model": Model, "system_fingerprint": Owner, "choices": choices}
	if o.a.usage {
		c["usage"] = usage
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return o.event(data)
}

// event sends one event, after the pause that is kept between them.
func (o *answer) event(data []byte) error {
	if o.sent > 0 && o.delay > 0 {
		t := time.NewTimer(o.delay)
		select {
		case <-t.C:
		case <-o.ctx.Done():
			t.Stop()
		}
	}
	if err := o.ctx.Err(); err != nil {
		return err
	}
	line := bytes.Join([][]byte{[]byte("data: "), data, []byte("\n\n")}, nil)
	o.deadline()
	o.sent++
	if o.cut && o.sent == 3 { // the head and a piece are out
		_, _ = o.w.Write(line[:len(line)/2])
		_ = o.rc.Flush()
		return errCut
	}
	if _, err := o.w.Write(line); err != nil {
		return err
	}
	return o.rc.Flush()
}

// deadline keeps a client that does not read from holding a place for ever.
func (o *answer) deadline() {
	_ = o.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder has none
}

// pieces cuts a text as models stream it, on the boundaries of runes.
func pieces(text string) []string {
	var all []string
	for len(text) > 0 {
		n := min(pieceBytes, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(data)
	return err
}
