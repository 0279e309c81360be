package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/reasoning"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// lastNote is the message for the model that its tools are withheld.
	lastNote = "This is the last request of this question, and no tool can be called any more. Answer now with what is there. Say what could not be found out."
	// leftOutNote is the message for the model that it does not see all of the conversation.
	leftOutNote = "The oldest messages of this conversation were left out, because there were too many."
	// goOn asks for the rest of an answer.
	goOn = "The answer was cut at the output limit. Go on exactly where it ends: repeat nothing, and begin with the very next character."
)

// Waits between tries: the first is about a second, each is twice the one before, and half of each is random, so that queries
// which failed together do not try again together.
const (
	firstWait = time.Second
	maxWait   = 30 * time.Second
	maxAfter  = 60 * time.Second // of what a provider asks for
)

// backoff returns the pause before the next try: after, which the provider asked for, up to maxAfter, or if that is 0 one that grows with tries, the
// number of failed ones, and is partly random.
func backoff(tries int, after time.Duration) time.Duration {
	if after > 0 {
		return min(after, maxAfter)
	}
	wait := maxWait
	if tries <= 5 {
		wait = min(firstWait<<(tries-1), maxWait)
	}
	return wait/2 + rand.N(wait/2+1)
}

// answer is a reply within its bounds; full says that its text was cut at MaxAnswer.
type answer struct {
	*Reply
	full bool
}

// ask makes the request of a step and returns the answer. After a failure that may pass, it waits and tries again; after a refusal for
// length it sends less. last sends it without tools. An error is a *tooLong, a *ModelError, that of a history that cannot be encoded, or
// any other if the query has ended.
func (r *Run) ask(last bool) (answer, error) {
	refits, empties, forgot := 0, 0, false
	req, err := r.fit(last, "window")
	if err != nil {
		return answer{}, err
	}
	r.events.emit(Event{Kind: EventStep, Step: r.steps, Tokens: r.lastFit.Tokens})
	for tries := 1; ; tries++ {
		got, err := r.generate(req)
		if err == nil {
			r.tally(got.Usage)
			r.last = got.Usage
			r.fitter.report(got.Usage)
			err = r.emptyAnswerError(got)
		}
		if err == nil {
			if forgot {
				r.replace(r.state.list())
			}
			return got, nil
		}
		if r.ctx.Err() != nil {
			return answer{}, err // what was streamed stays: it is all there will be of the answer
		}
		e := modelError(r.a.o.Model.Info(), err, tries)
		long := e.Failure == TooLong
		if long {
			refits++
		}
		if errors.Is(err, errEmpty) {
			empties++
		}
		forget := !forgot && r.forgetReasoning(e)
		switch { // here too, what was streamed stays
		case long && refits > maxRefits:
			return answer{}, &tooLong{e}
		case forget:
		case !long && (!e.Transient() || tries-refits >= r.a.o.Limits.MaxTries || empties > 1):
			return answer{}, e
		}
		if r.state.unstream() != "" {
			r.events.emit(Event{Kind: EventDiscarded, Step: r.steps})
		}
		if forget {
			forgot = true
			if req, err = r.fit(last, "reasoning"); err != nil {
				return answer{}, err
			}
			continue
		}
		if long {
			r.fitter.shrinkAfterRefusal(e.Limit)
			if req, err = r.fit(last, "overflow"); err != nil {
				return answer{}, err
			}
			continue
		}
		if err := r.waitForRetry(e); err != nil {
			return answer{}, err
		}
	}
}

// forgetReasoning drops the Opaque of all messages if the provider refused the request because of reasoning in it: another model or account
// made it, or it stood after other messages, and every later request would be refused too. The store follows once that has helped. It returns
// false, and does nothing, if the refusal has another cause or no message has any.
func (r *Run) forgetReasoning(e *ModelError) bool {
	if e.Failure != Refused {
		return false
	}
	if no, ok := reasoning.Refused(e.Status, "", []byte(e.Text)); !ok || no.Cause == reasoning.Wanted {
		return false
	}
	ms, found := slices.Clone(r.state.list()), false
	for i := range ms {
		found = found || len(ms[i].Opaque) > 0
		ms[i].Opaque = nil
	}
	if found {
		r.state.replace(ms)
		r.events.emit(Event{Kind: EventWarning, Text: limit.Clip("the provider does not take earlier reasoning of this conversation, which goes on without it: "+e.Text, int(maxPiece))})
	}
	return found
}

var errEmpty = errors.New("the answer was empty")

// emptyAnswerError returns a *ModelError for an answer that has neither text nor calls. It returns nil for a refusal, and for the
// continuation of an answer of which a part has come.
func (r *Run) emptyAnswerError(got answer) error {
	if strings.TrimSpace(got.Message.Text) != "" || len(got.Message.Calls) > 0 || got.Stop == StopRefused || r.state.partial != "" {
		return nil
	}
	info := r.a.o.Model.Info()
	switch got.Stop {
	case StopOverflow:
		return &ModelError{Model: info, Failure: TooLong, Text: "the window was full before the answer began"}
	case StopLength:
		return &ModelError{Model: info, Failure: Refused, Text: "the output limit was used up before the answer began; raise max_output, or let the model think less"}
	default:
		return &ModelError{Model: info, Failure: Broken, Text: errEmpty.Error(), Err: errEmpty}
	}
}

// waitForRetry journals a failed try, emits an event and waits until the next try is due. It returns the cause if the query ends first.
func (r *Run) waitForRetry(e *ModelError) error {
	wait := backoff(e.Tries, e.After)
	r.a.note(journal.AgentRetry{
		Agent: clip(r.a.o.Name), Model: clip(e.Model.Name), Failure: string(e.Failure), Status: e.Status, Tries: e.Tries, Wait: wait,
	})
	r.events.emit(Event{Kind: EventRetry, Step: r.steps, Err: limit.Clip(e.Error(), int(maxPiece)), Wait: wait, Tries: e.Tries})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// fit returns the next request, within the window of the model. last withholds the tools; why is the reason for the journal. The error for a
// request that cannot be made to fit is a *tooLong.
func (r *Run) fit(last bool, why string) (*Request, error) {
	r.trimHistory()
	list := r.state.list()
	ms := list
	if part := r.state.partial; part != "" {
		ms = append(ms[:len(ms):len(ms)], Message{Role: RoleAssistant, Text: part}, Message{Role: RoleUser, Text: goOn})
	}
	req := &Request{System: r.system, Tools: r.specs, MaxOutput: r.a.o.Limits.MaxOutput, Session: r.q.Session}
	if r.leftOut {
		req.System = appendNote(req.System, leftOutNote)
	}
	if last {
		req.System, req.Tools = appendNote(req.System, lastNote), nil
	}
	out, did, err := r.fitter.fit(r.ctx, req.System, ms, req.Tools, req.MaxOutput)
	var large *TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, &tooLong{err}
	case err != nil:
		return nil, err
	}
	r.lastFit = did
	if did.Changed {
		r.adopt(out, len(ms)-len(list))
	}
	if did.MadeRoom {
		if did.Between {
			why = "topic"
		}
		r.a.note(r.roomEvent(why))
		r.events.emit(Event{Kind: EventRoom, Step: r.steps, Text: limit.Clip(did.Actions, int(maxPiece)), Tokens: did.Tokens})
	}
	r.a.note(journal.AgentRequest{
		Agent: clip(r.a.o.Name), Model: clip(r.a.o.Model.Info().Name), Tokens: int64(did.Tokens), LimitTokens: int64(did.Limit), Messages: len(out),
	})
	req.MaxOutput = did.MaxOutput
	req.Messages = out
	req.encoded = encodedRequest{did.Encoded, req.System, req.Messages, req.Tools}
	return req, nil
}

// roomEvent returns the journal event about the room that the last fit made.
func (r *Run) roomEvent(why string) journal.AgentRoom {
	did := r.lastFit
	return journal.AgentRoom{
		Agent: clip(r.a.o.Name), Why: why, Rungs: did.Rungs, BeforeTokens: int64(did.Before), Tokens: int64(did.Tokens), LimitTokens: int64(did.Limit),
		CutBytes: did.CutBytes, Messages: did.Messages,
	}
}

func appendNote(system, note string) string {
	if system == "" {
		return note
	}
	return system + "\n\n" + note
}

// generate makes one request. An adapter that panics, or does not return when its context ends, fails only this request. An answer that reaches
// MaxAnswer is ended there, and is none the less an answer.
func (r *Run) generate(req *Request) (answer, error) {
	l := r.a.o.Limits
	timed, stop := context.WithTimeoutCause(r.ctx, l.ModelTimeout, errModelTimeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(timed)
	defer cancel(context.Canceled)

	type reply struct {
		*Reply
		err error
	}
	var silenced bool
	var goroutine goroutineState
	got := make(chan reply, 1)
	go func() {
		out := reply{err: errors.New("the adapter ended its goroutine")}
		defer func() {
			if p := recover(); p != nil {
				out = reply{err: fmt.Errorf("the adapter panicked: %v", p)}
			}
			r.a.abandoned.returned(&goroutine)
			got <- out
		}()
		out.Reply, out.err = r.a.o.Model.Generate(ctx, req, func(piece string) {
			r.events.withUnsilenced(&silenced, func(emit func(Event)) {
				taken, full := r.state.stream(strings.ToValidUTF8(piece, "\uFFFD"), int(l.MaxAnswer))
				pieces(taken, func(p string) { emit(Event{Kind: EventText, Step: r.steps, Text: p}) })
				if full {
					silenced = true
					cancel(errAnswerFull)
				}
			})
		})
	}()
	var out reply
	select {
	case out = <-got:
	case <-ctx.Done():
		grace := time.NewTimer(leakGrace)
		select {
		case out = <-got:
		case <-grace.C:
			r.a.abandoned.abandon(&goroutine)
			out.err = context.Cause(ctx)
		}
		grace.Stop()
	}
	r.events.silence(&silenced)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errAnswerFull):
		text := r.state.unstream()
		return answer{&Reply{Message: Message{Role: RoleAssistant, Text: text}, Stop: StopLength}, true}, nil
	case out.err != nil && r.ctx.Err() == nil && errors.Is(cause, errModelTimeout):
		return answer{}, &ModelError{Model: r.a.o.Model.Info(), Failure: Unreachable, Text: fmt.Sprintf("no whole answer within %v (model_timeout)", l.ModelTimeout), Err: errModelTimeout}
	case out.err != nil:
		return answer{}, out.err
	case out.Reply == nil:
		return answer{}, &ModelError{Model: r.a.o.Model.Info(), Failure: Broken, Text: "the adapter returned nothing", Err: errEmpty}
	}
	return r.tidyReply(out.Reply), nil
}
