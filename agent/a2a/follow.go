package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent/a2a/tasklog"
)

// position is a task as it was behind one of its events.
type position struct {
	seq  uint64
	task *sdk.Task
}

func (p *position) show(out *stream, yield func(sdk.Event, error) bool) bool {
	out.mark(p.seq)
	return yield(p.task, nil)
}

// SubscribeToTask shows the task and then its events. A client that says in Last-Event-ID
// what it had gets what is newer, as far as it is kept, and else the task again.
func (h handler) SubscribeToTask(ctx context.Context, req *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) { h.follow(ctx, req.ID, yield) }
}

func (h handler) follow(ctx context.Context, id sdk.TaskID, yield func(sdk.Event, error) bool) {
	leave, err := h.s.enter()
	if err != nil {
		yield(nil, err)
		return
	}
	defer leave()
	t, err := h.s.hold(ctx, id)
	if err != nil {
		yield(nil, err)
		return
	}
	defer h.s.release(t)
	out := streamOf(ctx)
	reader, first, err := t.read(out)
	if err != nil {
		yield(nil, err)
		return
	}
	defer reader.Close()
	out.open()
	if first == nil || first.show(out, yield) {
		pump(ctx, t, reader, false, yield)
	}
}

// read begins to read a task's log where the client wants to.
func (t *task) read(out *stream) (*tasklog.Reader, *position, error) {
	state := t.state()
	ended := func() error {
		return sdk.NewError(sdk.ErrUnsupportedOperation, fmt.Sprintf(
			"task %s has ended as %s: there is nothing more to come, get the task instead", t.id, state))
	}
	if out.resumed && t.log != nil {
		reader, err := t.log.Read(out.last)
		switch {
		case err == nil && state.Terminal() && out.last == t.log.Last():
			reader.Close()
			return nil, nil, ended()
		case err == nil:
			t.s.counts.resumed.Add(1)
			return reader, nil, nil
		case errors.Is(err, tasklog.ErrReaders):
			return nil, nil, tooBusy(err)
		}
		// The number is of another life of the log, or the log is gone.
	}
	if state.Terminal() {
		return nil, nil, ended()
	}
	first := &position{}
	reader, err := t.log.Subscribe(func(last uint64) { first.seq, first.task = last, t.snapshot() })
	if err != nil {
		return nil, nil, tooBusy(err)
	}
	return reader, first, nil
}

// pump yields what a reader gets, until the task ends or the client goes; a turn also ends
// when the task waits for the client. Where events are gone it shows the task instead.
func pump(ctx context.Context, t *task, reader *tasklog.Reader, turn bool, yield func(sdk.Event, error) bool) {
	out := streamOf(ctx)
	for {
		record, gap, err := reader.Next(ctx)
		if err != nil {
			return // the end, the client has gone, or the log has
		}
		if gap.Count() > 0 {
			t.s.counts.snapshots.Add(1)
			now := &position{}
			if reader.Snapshot(func(last uint64) { now.seq, now.task = last, t.snapshot() }) != nil || !now.show(out, yield) {
				return
			}
			continue
		}
		var event sdk.StreamResponse
		if err := json.Unmarshal(record.Payload, &event); err != nil {
			yield(nil, fmt.Errorf("%w: event %d of task %s can't be read: %w", sdk.ErrInternalError, record.Seq, t.id, err))
			return
		}
		out.mark(record.Seq)
		if !yield(event.Event, nil) {
			return
		}
		if e, ok := event.Event.(*sdk.TaskStatusUpdateEvent); ok && turn && interrupted(e.Status.State) {
			return
		}
	}
}

// enter takes one of the places for streams.
func (s *Server) enter() (leave func(), err error) {
	if n := s.streams.Add(1); n > int64(s.o.Limits.MaxStreams) {
		s.streams.Add(-1)
		s.counts.refused.Add(1)
		return nil, tooBusy(fmt.Errorf("%d streams are open already: close one, or get the task instead", n-1))
	}
	return func() { s.streams.Add(-1) }, nil
}
