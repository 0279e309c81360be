package toolserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// maxTasks bounds the tasks that are kept; the oldest is forgotten first.
const maxTasks = 100

// taskTime is the time at which every task was made: the server's results are always the same.
const taskTime = "2026-07-28T12:00:00Z"

type task struct {
	id     string
	stop   context.CancelFunc
	done   chan struct{}
	status string // guarded by Server.mu
	result []byte // the members of the result object
	failed *Error
}

// taskClient reports whether the client takes a task where it asked for a result.
func (x *exchange) taskClient() bool {
	return x.modern && bytes.Contains(x.meta.Capabilities, []byte(`"io.modelcontextprotocol/tasks"`))
}

func (x *exchange) newTask(t tool, arguments, _ json.RawMessage) (body, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(x.ctx))
	k := &task{id: token(), stop: stop, done: make(chan struct{}), status: "working"}
	x.s.mu.Lock()
	x.s.tasks[k.id] = k
	x.s.order = append(x.s.order, k.id)
	if len(x.s.order) > maxTasks {
		x.s.tasks[x.s.order[0]].stop()
		delete(x.s.tasks, x.s.order[0])
		x.s.order = x.s.order[1:]
	}
	x.s.mu.Unlock()
	run := *x
	run.ctx = ctx
	run.meta.ProgressToken = nil
	go func() {
		defer stop()
		result, err := t.call(&run, arguments)
		var b bytes.Buffer
		if err == nil {
			w := bufio.NewWriter(&b)
			err = result(w)
			w.Flush()
		}
		x.s.mu.Lock()
		defer x.s.mu.Unlock()
		defer close(k.done)
		if k.status == "cancelled" {
			return
		}
		k.status, k.result = "completed", b.Bytes()
		if err != nil {
			k.status, k.failed = "failed", &Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
		}
	}()
	if x.modern {
		return raw(`"resultType":"task",` + k.members(true, "working")), nil
	}
	return raw(`"task":{` + k.members(false, "working") + "}"), nil
}

func (k *task) members(modern bool, status string) string {
	ttl, poll := "ttl", "pollInterval"
	if modern {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	return fmt.Sprintf(`"taskId":%q,"status":%q,"createdAt":%q,"lastUpdatedAt":%q,%q:60000,%q:20`, k.id, status, taskTime, taskTime, ttl, poll)
}

func (x *exchange) onTask() (body, error) {
	if x.method == "tasks/list" {
		x.s.mu.Lock()
		var all []string
		for _, id := range x.s.order {
			all = append(all, "{"+x.s.tasks[id].members(false, x.s.tasks[id].status)+"}")
		}
		x.s.mu.Unlock()
		return raw(`"tasks":[` + strings.Join(all, ",") + "]"), nil
	}
	var p struct{ TaskID string }
	_ = json.Unmarshal(x.params, &p)
	x.s.mu.Lock()
	k := x.s.tasks[p.TaskID]
	x.s.mu.Unlock()
	if k == nil {
		return nil, badParams("Failed to retrieve task: Task not found")
	}
	switch x.method {
	case "tasks/cancel":
		x.s.mu.Lock()
		over := k.status != "working"
		if !over {
			k.status = "cancelled"
		}
		x.s.mu.Unlock()
		k.stop()
		if x.modern {
			return x.complete(-1, nil), nil
		}
		if over {
			return nil, badParams("Cannot cancel task: already in terminal status")
		}
		return raw(k.members(false, "cancelled")), nil
	case "tasks/update":
		return x.complete(-1, nil), nil
	case "tasks/result":
		select {
		case <-k.done:
		case <-x.ctx.Done():
			return nil, x.ctx.Err()
		}
		x.s.mu.Lock()
		defer x.s.mu.Unlock()
		if k.failed != nil {
			return nil, k.failed
		}
		if k.result == nil {
			return nil, errors.New("the task was cancelled")
		}
		return raw(fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%q}},%s`, k.id, k.result)), nil
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	members := k.members(x.modern, k.status)
	if x.modern {
		members = `"resultType":"complete",` + members
		switch {
		case k.failed != nil:
			b, _ := json.Marshal(k.failed)
			members += `,"error":` + string(b)
		case k.status == "completed":
			members += `,"result":{` + string(k.result) + "}"
		}
	}
	return raw(members), nil
}
