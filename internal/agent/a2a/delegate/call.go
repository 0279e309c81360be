package delegate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	// maxLost bounds the failed connections in a row; with the pauses between them that takes about half a minute.
	maxLost = 10
	// firstPause is the pause after the first failure. It doubles with each, up to twenty times firstPause.
	firstPause = 250 * time.Millisecond
	// cancelTime bounds the cancelling of a task that nobody waits for any more.
	cancelTime = 5 * time.Second
)

// sessionKey returns the key of the session that a call belongs to, for the tables of [Agent]; nil for an HTTP client without a session,
// because others may use the same connection.
func (p *peer) sessionKey(ctx context.Context, c *builtin.Call) any {
	if of := agent.SessionOf(ctx); of != nil {
		return of
	}
	if c.Header != nil && c.Header.Get("Mcp-Session-Id") == "" {
		return nil // a client of HTTP without a session: others may come the same way
	}
	return p
}

// askAgent sends the message of a tool call to the agent, waits until its task is over or waits for the client, and returns the answer as
// the call's result. An error is text for the model, as for too many hops.
func (p *peer) askAgent(ctx context.Context, c *card, call *builtin.Call, in arguments) (*builtin.Result, error) {
	hops := a2a.Hops(ctx)
	refuse := func(why, text string) error {
		if p.a.o.Journal != nil {
			p.a.o.Journal.Append(journal.ToolRefused{Server: p.a.o.Name, Tool: call.Tool, Why: why})
		}
		return errors.New(text)
	}
	if strings.TrimSpace(in.Message) == "" {
		return nil, errors.New("message is empty: say what the agent is asked")
	}
	if hops >= MaxHops {
		return nil, refuse("hops", fmt.Sprintf("this question has come through %d agents, and goes no further: they may be asking each other. Answer with what is known", hops))
	}
	select {
	case p.a.calls <- struct{}{}:
		defer func() { <-p.a.calls }()
	default:
		return nil, refuse("busy", fmt.Sprintf("%d calls to the agent are open, and no more are made: wait for one of them to end, then call again", maxCalls))
	}
	key := p.sessionKey(ctx, call)
	contextID, task := p.a.beginCall(key, call.Tool, sdk.TaskID(in.Task))
	x := &exchange{a: p.a, card: c, call: call, pile: pile{dir: p.a.o.TempDir}}
	err := x.sendAndFollow(ctx, newMessage(in.Message, contextID, task, hops))
	if err != nil && x.events == 0 && in.Task == "" && contextID != "" && isRefusal(err) {
		// It does not know the context or the task any more. It took nothing on, so it is asked anew.
		err = x.sendAndFollow(ctx, newMessage(in.Message, "", "", hops))
	}
	w := waiting{tool: call.Tool}
	if err == nil && isWaiting(x.state) {
		w.id = x.task
	}
	p.a.recordAnswer(key, contextID, x.context, w)
	switch {
	case err == nil:
		return x.result(), nil
	case ctx.Err() != nil:
		x.cancel(ctx)
	}
	x.pile.closeFile()
	return nil, err
}

func newMessage(text, contextID string, task sdk.TaskID, hops int) *sdk.SendMessageRequest {
	m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(text))
	m.ContextID, m.TaskID = contextID, task
	m.Metadata = map[string]any{a2a.MetadataHops: hops + 1}
	return &sdk.SendMessageRequest{Message: m}
}

// isRefusal reports whether an error means that the agent did not accept the message.
func isRefusal(err error) bool {
	for _, kind := range []error{sdk.ErrTaskNotFound, sdk.ErrUnsupportedOperation, sdk.ErrInvalidParams, sdk.ErrInvalidRequest} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// isWaiting reports whether a task in this state waits for its client.
func isWaiting(s sdk.TaskState) bool {
	return s == sdk.TaskStateInputRequired || s == sdk.TaskStateAuthRequired
}

// exchange is a message to the agent and its answer so far.
type exchange struct {
	a    *Agent
	card *card
	call *builtin.Call

	task      sdk.TaskID
	context   string
	state     sdk.TaskState
	status    string // in words
	answered  bool   // with a message, without a task
	stale     bool   // the task waited for this message, and only its state from before was seen
	events    int
	artifacts []*artifact
	pile      pile
}

// isSettled reports whether nothing more is to come: the agent has answered with a message, the task has ended, or it waits for its client.
func (x *exchange) isSettled() bool {
	return x.answered || x.state.Terminal() || isWaiting(x.state) && !x.stale
}

// sendAndFollow sends the message and follows its task until that is over or waits for the client. It returns an error when the agent
// cannot be reached or ctx ends.
func (x *exchange) sendAndFollow(ctx context.Context, m *sdk.SendMessageRequest) error {
	x.stale = m.Message.TaskID != ""
	var err error
	if x.card.streaming {
		err = x.readStream(x.card.client.SendStreamingMessage(ctx, m))
	} else {
		err = x.sendOnce(ctx, m)
	}
	wait, lost, since := x.a.firstPause, 0, time.Now()
	for !x.isSettled() {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case x.task == "" && err == nil:
			err = io.ErrUnexpectedEOF
			fallthrough
		case x.task == "":
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("the connection broke off before it named a task: what came of the message is not known (%w)", withoutAddress(err))
			}
			return fmt.Errorf("the agent %s: %w", x.a.o.Name, withoutAddress(err))
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 20*x.a.firstPause)
		if before := x.events; x.card.streaming {
			_ = x.readStream(x.card.client.SubscribeToTask(ctx, &sdk.SubscribeToTaskRequest{ID: x.task}))
			if x.events > before+1 { // more than the task as it is
				wait = x.a.firstPause
			}
		}
		// The task itself has what went by unheard.
		task, err := x.card.client.GetTask(ctx, &sdk.GetTaskRequest{ID: x.task})
		switch {
		case err == nil:
			lost, since, x.stale = 0, time.Now(), false
			x.handleEvent(task)
		case errors.Is(err, sdk.ErrTaskNotFound):
			return fmt.Errorf("the agent %s does not know the task %s any more: what came of it is not known", x.a.o.Name, x.task)
		case x.isSettled(): // as the stream said
		default:
			if lost++; lost >= maxLost && ctx.Err() == nil {
				return fmt.Errorf("the connection to the agent %s was lost, and it was not reached again for %v (%w): what came of the task %s is not known",
					x.a.o.Name, time.Since(since).Round(time.Second), withoutAddress(err), x.task)
			}
		}
	}
	return nil
}

// sendOnce sends the message to an agent that does not stream, and stores the task that comes back at once; the caller polls it.
func (x *exchange) sendOnce(ctx context.Context, m *sdk.SendMessageRequest) error {
	m.Config = &sdk.SendMessageConfig{ReturnImmediately: true}
	sent, err := x.card.client.SendMessage(ctx, m)
	if err != nil {
		return err
	}
	x.handleEvent(sent)
	return nil
}

// readStream handles the events of a stream. It returns nil when the stream ends or no more of it is needed, else the stream's error.
func (x *exchange) readStream(events iter.Seq2[sdk.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if x.handleEvent(e); x.isSettled() {
			return nil
		}
	}
	return nil
}

// cancel asks the agent to cancel the task if it has not ended, because its caller has gone. It waits for up to cancelTime even if ctx has
// ended. Errors are ignored.
func (x *exchange) cancel(ctx context.Context) {
	if x.task == "" || x.isSettled() {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	_, _ = x.card.client.CancelTask(ctx, &sdk.CancelTaskRequest{ID: x.task}) // an agent that is gone needs none
}
