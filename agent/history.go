package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// turns returns the indexes of the user's messages. A turn begins at each; messages before the first belong to no turn.
func turns(ms []Message) []int {
	var at []int
	for i := range ms {
		if ms[i].Role == RoleUser {
			at = append(at, i)
		}
	}
	return at
}

// shortened returns a conversation of at most messages messages and maxHistory bytes. One that is over a bound is cut to three quarters of
// it: if only the excess were cut, the conversation would be cut before every request, and the provider's cache of its beginning lost each
// time.
func shortened(ms []Message, messages int) []Message {
	if kept := cutHistory(ms, messages, int64(maxHistory)); len(kept) == len(ms) {
		return ms
	}
	return cutHistory(ms, max(1, messages*3/4), int64(maxHistory)*3/4)
}

// cutHistory drops old messages until at most the given numbers of messages and of bytes are left. Whole turns go first, the oldest before the
// others; then steps of the remaining turns, a call always with its results. The last question and the newest step always stay, and the first message
// is the user's. It returns ms itself when nothing has to be dropped, and when no message is the user's.
func cutHistory(ms []Message, messages int, bytes int64) []Message {
	count, size := len(ms), sizeOf(ms)
	over := func() bool { return count > messages || size > bytes }
	starts := turns(ms)
	if len(starts) == 0 || !over() && starts[0] == 0 {
		return ms
	}
	drop := make([]bool, len(ms))
	leave := func(from, to int) {
		for i := from; i < to; i++ {
			if !drop[i] {
				drop[i] = true
				count--
				size -= ms[i].size()
			}
		}
	}
	leave(0, starts[0])
	for i := 0; i+1 < len(starts) && over(); i++ {
		// The turn before the last question stays for its answer, without its steps: the
		// question is about it.
		if i+2 == len(starts) {
			for _, s := range steps(ms, starts[i], starts[i+1]) {
				if over() {
					leave(s[0], s[1])
				}
			}
			if !over() {
				break
			}
		}
		leave(starts[i], starts[i+1])
	}
	last := steps(ms, starts[len(starts)-1], len(ms))
	for i, s := range last {
		if !over() || i+1 == len(last) && s[1] == len(ms) {
			break
		}
		leave(s[0], s[1])
	}
	kept := make([]Message, 0, count)
	for i := range ms {
		if !drop[i] {
			kept = append(kept, ms[i])
		}
	}
	return kept
}

// steps returns the ranges [from,to) of the messages of the model that have calls, each with the results behind it.
func steps(ms []Message, from, to int) [][2]int {
	var all [][2]int
	for i := from; i < to; i++ {
		if ms[i].Role != RoleAssistant || len(ms[i].Calls) == 0 {
			continue
		}
		end := i + 1
		for end < to && ms[end].Role == RoleTool {
			end++
		}
		all = append(all, [2]int{i, end})
		i = end - 1
	}
	return all
}

// unanswered returns the calls of the last step that have no result, because a process died or a query was cancelled while they ran.
func unanswered(ms []Message) []Call {
	at := len(ms) - 1
	answered := map[string]bool{}
	for at >= 0 && ms[at].Role == RoleTool {
		answered[ms[at].CallID] = true
		at--
	}
	if at < 0 || ms[at].Role != RoleAssistant {
		return nil
	}
	var open []Call
	for _, c := range ms[at].Calls {
		if !answered[c.ID] {
			open = append(open, c)
		}
	}
	return open
}

// noResult returns the message to put in place of a missing result. why is its text.
func noResult(c Call, why string) Message {
	return Message{Role: RoleTool, CallID: c.ID, Name: c.Name, Text: why, Failed: true}
}

// noResults returns a [noResult] for each call.
func noResults(calls []Call, why string) []Message {
	ms := make([]Message, len(calls))
	for i, c := range calls {
		ms[i] = noResult(c, why)
	}
	return ms
}

// Role is the author of a message.
type Role string

// The roles. The system prompt is not a message: it is part of each [Request].
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation: words of the user, words and calls of the model,
// or the result of one call. It must not be changed once it is in a conversation.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Calls are the calls that the model asks for, in its order.
	Calls []Call `json:"calls,omitempty"`
	// CallID and Name identify the call of a result; Failed marks it as an error.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Opaque is data that the adapter of the model has stored with its message, to be sent back with it,
	// such as signed thoughts. Other adapters ignore it.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// Call is one call of a tool, as the model wrote it.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments should be a JSON object. Models do not always write one: the text is kept
	// as it came, and the fault is reported to the model.
	Arguments string `json:"arguments"`
}

// appendMessages adds messages to the conversation, which have been stored when it returns nil. A full conversation loses old messages
// first. The error is a *notKept.
func (r *Run) appendMessages(ms ...Message) error {
	err := r.conv.Append(ms...)
	if err == nil {
		r.state.append(ms...)
		r.passToKeeper(ms)
		return nil
	}
	if !errors.Is(err, ErrSessionFull) {
		return &notKept{fmt.Errorf("the conversation could not be kept: %w", err)}
	}
	list := r.state.list()
	all := append(list[:len(list):len(list)], ms...)
	for bytes := sizeOf(all) / 2; ; bytes /= 2 {
		kept := cutHistory(all, r.a.o.Limits.MaxHistoryMessages, bytes)
		if err = r.conv.Replace(kept); err == nil {
			r.leftOutMessages(len(all)-len(kept), kept)
			r.passToKeeper(ms)
			return nil
		}
		if !errors.Is(err, ErrSessionFull) || bytes == 0 {
			return &notKept{fmt.Errorf("the conversation could not be kept: %w", err)}
		}
	}
}

// trimHistory drops old messages, here and in the store, if the conversation is over its bounds, and emits a warning about it.
func (r *Run) trimHistory() {
	list := r.state.list()
	kept := shortened(list, r.a.o.Limits.MaxHistoryMessages)
	if len(kept) == len(list) {
		return
	}
	r.replace(kept)
	r.leftOutMessages(len(list)-len(kept), kept)
}

// leftOutMessages continues with the kept messages, and reports that n were dropped.
func (r *Run) leftOutMessages(n int, kept []Message) {
	r.state.replace(kept)
	r.leftOut = true
	r.a.note(journal.AgentRoom{Agent: clip(r.a.o.Name), Why: "history", Messages: n})
	r.events.emit(Event{Kind: EventRoom, Step: r.steps, Text: fmt.Sprintf("the oldest %d messages of the conversation were left out", n)})
}

// replace replaces all messages in the store. If that fails the store still has the longer conversation and nothing is lost, so it only
// emits a warning.
func (r *Run) replace(ms []Message) {
	if err := r.conv.Replace(ms); err != nil {
		r.events.emit(Event{Kind: EventWarning, Text: limit.Clip("the conversation could not be shortened where it is kept: "+err.Error(), int(maxPiece))})
	}
}

// answerOpenCalls appends a failed result, with the text why, for each call of the last step that has no result.
func (r *Run) answerOpenCalls(why string) error {
	open := unanswered(r.state.list())
	if len(open) == 0 {
		return nil
	}
	return r.appendMessages(noResults(open, why)...)
}

// adopt makes out, the messages that fit returned, the conversation, here and in the store, so that later requests need not be made to fit
// again. The last extra messages of out belong to this request only and are not adopted; if fit has changed them, nothing is.
func (r *Run) adopt(out []Message, extra int) {
	if extra > 0 {
		n := len(out) - extra
		if n < 1 || out[n].Role != RoleAssistant || out[n].Text != r.state.partial || out[n+1].Text != goOn {
			return // the extra messages were changed too: the result is for this request only
		}
		out = out[:n]
	}
	r.replace(out)
	r.state.replace(out)
}
