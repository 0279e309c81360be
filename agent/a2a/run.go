package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/limit"
)

// metadataOutcome is the key of the outcome of a task in the metadata of its last status.
const metadataOutcome = "plimsoll.outcome"

// Outcomes that the server itself sets.
const (
	outcomePanic     = "panic"
	outcomeShutdown  = "shutdown"
	outcomeRestart   = "restart"
	outcomeFailed    = "failed"
	outcomeCancelled = "cancelled"
)

// errShutdown is the cause of contexts when the server closes.
var errShutdown = errors.New("a2a: the server is being stopped")

// decideAfter is the time in which an executor may answer with a message instead of a task. If it has sent nothing by then, a task is made,
// which the client can watch and cancel.
const decideAfter = 500 * time.Millisecond

// run is one execution of the executor for a message. Until its first event it is open whether the answer is a task or a message.
type run struct {
	s      *Server
	x      *Exchange
	push   []pushConfig // of the request, for a task that is made
	stream bool         // a client waits for the events
	cancel context.CancelCauseFunc

	decided chan struct{} // closed when task or message is set
	settled chan struct{} // closed when the task ended or waits for the client, or there is a message
	done    chan struct{} // closed when the executor has returned

	mu      sync.Mutex
	task    *task
	reader  *tasklog.Reader // for the client that streams; nil for others
	first   *logPosition    // what that client gets before what the reader has
	message *sdk.Message
	err     error // why there is neither a task nor a message
	isOpen  bool  // neither task nor message is decided
	quiet   bool  // settled is closed
	asked   bool  // the executor has set a state that waits for the client
}

// decide makes the task of the run, unless it has one or has answered with a message. It returns an error if no task can be made.
func (r *run) decide() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decideLocked()
}

// decideLocked creates the task of the run, if it is still open whether the answer is a message or a task, and wakes those who wait for
// that decision. It returns the error of the creation, also when called again. The caller holds mu.
func (r *run) decideLocked() error {
	if !r.isOpen {
		return r.err
	}
	r.isOpen = false
	r.task, r.reader, r.err = r.s.create(r)
	close(r.decided)
	if r.err != nil {
		r.settleLocked()
	}
	return r.err
}

// settleLocked wakes those who wait for the run to have a task, a message or an end. The caller holds mu.
func (r *run) settleLocked() {
	if !r.quiet {
		r.quiet = true
		close(r.settled)
	}
}

// takeReader returns the reader for the client that streams, which the caller must close, and the task that the client gets first. Both may
// be nil.
func (r *run) takeReader() (*tasklog.Reader, *logPosition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reader, first := r.reader, r.first
	r.reader, r.first, r.stream = nil, nil, false
	return reader, first
}

// taskEnded wakes those who wait for the run, because its task was ended by somebody else.
func (r *run) taskEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settleLocked()
}

// emit publishes an event of the executor. The first event decides what the client gets: a message is the whole answer, anything else
// creates the task. A later message completes the task. After the end the error is ErrEnded.
func (r *run) emit(event sdk.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock() // keeps the events of an executor in the order of its calls
	if m, ok := event.(*sdk.Message); ok {
		if r.isOpen {
			r.isOpen = false
			r.message = m
			close(r.decided)
			r.settleLocked()
			return nil
		}
		// The client has a task already, or is in one: the message ends it.
		event = statusEvent(r.x, sdk.TaskStateCompleted, "", nil)
		event.(*sdk.TaskStatusUpdateEvent).Status.Message = m
		m.TaskID = r.x.TaskID
	}
	if r.message != nil {
		return fmt.Errorf("%w: it was answered with a message", ErrEnded)
	}
	if err := r.decideLocked(); err != nil {
		return err
	}
	if err := r.task.publish(event); err != nil {
		return err
	}
	if e, ok := event.(*sdk.TaskStatusUpdateEvent); ok {
		r.asked = interrupted(e.Status.State)
		if r.asked || e.Status.State.Terminal() {
			r.settleLocked()
		}
	}
	return nil
}

// execute runs the executor, and ends the task if the executor has not.
func (r *run) execute(ctx context.Context) {
	defer r.s.endRun(r)
	silent := time.AfterFunc(decideAfter, func() { _ = r.decide() }) // an error waits in the run
	defer silent.Stop()
	err := r.callExecutor(ctx)
	cause := context.Cause(ctx)
	r.cancel(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.message == nil && r.decideLocked() == nil {
		r.conclude(err, cause)
	}
	r.settleLocked()
}

// callExecutor runs the executor and returns its error. A panic is logged and counted, and returned as errPanic.
func (r *run) callExecutor(ctx context.Context) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			r.s.counts.panics.Add(1)
			r.s.log.Error("a2a: an executor panicked", "agent", r.s.o.Name, "task", r.x.TaskID,
				"panic", caught, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return r.s.o.Executor.Execute(ctx, r.x)
}

var errPanic = errors.New("the agent broke down on this task; its log says where")

// conclude sets the task's last state if the executor left it open. err is the executor's error and cause that of its context.
func (r *run) conclude(err, cause error) {
	t := r.task
	state := t.state()
	if state.Terminal() || err == nil && r.asked {
		return
	}
	outcome := func(name string) map[string]any { return map[string]any{metadataOutcome: name} }
	switch {
	case err == nil && cause == nil:
		t.end(sdk.TaskStateCompleted, "", nil)
	case errors.Is(err, errPanic):
		t.end(sdk.TaskStateFailed, errPanic.Error(), outcome(outcomePanic))
	case errors.Is(cause, ErrCancelled):
		t.end(sdk.TaskStateCanceled, "", outcome(outcomeCancelled))
	case errors.Is(cause, errShutdown):
		t.end(sdk.TaskStateFailed, "the agent was stopped before it could answer; ask again", outcome(outcomeShutdown))
	case err == nil:
		t.end(sdk.TaskStateCompleted, "", nil)
	default:
		t.end(sdk.TaskStateFailed, limit.Clip(err.Error(), 4<<10), outcome(outcomeFailed))
	}
}

// create makes the task of a new run, stores it and begins its log. The reader is for the client, nil if it does not stream.
func (s *Server) create(r *run) (*task, *tasklog.Reader, error) {
	x := r.x
	first := sdk.NewSubmittedTask(x, x.Message)
	now := statusEvent(x, sdk.TaskStateSubmitted, "", nil).Status.Timestamp
	first.Status.Timestamp = now
	t := &task{s: s, id: x.TaskID, contextID: x.ContextID, users: 1, push: r.push, run: r}
	t.content = contentOf(first, sizeOf(first))
	log, err := s.logs.Open(string(x.TaskID), 0)
	if err != nil {
		return nil, nil, tooBusy(err)
	}
	t.log = log
	payload, err := json.Marshal(sdk.StreamResponse{Event: first})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", sdk.ErrInternalError, err)
	}
	var reader *tasklog.Reader
	if r.stream { // a log that nobody was to read is not one that everybody left
		if reader, err = log.Read(0); err != nil {
			s.logs.Remove(string(x.TaskID))
			return nil, nil, tooBusy(err)
		}
	}
	// Known before it is kept: who finds it in a list must get this task and not another.
	s.mu.Lock()
	s.tasks[t.id] = t
	s.mu.Unlock()
	t.storeSnapshot(first)
	log.Publish(func(uint64) ([]byte, bool) { return payload, false })
	s.counts.tasks.Add(1)
	return t, reader, nil
}

// endRun removes a run that has ended from its task and from the server's list, wakes those who wait for its end, and releases the task.
func (s *Server) endRun(r *run) {
	if r.task != nil {
		r.task.mu.Lock()
		if r.task.run == r {
			r.task.run = nil
		}
		r.task.mu.Unlock()
	}
	close(r.done)
	s.mu.Lock()
	delete(s.runs, r)
	s.mu.Unlock()
	if r.task != nil {
		s.release(r.task)
	}
}
