package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/wireerror"
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

// snapshot returns a task as it is now, from memory or from the store. It does not acquire the task.
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

// snapshotInMemory returns a task if it is in use, else nil.
func (s *Server) snapshotInMemory(id sdk.TaskID) *sdk.Task {
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.snapshot()
}

// CancelTask cancels a task and returns it. Its executor gets CancelWait to end by itself. A task that ends otherwise, or has ended, is an
// error.
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

// ErrEnded means that an event came after the end of its task. The event is dropped.
var ErrEnded = errors.New("a2a: the task has ended")

// ErrTooLarge means that an event, or the task with it, would be larger than allowed.
var ErrTooLarge = errors.New("a2a: too large")

// ErrClosed means that the server was closed.
var ErrClosed = errors.New("a2a: the server is closed")

// grpcName returns the name in google.rpc.Status for one of the HTTP statuses that refuse uses.
func grpcName(status int) string {
	switch status {
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusInternalServerError:
		return "INTERNAL"
	default:
		return "INVALID_ARGUMENT"
	}
}

// refuse answers a request with an error, in the form of its binding, before the SDK sees it. status 0 means 400.
func (s *Server) refuse(out *stream, status int, id json.RawMessage, err error) {
	status = cmp.Or(status, http.StatusBadRequest)
	info := errordetails.NewErrorInfo(sdk.ErrorReason(err), sdk.ProtocolDomain, nil)
	var body any
	if out.rest {
		body = map[string]any{"error": map[string]any{
			"code": status, "status": grpcName(status), "message": err.Error(),
			"details": []any{info},
		}}
	} else {
		if len(id) == 0 {
			id = json.RawMessage("null")
		}
		body = map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
			"code": wireerror.Code(err), "message": err.Error(), "data": []any{info},
		}}
	}
	text, marshal := json.Marshal(body)
	if marshal != nil {
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	kind, text := "application/json", append(text, '\n')
	if status == http.StatusOK && out.wants && !out.fetch { // the Go SDK's client reads only events then
		kind, text = "text/event-stream", slices.Concat([]byte("data: "), text, []byte("\n"))
	}
	out.Header().Set("Content-Type", kind)
	out.WriteHeader(status)
	_, _ = out.Write(text) // a client that is gone needs no answer
}
