package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// summaryTimeout bounds one summary by the model; after it lines of the old turns are chosen instead.
	summaryTimeout = 20 * time.Second
	// summaryBudget bounds the tokens of all summaries of one query together.
	summaryBudget = 400_000
	// summaryHead is the size of a summary's instructions, in tokens, with some reserve.
	summaryHead = 400
)

// summarizer makes a request to a model; it is [Model].Generate without the pieces.
type summarizer func(ctx context.Context, r *Request) (*Reply, error)

// modelSummarizer lets the agent's own model write summaries.
type modelSummarizer struct{ f *fitter }

var (
	errNoRoom   = errors.New("what is to be summarised is more than twice what the model takes")
	errCutOff   = errors.New("the model did not come to an end")
	errNoAnswer = errors.New("the model gave no answer")
)

// Summarize makes one request; package compact has the deadline and judges the text. Errors hold no text of the conversation, which those
// of adapters may repeat.
func (w modelSummarizer) Summarize(ctx context.Context, a compact.Assignment) (compact.Written, error) {
	window := w.f.Windows.Window(w.f.Upstream, w.f.info.Name, nil)
	room := leastBytes * (window.ForInput(a.MaxTokens) - summaryHead)
	if w.f.maxInput > 0 {
		room = min(room, leastBytes*(w.f.maxInput-summaryHead))
	}
	if room < len(a.Transcript)/2 {
		return compact.Written{}, errNoRoom
	}
	text := limit.Cut(a.Transcript, room, func(int) string { return "\n[…]\n" })
	r := &Request{System: a.Instructions, Messages: []Message{{Role: RoleUser, Text: text}}, MaxOutput: a.MaxTokens}
	reply, err := w.f.ask(ctx, r)
	if err != nil {
		return compact.Written{}, err
	}
	out := compact.Written{In: max(0, reply.Usage.Input), Out: max(0, reply.Usage.Output)}
	if reply.Stop != StopEnd || len(reply.Message.Calls) > 0 {
		return out, errCutOff
	}
	out.Text = reply.Message.Text
	return out, nil
}

// ask makes a request and waits for its answer or the end of ctx, even if the model ignores ctx. Errors hold no text of the conversation.
func (f *fitter) ask(ctx context.Context, r *Request) (*Reply, error) {
	type answer struct {
		reply *Reply
		err   error
	}
	came := make(chan answer, 1)
	go func() {
		a := answer{err: errNoAnswer}
		defer func() {
			if recover() != nil {
				a = answer{err: errNoAnswer}
			}
			came <- a
		}()
		a.reply, a.err = f.summarize(ctx, r)
	}()
	select {
	case a := <-came:
		switch e, ok := errors.AsType[*ModelError](a.err); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ok:
			return nil, fmt.Errorf("the model failed: %s", e.Failure)
		case a.err != nil || a.reply == nil:
			return nil, errNoAnswer
		}
		return a.reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
