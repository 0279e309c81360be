package gateway

import (
	"bytes"
	"context"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// maxRecalled bounds the words that a session recalls of what has passed, and maxRecalledText each of them.
const (
	// maxRecalled bounds the entries of a recall, and maxRecalledText the bytes of a key and of a word.
	maxRecalled     = 1024
	maxRecalledText = 256
)

// recall maps keys to words and keeps the newest maxRecalled entries. It may be used by several goroutines.
type recall struct {
	mu    sync.Mutex
	words map[string]string
	order []string
}

// put stores a word by its key. The oldest of more than maxRecalled is dropped; a pair that is too long is not stored.
func (r *recall) put(key, word string) {
	if len(key) > maxRecalledText || len(word) > maxRecalledText {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.words == nil {
		r.words = map[string]string{}
	}
	if _, ok := r.words[key]; !ok {
		if r.order = append(r.order, key); len(r.order) > maxRecalled {
			delete(r.words, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.words[key] = word
}

// get returns the word stored under a key; "" if there is none.
func (r *recall) get(key string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.words[key]
}

// taskTool returns the tool that a task belongs to, whose contract and limits the task's result gets; "" if it is not remembered.
func (s *Session) taskTool(principal, id string) string { return s.tasks.get(principal + "\x00" + id) }

// rememberTask stores the call's tool by the id of the task, if the answer is a task: in 2026-07-28 the result is the task itself, in
// 2025-11-25 it contains one.
func (c *call) rememberTask(message []byte) {
	if c.task || c.tool == "" {
		return
	}
	id, ok := rawjson.Text(message, "result", "taskId")
	if !ok {
		id, ok = rawjson.Text(message, "result", "task", "taskId")
	}
	if ok {
		c.s.tasks.put(c.m.Principal+"\x00"+id, c.tool)
		c.x.goesOn.Store(true)
	}
}

// forwardTask forwards a request for a task, and bounds its result like that of a call of the task's tool.
func (s *Session) forwardTask(ctx context.Context, m transport.Message, p params, x *exchange, method string) {
	id, _ := rawjson.Text(m.Raw, "params", "taskId")
	tool := s.taskTool(m.Principal, id)
	known, _ := s.o.Catalogue.get(m.Principal)
	s.forward(ctx, m, p, x, &call{method: method, tool: tool, task: true, known: known, limits: s.o.Settings.limitsOf(tool)})
}

// Progress that comes after the answer names a token that the client no longer knows; some clients drop the connection for it. The
// progress of a call that was answered with a task goes on until the task ends.
const (
	progressed = "notifications/progress"
	spent      = "ended"
	underWay   = "open"
)

// isStale reports whether a frame is progress for a request that has been answered; always false where Many is set.
func (s *Session) isStale(f *transport.Frame) bool {
	if s.o.Many || !f.Whole() || !bytes.Contains(f.Head[:min(len(f.Head), 4<<10)], []byte(progressed)) || f.Start().Head.Method != progressed {
		return false
	}
	token := rawjson.Get(f.Head, "params", metaToken)
	return s.tokens.get(string(token.Of(f.Head))) == spent
}

var taskStatus = []byte(result.TaskStatus)

// boundStatus bounds the result in a notification about a task, passes it to the receiver, and returns true. For any other message, and if the
// session's Next bounds results already, it does nothing and returns false.
func (s *Session) boundStatus(ctx context.Context, f *transport.Frame, who string, to transport.Receiver) bool {
	if s.o.through != nil || !bytes.Contains(f.Head[:min(len(f.Head), 4<<10)], taskStatus) || f.Start().Head.Method != result.TaskStatus {
		return false
	}
	id, _ := rawjson.Text(f.Head, "params", "taskId")
	c := &call{s: s, method: result.TaskStatus, task: true, tool: s.taskTool(who, id), profile: s.profile(params{}), m: transport.Message{Principal: who}}
	c.known, _ = s.o.Catalogue.get(who)
	c.limits = s.o.Settings.limitsOf(c.tool)
	o := c.options()
	o.MaxFrame = MaxPassed
	event := f.Event
	o.Deliver = func(out *transport.Frame) {
		out.Event = event
		to.Receive(out)
	}
	result.Bound(ctx, f, o)
	return true
}
