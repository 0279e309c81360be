package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/limit"
)

// task is a task in use: by an executor, a client, or the server itself.
type task struct {
	s         *Server
	id        sdk.TaskID
	contextID string
	log       *tasklog.Log // nil when the task had ended long before it was asked for
	users     int          // how many use it; guarded by the server's mu

	// writing is held by whoever changes the task, over the log's order and mu.
	writing sync.Mutex

	mu      sync.Mutex // guards the fields below; held for moments only
	content *content
	push    []pushConfig
	run     *run // the execution under way; nil for none

	saving   *time.Timer // stores artifacts that are not in the store yet; nil when all are. Guarded by writing
	nextSave time.Time   // the earliest; guarded by writing
}

// A task is stored when its state changes, and while it streams at most every saveEvery, and at most saveRate bytes a
// second: what it has said so far survives the process.
const (
	saveEvery = time.Second
	saveRate  = 1 << 20
)

// storedTask is a task in the form in which the store keeps it.
type storedTask struct {
	Task *sdk.Task    `json:"task"`
	Push []pushConfig `json:"push,omitempty"`
}

// seqGap is added to the numbers of events when the log of a task is begun again; no log has that many. So a client that has read the
// earlier log finds a gap, and is not mistaken for one that has read this log.
const seqGap = 1 << 32

// acquire returns a task, from memory or from the store, and keeps it in memory until [Server.release].
func (s *Server) acquire(ctx context.Context, id sdk.TaskID) (*task, error) {
	for {
		s.mu.Lock()
		if t := s.tasks[id]; t != nil {
			t.users++
			s.mu.Unlock()
			return t, nil
		}
		releases := s.releases
		s.mu.Unlock()
		kept, rec, err := s.readStored(ctx, id) // the disk is waited for without the lock
		if err != nil {
			return nil, err
		}
		t, err := s.load(id, kept, rec, releases)
		if t != nil || err != nil {
			return t, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// load brings a stored task into memory and counts a user. It returns nil when any task was released since the store was read: it may have
// been this one, with newer content.
func (s *Server) load(id sdk.TaskID, kept tasklog.Task, rec storedTask, releases uint64) (*task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tasks[id]; t != nil {
		t.users++
		return t, nil
	}
	if s.releases != releases {
		return nil, nil
	}
	t := &task{
		s: s, id: id, contextID: rec.Task.ContextID,
		content: contentOf(rec.Task, int64(len(kept.Body))), push: rec.Push, users: 1,
	}
	t.log = s.logs.Find(string(id)) // of an ended task it may be gone
	if t.log == nil && !kept.Ended {
		var err error
		if t.log, err = s.logs.Open(string(id), kept.Seq/seqGap*seqGap+seqGap); err != nil {
			return nil, tooBusy(err)
		}
	}
	s.tasks[id] = t
	return t, nil
}

// readStored reads a task from the store. A missing one is sdk.ErrTaskNotFound.
func (s *Server) readStored(ctx context.Context, id sdk.TaskID) (tasklog.Task, storedTask, error) {
	var rec storedTask
	kept, err := s.store.Get(ctx, string(id))
	switch {
	case errors.Is(err, tasklog.ErrNotFound):
		return kept, rec, sdk.NewError(sdk.ErrTaskNotFound, fmt.Sprintf(
			"task not found: %q never was, or was the oldest when there were too many", limit.Clip(string(id), 64)))
	case err != nil:
		return kept, rec, fmt.Errorf("%w: %w", sdk.ErrInternalError, err)
	}
	if err := json.Unmarshal(kept.Body, &rec); err != nil || rec.Task == nil {
		return kept, rec, fmt.Errorf("%w: the task as it was stored can't be read: %v", sdk.ErrInternalError, err)
	}
	return kept, rec, nil
}

// release ends an acquire. A task without users leaves the memory; if it waits for its client and more than half of MaxTasks have logs, its
// log is removed too.
func (s *Server) release(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users--
	if t.users > 0 {
		return
	}
	delete(s.tasks, t.id)
	s.releases++
	if interrupted(t.state()) && s.logs.Stats().Logs > s.o.Limits.MaxTasks/2 {
		s.logs.Remove(string(t.id)) // tasks that wait for somebody who left don't keep others out
	}
}

func (t *task) state() sdk.TaskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.content.task.Status.State
}

func (t *task) snapshot() *sdk.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.content.snapshot()
}

// publish adds an event to the task and its log, and notifies push receivers. It waits for the disk when the state changes, never for a client.
// [ErrEnded] and [ErrTooLarge] mean that the event was dropped; one that ends the task may make it larger than MaxTask.
func (t *task) publish(event sdk.Event) error {
	payload, err := json.Marshal(sdk.StreamResponse{Event: event})
	if err != nil {
		return fmt.Errorf("a2a: task %s: the event is no JSON: %w", t.id, err)
	}
	size := int64(len(payload))
	kept := size
	if e, ok := event.(*sdk.TaskArtifactUpdateEvent); ok {
		kept = sizeOf(e.Artifact) // a stream of many small pieces has more around them than in them
	}
	t.writing.Lock()
	defer t.writing.Unlock()

	t.mu.Lock()
	before := t.content.task.Status.State
	grown := t.content.bytes + t.content.growth(event, kept)
	t.mu.Unlock()
	after, terminal := before, false
	if e, ok := event.(*sdk.TaskStatusUpdateEvent); ok {
		after = e.Status.State
		terminal = after.Terminal()
	}
	limits := &t.s.o.Limits
	switch {
	case before.Terminal():
		t.s.counts.late.Add(1)
		return fmt.Errorf("task %s: %w as %s", t.id, ErrEnded, before)
	case size > int64(limits.MaxEvent):
		return fmt.Errorf("task %s: an event of %d bytes is %w: at most %s", t.id, size, ErrTooLarge, limits.MaxEvent.Human())
	case grown > int64(limits.MaxTask) && !terminal:
		return fmt.Errorf("task %s: with this event of %d bytes the task is %w: at most %s", t.id, size, ErrTooLarge, limits.MaxTask.Human())
	}
	if after != before {
		// The store has it first: what a client was told must survive.
		t.mu.Lock()
		next := t.content.copy()
		t.mu.Unlock()
		next.apply(event, kept)
		t.storeSnapshot(next.snapshot())
	}
	seq := t.log.Publish(func(uint64) ([]byte, bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.content.apply(event, kept)
		return payload, terminal
	})
	if seq == 0 {
		// The log is gone: the server is closing, or there are more tasks than there may be.
		t.mu.Lock()
		t.content.apply(event, kept)
		t.mu.Unlock()
	}
	t.s.counts.events.Add(1)
	if terminal {
		t.s.countEnded(after)
	}
	switch {
	case after != before:
		t.notify(event)
	case t.saving == nil:
		if _, ok := event.(*sdk.TaskArtifactUpdateEvent); ok {
			t.saving = time.AfterFunc(time.Until(t.nextSave), t.save)
		}
	}
	return nil
}

// save stores the artifacts that have been streamed since the last write. It does nothing if a change of state has stored them.
func (t *task) save() {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.saving == nil {
		return // a change of state was stored since
	}
	t.mu.Lock()
	snapshot := t.content.snapshot()
	t.mu.Unlock()
	t.storeSnapshot(snapshot)
}

// storeSnapshot writes a snapshot of the task to the store. Failures are logged and counted. The caller holds writing.
func (t *task) storeSnapshot(snapshot *sdk.Task) {
	if t.saving != nil {
		t.saving.Stop()
		t.saving = nil
	}
	t.mu.Lock()
	rec := storedTask{Task: snapshot, Push: t.push}
	t.mu.Unlock()
	body, err := json.Marshal(rec)
	if err != nil {
		t.s.log.Error("a2a: a task is no JSON", "agent", t.s.o.Name, "task", t.id, "error", err)
		return
	}
	kept := tasklog.Task{
		ID: string(t.id), Context: t.contextID, State: string(snapshot.Status.State),
		Ended: snapshot.Status.State.Terminal(), Body: body,
	}
	if t.log != nil {
		kept.Seq = t.log.Last() + 1
	}
	if snapshot.Status.Timestamp != nil {
		kept.Time = *snapshot.Status.Timestamp
	}
	t.nextSave = time.Now().Add(max(saveEvery, time.Duration(len(body))*time.Second/saveRate))
	ctx := context.Background() // what ended must be kept, whoever has gone
	_, err = t.s.store.Update(ctx, kept)
	if errors.Is(err, tasklog.ErrNotFound) {
		_, err = t.s.store.Create(ctx, kept)
	}
	if err != nil {
		t.s.counts.unkept.Add(1)
		t.s.log.Error("a2a: a task can't be kept; it is lost with this process", "agent", t.s.o.Name, "task", t.id, "error", err)
	}
}

// addMessage appends a message of the client to the task's history and stores the task. The state stays. A task that would be too large is
// an error.
func (t *task) addMessage(m *sdk.Message) error {
	size := sizeOf(m)
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	if t.content.bytes+size > int64(t.s.o.Limits.MaxTask) {
		t.mu.Unlock()
		return sdk.NewError(sdk.ErrInvalidRequest, fmt.Sprintf(
			"with this message task %s is larger than %s: begin a new one", t.id, t.s.o.Limits.MaxTask.Human()))
	}
	if was := t.content.task.Status.Message; was != nil {
		t.content.addMessage(was, 0)
		t.content.task.Status.Message = nil
	}
	t.content.addMessage(m, size)
	snapshot := t.content.snapshot()
	t.mu.Unlock()
	t.storeSnapshot(snapshot)
	return nil
}

// end sets a task's last state. It returns false if it cannot, as when the task has ended before.
func (t *task) end(state sdk.TaskState, text string, metadata map[string]any) bool {
	return t.publish(statusEvent(t, state, text, metadata)) == nil
}

// TaskInfo implements sdk.TaskInfoProvider, so that a task can be passed to the constructors of the SDK's events.
func (t *task) TaskInfo() sdk.TaskInfo {
	return sdk.TaskInfo{TaskID: t.id, ContextID: t.contextID}
}

// statusEvent returns a status of now. text, unless "", becomes a message of the agent.
func statusEvent(of sdk.TaskInfoProvider, state sdk.TaskState, text string, metadata map[string]any) *sdk.TaskStatusUpdateEvent {
	var m *sdk.Message
	if text != "" {
		m = sdk.NewMessageForTask(sdk.MessageRoleAgent, of, sdk.NewTextPart(text))
	}
	e := sdk.NewStatusUpdateEvent(of, state, m)
	now := time.Now().UTC()
	e.Status.Timestamp = &now
	e.Metadata = metadata
	return e
}

// tooBusy returns the error that a client gets when a bound is reached.
func tooBusy(err error) error { return sdk.NewError(sdk.ErrServerError, err.Error()) }
