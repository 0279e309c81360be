package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
)

// logPosition is a task as it was right after one of its events.
type logPosition struct {
	seq  uint64
	task *sdk.Task
}

// show yields the task as the event of its position. It returns false if the client has gone.
func (p *logPosition) show(out *stream, yield func(sdk.Event, error) bool) bool {
	out.mark(p.seq)
	return yield(p.task, nil)
}

// SubscribeToTask yields the task and then its events. A client that names its last event in Last-Event-ID gets only the newer ones, if
// they are still kept.
func (h handler) SubscribeToTask(ctx context.Context, req *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) { h.follow(ctx, req.ID, yield) }
}

// follow yields the task and its events to a client that subscribes, until the task ends or the client goes. A client that names the event
// it had last gets only the later ones. An error is yielded like an event.
func (h handler) follow(ctx context.Context, id sdk.TaskID, yield func(sdk.Event, error) bool) {
	leave, err := h.s.acquireStream()
	if err != nil {
		yield(nil, err)
		return
	}
	defer leave()
	t, err := h.s.acquire(ctx, id)
	if err != nil {
		yield(nil, err)
		return
	}
	defer h.s.release(t)
	out := streamOf(ctx)
	reader, first, err := t.openReader(out)
	if err != nil {
		yield(nil, err)
		return
	}
	defer reader.Close()
	out.open()
	if first == nil || first.show(out, yield) {
		forwardEvents(ctx, t, reader, false, yield)
	}
}

// openReader opens a reader of the task's log for a client. If the log still has the event that the client had last, the reader goes on
// after that event and the position is nil. Otherwise the position has the whole task, which the caller sends first. A task that has ended
// is an error.
func (t *task) openReader(out *stream) (*tasklog.Reader, *logPosition, error) {
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
	first := &logPosition{}
	reader, err := t.log.Subscribe(func(last uint64) { first.seq, first.task = last, t.snapshot() })
	if err != nil {
		return nil, nil, tooBusy(err)
	}
	return reader, first, nil
}

// forwardEvents yields the events of a reader until the task ends or the client goes; with turn also until the task waits for the client.
// In the place of events that are no longer kept it yields the whole task.
func forwardEvents(ctx context.Context, t *task, reader *tasklog.Reader, turn bool, yield func(sdk.Event, error) bool) {
	out := streamOf(ctx)
	for {
		record, gap, err := reader.Next(ctx)
		if err != nil {
			return // the end, the client has gone, or the log has
		}
		if gap.Count() > 0 {
			t.s.counts.snapshots.Add(1)
			now := &logPosition{}
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

// acquireStream takes one of the slots for streams; leave gives it back. It returns an error when all are taken.
func (s *Server) acquireStream() (leave func(), err error) {
	if n := s.streams.Add(1); n > int64(s.o.Limits.MaxStreams) {
		s.streams.Add(-1)
		s.counts.refused.Add(1)
		return nil, tooBusy(fmt.Errorf("%d streams are open already: close one, or get the task instead", n-1))
	}
	return func() { s.streams.Add(-1) }, nil
}
