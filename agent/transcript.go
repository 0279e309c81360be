package agent

import (
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// appendMessages adds messages to the conversation, which have been stored when it returns nil. A full conversation loses old messages
// first. The error is a *notKept.
func (r *Run) appendMessages(ms ...Message) error {
	err := r.conv.Append(ms...)
	if err == nil {
		r.state.append(ms...)
		r.keep(ms)
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
			r.keep(ms)
			return nil
		}
		if !errors.Is(err, ErrSessionFull) || bytes == 0 {
			return &notKept{fmt.Errorf("the conversation could not be kept: %w", err)}
		}
	}
}

// trim drops old messages if the conversation is over its bounds.
func (r *Run) trim() {
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

// adopt makes the messages that fit returned the conversation, here and in the store: the model has seen them, and they need not be made to
// fit again. The last extra messages belong to this request only.
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
