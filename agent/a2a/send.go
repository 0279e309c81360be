package a2a

import (
	"context"
	"fmt"
	"iter"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/limit"
)

// maxID bounds the ids that clients make, in bytes.
const maxID = 256

// SendMessage answers a message with a message or a task: when the task has ended or waits for the client, or at once if the request asks
// for that.
func (h handler) SendMessage(ctx context.Context, req *sdk.SendMessageRequest) (sdk.SendMessageResult, error) {
	r, err := h.s.begin(ctx, req, false)
	if err != nil {
		return nil, err
	}
	var history *int
	if c := req.Config; c != nil {
		history = c.HistoryLength
		if c.ReturnImmediately {
			if err := r.decide(); err != nil {
				return nil, err
			}
			return h.answerOf(r, history)
		}
	}
	select {
	case <-r.settled:
		return h.answerOf(r, history)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answerOf returns the message or the task that answers a run, or the error of its creation. The history of a task is cut to its last
// *history messages; nil leaves all.
func (h handler) answerOf(r *run, history *int) (sdk.SendMessageResult, error) {
	r.mu.Lock()
	task, message, err := r.task, r.message, r.err
	r.mu.Unlock()
	switch {
	case message != nil:
		return message, nil
	case err != nil:
		return nil, err
	}
	return trimHistory(task.snapshot(), history)
}

// SendStreamingMessage yields the task of a message and its events as they come. A client that lost the answer and repeats the request with
// Last-Event-ID, as libraries for event streams do, gets the rest of it.
func (h handler) SendStreamingMessage(ctx context.Context, req *sdk.SendMessageRequest) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		out := streamOf(ctx)
		if out.resumed && req.Message != nil {
			if id, ok := h.s.taskOfMessage(req.Message.ID); ok {
				h.follow(ctx, id, yield)
				return
			}
		}
		leave, err := h.s.acquireStream()
		if err != nil {
			yield(nil, err)
			return
		}
		defer leave()
		r, err := h.s.begin(ctx, req, true)
		if err != nil {
			yield(nil, err)
			return
		}
		select {
		case <-r.decided:
		case <-ctx.Done():
		}
		reader, first := r.takeReader()
		if reader != nil {
			defer reader.Close()
		}
		r.mu.Lock()
		task, message, err := r.task, r.message, r.err
		r.mu.Unlock()
		switch {
		case message != nil:
			out.mark(0)
			yield(message, nil)
		case err != nil:
			yield(nil, err)
		case reader != nil:
			if first == nil || first.show(out, yield) {
				forwardEvents(ctx, task, reader, true, yield)
			}
		}
	}
}

// begin checks a message and starts its execution, which does not end with ctx. stream says that the client waits for events.
func (s *Server) begin(ctx context.Context, req *sdk.SendMessageRequest, stream bool) (*run, error) {
	if err := s.checkMessage(req); err != nil {
		return nil, err
	}
	m := *req.Message
	push, err := s.pushOf(ctx, req.Config)
	if err != nil {
		return nil, err
	}
	r := &run{
		s: s, stream: stream, isOpen: true, push: push,
		decided: make(chan struct{}), settled: make(chan struct{}), done: make(chan struct{}),
	}
	runCtx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	r.x = &Exchange{TaskID: m.TaskID, ContextID: m.ContextID, Message: &m, Metadata: req.Metadata, run: r}
	if m.TaskID == "" {
		r.x.TaskID = sdk.NewTaskID()
		if m.ContextID == "" {
			r.x.ContextID = sdk.NewContextID()
		}
		m.TaskID, m.ContextID = r.x.TaskID, r.x.ContextID
	}
	if err := s.register(r); err != nil {
		cancel(nil)
		return nil, err
	}
	if req.Message.TaskID != "" {
		if err := s.resume(ctx, r, &m, push); err != nil {
			cancel(nil)
			s.unregister(r)
			return nil, err
		}
	}
	s.rememberMessage(m.ID, r.x.TaskID)
	go r.execute(runCtx)
	return r, nil
}

// resume lets run r continue the task that the message names. It returns an error if the task is running, has ended, or is of another
// context.
func (s *Server) resume(ctx context.Context, r *run, m *sdk.Message, push []pushConfig) error {
	t, err := s.acquire(ctx, m.TaskID)
	if err != nil {
		return err
	}
	err = func() error {
		if m.ContextID != "" && m.ContextID != t.contextID {
			return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(
				"task %s is of context %q, not of %q", t.id, limit.Clip(t.contextID, 64), limit.Clip(m.ContextID, 64)))
		}
		t.mu.Lock()
		state := t.content.task.Status.State
		busy := t.run != nil
		if !busy && !state.Terminal() {
			t.run = r
		}
		t.mu.Unlock()
		switch {
		case state.Terminal():
			return sdk.NewError(sdk.ErrUnsupportedOperation, fmt.Sprintf(
				"task %s has ended as %s and takes no more messages: begin a new one with contextId %q", t.id, state, limit.Clip(t.contextID, maxID)))
		case busy:
			return sdk.NewError(sdk.ErrUnsupportedOperation, fmt.Sprintf(
				"task %s is being worked on: wait for it, or cancel it", t.id))
		}
		if err := s.continueTask(t, r, m, push); err != nil {
			t.mu.Lock()
			t.run = nil
			t.mu.Unlock()
			return err
		}
		return nil
	}()
	if err != nil {
		s.release(t)
	}
	return err
}

// continueTask makes r a run of a task that waits for its client: it adds the push configurations and the message m, which is stored, and
// opens a reader of the events if the client streams.
func (s *Server) continueTask(t *task, r *run, m *sdk.Message, push []pushConfig) error {
	m.ContextID = t.contextID
	for _, c := range push {
		if err := t.addPush(c); err != nil {
			return err
		}
	}
	if err := t.addMessage(m); err != nil {
		return err
	}
	if r.stream {
		first := &logPosition{}
		reader, err := t.log.Subscribe(func(last uint64) { first.seq, first.task = last, t.snapshot() })
		if err != nil {
			return tooBusy(err)
		}
		r.reader, r.first = reader, first
	}
	r.x.ContextID, r.x.Task = t.contextID, t.snapshot()
	r.task, r.isOpen = t, false
	close(r.decided)
	return nil
}

// register takes one of the slots for running tasks, or returns an error when all are taken or the server is closed.
func (s *Server) register(r *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return tooBusy(ErrClosed)
	case len(s.runs) >= s.o.Limits.MaxRunning:
		s.counts.refused.Add(1)
		return tooBusy(fmt.Errorf("%d tasks run already: try again later", len(s.runs)))
	}
	s.runs[r] = struct{}{}
	return nil
}

// unregister removes r and tells those who wait for it that it is done. It is called once.
func (s *Server) unregister(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r)
	close(r.done) // the server may wait for it
}

// checkMessage returns an error if a request to send a message is invalid.
func (s *Server) checkMessage(req *sdk.SendMessageRequest) error {
	bad := func(format string, values ...any) error {
		return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(format, values...))
	}
	m := req.Message
	if m == nil {
		return bad("message: there is none")
	}
	for _, id := range []struct{ name, value string }{
		{"messageId", m.ID}, {"contextId", m.ContextID}, {"taskId", string(m.TaskID)},
	} {
		if len(id.value) > maxID || !utf8.ValidString(id.value) || strings.ContainsFunc(id.value, func(c rune) bool { return c < ' ' }) {
			return bad("message.%s: it is %d bytes; up to %d of text without control characters are taken", id.name, len(id.value), maxID)
		}
	}
	switch {
	case m.ID == "":
		return bad("message.messageId: there is none")
	case m.Role != sdk.MessageRoleUser:
		return bad("message.role: it is %s; a client's is %s", limit.Clip(m.Role.String(), 32), sdk.MessageRoleUser)
	case len(m.Parts) == 0:
		return bad("message.parts: there are none")
	}
	for i, p := range m.Parts {
		if p == nil || p.Content == nil {
			return bad("message.parts[%d]: it has no content", i)
		}
		if p.MediaType != "" && !s.acceptsMedia(p.MediaType) {
			return sdk.NewError(sdk.ErrUnsupportedContentType, fmt.Sprintf(
				"message.parts[%d]: %q is not taken; these are: %s", i, limit.Clip(p.MediaType, 64), strings.Join(s.o.Card.InputModes, ", ")))
		}
	}
	if size := sizeOf(m); size > int64(s.o.Limits.MaxTask) {
		return sdk.NewError(sdk.ErrInvalidRequest, fmt.Sprintf(
			"the message is %d bytes; a task takes %s", size, s.o.Limits.MaxTask.Human()))
	}
	if c := req.Config; c != nil && c.HistoryLength != nil && *c.HistoryLength < 0 {
		return bad("configuration.historyLength: it is %d; it is 0 or more", *c.HistoryLength)
	}
	return nil
}

// acceptsMedia reports whether a media type is one of the card's input modes, which may end in "/*".
func (s *Server) acceptsMedia(media string) bool {
	name, _, err := mime.ParseMediaType(media)
	if err != nil {
		return false
	}
	group, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(s.o.Card.InputModes, func(mode string) bool {
		return mode == name || mode == group+"/*" || mode == "*/*"
	})
}
