package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/plimsoll/plimsoll/agent/a2a/tasklog"
)

// handler is the server in the form that the SDK's transports call.
type handler struct{ s *Server }

var _ a2asrv.RequestHandler = handler{}

// GetTask returns a task.
func (h handler) GetTask(ctx context.Context, req *sdk.GetTaskRequest) (*sdk.Task, error) {
	task, err := h.s.snapshot(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return trimHistory(task, req.HistoryLength)
}

// snapshot finds a task without acquiring it.
func (s *Server) snapshot(ctx context.Context, id sdk.TaskID) (*sdk.Task, error) {
	if task := s.snapshotInMemory(id); task != nil {
		return task, nil
	}
	_, rec, err := s.readStored(ctx, id)
	if err != nil {
		return nil, err
	}
	return rec.Task, nil
}

// snapshotInMemory is a task that is in use; nil for others.
func (s *Server) snapshotInMemory(id sdk.TaskID) *sdk.Task {
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.snapshot()
}

// The sizes of a page of tasks (A2A 1.0, 3.1.4).
const (
	pageSize    = 50
	maxPageSize = 100
)

// ListTasks lists the tasks that match, those whose state changed last first.
func (h handler) ListTasks(ctx context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	bad := func(format string, values ...any) error {
		return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(format, values...))
	}
	if err := readListParameters(ctx, req); err != nil {
		return nil, err
	}
	size := req.PageSize
	switch {
	case size == 0:
		size = pageSize
	case size < 1 || size > maxPageSize:
		return nil, bad("pageSize: it is %d; it is 1 to %d", size, maxPageSize)
	}
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, bad("historyLength: it is %d; it is 0 or more", *req.HistoryLength)
	}
	query := tasklog.Query{Context: req.ContextID, State: string(req.Status), Limit: size, Token: req.PageToken}
	if req.StatusTimestampAfter != nil {
		query.After = *req.StatusTimestampAfter
	}
	page, err := h.s.store.List(ctx, query)
	switch {
	case errors.Is(err, tasklog.ErrToken):
		return nil, bad("pageToken: %v", err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", sdk.ErrInternalError, err)
	}
	out := &sdk.ListTasksResponse{Tasks: []*sdk.Task{}, TotalSize: page.Total, PageSize: size, NextPageToken: page.Next}
	for _, kept := range page.Tasks {
		task := h.s.snapshotInMemory(sdk.TaskID(kept.ID))
		if task == nil {
			var rec storedTask
			if err := json.Unmarshal(kept.Body, &rec); err != nil || rec.Task == nil {
				continue
			}
			task = rec.Task
		}
		if !req.IncludeArtifacts {
			task.Artifacts = nil
		}
		if task, err = trimHistory(task, req.HistoryLength); err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, task)
	}
	sort.SliceStable(out.Tasks, func(i, j int) bool {
		a, b := out.Tasks[i].Status.Timestamp, out.Tasks[j].Status.Timestamp
		return a != nil && b != nil && a.After(*b)
	})
	return out, nil
}

// readListParameters reads two parameters that the SDK's REST transport leaves out (2.3.1).
func readListParameters(ctx context.Context, req *sdk.ListTasksRequest) error {
	query := streamOf(ctx).query
	if text := query.Get("historyLength"); text != "" && req.HistoryLength == nil {
		n, err := strconv.Atoi(text)
		if err != nil {
			return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("historyLength: %q is no number", cut(text, 32)))
		}
		req.HistoryLength = &n
	}
	if text := query.Get("statusTimestampAfter"); text != "" && req.StatusTimestampAfter == nil {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("statusTimestampAfter: %q is no time of RFC 3339", cut(text, 32)))
		}
		req.StatusTimestampAfter = &at
	}
	return nil
}

// CancelTask ends a task. Its executor gets some time to do that itself.
func (h handler) CancelTask(ctx context.Context, req *sdk.CancelTaskRequest) (*sdk.Task, error) {
	t, err := h.s.acquire(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	defer h.s.release(t)
	refused := func(state sdk.TaskState) error {
		return sdk.NewError(sdk.ErrTaskNotCancelable, fmt.Sprintf("task %s has ended as %s", t.id, state))
	}
	if state := t.state(); state.Terminal() {
		return nil, refused(state)
	}
	t.mu.Lock()
	r := t.run
	t.mu.Unlock()
	if r != nil {
		r.cancel(ErrCancelled)
		wait := time.NewTimer(h.s.o.Limits.CancelWait)
		defer wait.Stop()
		select {
		case <-r.done:
		case <-wait.C:
			h.s.counts.leaked.Add(1)
			h.s.log.Warn("a2a: an executor goes on although its task was cancelled", "agent", h.s.o.Name, "task", t.id)
		case <-ctx.Done():
		}
	}
	t.end(sdk.TaskStateCanceled, "", map[string]any{metadataOutcome: outcomeCancelled})
	if r != nil {
		r.taskEnded()
	}
	if state := t.state(); state != sdk.TaskStateCanceled {
		return nil, refused(state)
	}
	return t.snapshot(), nil
}

// GetExtendedAgentCard returns the card for authenticated clients, when there is one.
func (h handler) GetExtendedAgentCard(context.Context, *sdk.GetExtendedAgentCardRequest) (*sdk.AgentCard, error) {
	if h.s.o.Card.Extended == nil {
		return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "this agent has no extended card")
	}
	return h.s.o.Card.Extended, nil
}
