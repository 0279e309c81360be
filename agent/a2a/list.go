package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/limit"
)

// The sizes of a page of tasks (A2A 1.0, 3.1.4).
const (
	pageSize    = 50
	maxPageSize = 100
)

// ListTasks returns a page of the tasks that match, those whose state changed last first. Invalid parameters are an error.
func (h handler) ListTasks(ctx context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	bad := func(format string, values ...any) error {
		return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(format, values...))
	}
	if err := readListParameters(ctx, req); err != nil {
		return nil, err
	}
	size := req.PageSize
	switch {
	case size == 0: // readListParameters and checkParams refuse one that a client wrote
		size = pageSize
	case size < 1 || size > maxPageSize:
		return nil, badPageSize(size)
	}
	if req.Status == "TASK_STATE_UNSPECIFIED" { // REST; in JSON the SDK reads it so
		req.Status = sdk.TaskStateUnspecified
	}
	if req.Status != sdk.TaskStateUnspecified && !slices.Contains(taskStates, req.Status) {
		return nil, bad("status: %q is no state; these are: %s", limit.Clip(string(req.Status), 64), stateNames())
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

// taskStatePrefix begins the name of every state of a task.
const taskStatePrefix = "TASK_STATE_"

// taskStates are the states that tasks can be listed by (a2a.proto 1.0, TaskState).
var taskStates = []sdk.TaskState{
	sdk.TaskStateSubmitted, sdk.TaskStateWorking, sdk.TaskStateInputRequired, sdk.TaskStateAuthRequired,
	sdk.TaskStateCompleted, sdk.TaskStateFailed, sdk.TaskStateCanceled, sdk.TaskStateRejected,
}

func stateNames() string {
	names := make([]string, len(taskStates))
	for i, state := range taskStates {
		names[i] = string(state)
	}
	return strings.Join(names, ", ")
}

func badPageSize(n int) error {
	return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("pageSize: it is %d; it is 1 to %d", n, maxPageSize))
}

// readListParameters sets parameters of a REST query in req that the SDK's transport (2.3.1) ignores or reads wrong, and returns an error
// for an invalid one.
func readListParameters(ctx context.Context, req *sdk.ListTasksRequest) error {
	query := streamOf(ctx).query
	if text := query.Get("pageSize"); text != "" && req.PageSize == 0 {
		if n, err := strconv.Atoi(text); err == nil { // what is no number, the transports refuse
			return badPageSize(n)
		}
	}
	if state := taskStatePrefix + strings.ToUpper(strings.ReplaceAll(string(req.Status), "-", "_")); query != nil && slices.Contains(taskStates, sdk.TaskState(state)) {
		req.Status = sdk.TaskState(state) // in a query, the specification's example is status=working (A2A 1.0, 11.5)
	}
	if text := query.Get("historyLength"); text != "" && req.HistoryLength == nil {
		n, err := strconv.Atoi(text)
		if err != nil {
			return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("historyLength: %q is no number", limit.Clip(text, 32)))
		}
		req.HistoryLength = &n
	}
	if text := query.Get("statusTimestampAfter"); text != "" && req.StatusTimestampAfter == nil {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return badTimestamp(text)
		}
		req.StatusTimestampAfter = &at
	}
	return nil
}
