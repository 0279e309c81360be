package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// loop makes requests to the model, and the calls that it asks for, until it answers or a limit ends the query.
func (r *Run) loop() Result {
	l := r.a.o.Limits
	nudged := false
	parts := 0
	for r.steps = 1; ; r.steps++ {
		last := r.steps >= l.MaxSteps && len(r.specs) > 0
		got, err := r.ask(last)
		if err != nil {
			return r.brokenResult(err)
		}
		if r.steps >= l.MaxSteps && len(got.Message.Calls) > 0 {
			// The model was told that there are no tools, and calls one all the same. Nothing will answer such a call, so
			// it must not stay in the conversation.
			got.Message.Calls, got.Message.Opaque, last = nil, nil, true
		}
		message := got.Message
		if part := r.state.partial; part != "" {
			message.Text, message.Opaque = part+message.Text, nil
		}
		if len(message.Calls) > 0 {
			r.state.setPartial("")
			found, err := r.makeCalls(message, !nudged, got.Stop)
			if err != nil {
				return r.brokenResult(err)
			}
			if found == "" {
				continue
			}
			if nudged {
				return Result{Outcome: LoopDetected, Detail: found + ", also after it was told so"}
			}
			nudged = true
			continue
		}
		cut := got.full || got.Stop == StopLength || got.Stop == StopOverflow
		if cut && !got.full && parts < l.MaxParts && r.steps < l.MaxSteps && got.Message.Text != "" {
			parts++
			r.state.setPartial(message.Text)
			continue
		}
		return r.finalResult(message, got, last, cut)
	}
}

// finalResult returns the result of a query that ends with this message of the model: completed; StepLimit if the answer was cut or the steps were
// used up; ModelFailed if the model refused. It appends the message to the conversation unless it is empty; if that fails, the result is a failed
// one with the answer in it. last says that the steps were used up, cut that the output limit ended the answer.
func (r *Run) finalResult(message Message, got answer, last, cut bool) Result {
	l := r.a.o.Limits
	result := Result{Outcome: Completed, Answer: message.Text}
	switch blank := strings.TrimSpace(message.Text) == ""; {
	case got.Stop == StopRefused:
		e := &ModelError{Model: r.a.o.Model.Info(), Failure: Refused, Text: "the model, or a filter of its provider, refused to answer"}
		if got.Reason != "" {
			e.Text += " (" + got.Reason + ")"
		}
		result.Outcome, result.Detail, result.Err = ModelFailed, e.Error(), e
	case last && blank:
		result.Outcome, result.Detail = StepLimit, fmt.Sprintf("%s used up, and the model gave no answer without tools; raise max_steps, or ask for less", stepCount(l.MaxSteps))
	case last:
		result.Outcome, result.Detail = StepLimit, fmt.Sprintf("%s used up: the answer is from what was known by then", stepCount(l.MaxSteps))
	case got.full:
		result.Outcome, result.Detail = StepLimit, fmt.Sprintf("the answer was cut at %d bytes, the most that one may have", l.MaxAnswer)
	case cut:
		result.Outcome, result.Detail = StepLimit, "the answer is cut: the output limit ended it, and no further part may be asked for"
	}
	if message.Text != "" {
		r.state.setPartial("")
		if err := r.appendMessages(message); err != nil {
			failed := r.failedResult(err)
			failed.Answer = message.Text
			return failed
		}
	}
	return result
}

// stepCount returns words for n steps, with their verb.
func stepCount(n int) string {
	if n == 1 {
		return "1 step was"
	}
	return fmt.Sprintf("%d steps were", n)
}

// brokenResult returns the result of a query that failed before its answer was complete. The part of the answer that came is in the result
// and in the conversation.
func (r *Run) brokenResult(err error) Result {
	text := r.state.streamedText()
	result := r.failedResult(err)
	if strings.TrimSpace(text) == "" {
		return result
	}
	result.Answer = text
	r.state.unstream()
	r.state.setPartial("")
	if err := r.appendMessages(Message{Role: RoleAssistant, Text: text + "\n[the answer broke off here]"}); err != nil && result.Outcome != Failed {
		result = r.failedResult(err)
		result.Answer = text
	}
	return result
}

// makeCalls appends a message of the model, makes its calls, and returns when their results are in the conversation. found describes a loop
// that these calls complete, "" if there is none. With tell the last result tells the model about the loop.
func (r *Run) makeCalls(message Message, tell bool, stop Stop) (found string, err error) {
	if err := r.appendMessages(message); err != nil {
		return "", err
	}
	b := r.newBatch(message.Calls)
	b.mayNudge = tell
	b.check(stop)
	if err := b.run(); err != nil {
		return "", err
	}
	return b.found, nil
}

// endCause returns the reason why the context of the query ended.
func (r *Run) endCause() error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	return errors.New("the query has ended")
}

// journalCall journals a call and where its result was cut.
func (r *Run) journalCall(p *pending) {
	s := p.stored
	r.a.note(journal.AgentCalled{
		Agent: clip(r.a.o.Name), Tool: clip(s.Name), Bytes: s.Size, Failed: s.Failed, Why: p.why, Duration: s.Took,
	})
	if s.Truncated {
		r.a.note(journal.AgentResultCut{Agent: clip(r.a.o.Name), Tool: clip(s.Name), Bytes: s.Size, KeptBytes: int64(len(s.Text)), Where: "store"})
	}
	if p.cut {
		r.a.note(journal.AgentResultCut{Agent: clip(r.a.o.Name), Tool: clip(s.Name), Bytes: s.Size, KeptBytes: int64(len(p.text)), Where: "message"})
	}
}

// duration returns the time since a call began; 0 if started is the zero time.
func duration(started time.Time) time.Duration {
	if started.IsZero() {
		return 0
	}
	return time.Since(started)
}
