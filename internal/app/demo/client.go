package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

// client is a client of the agent, over A2A, as any other would be.
type client struct{ c *a2aclient.Client }

func newClient(ctx context.Context, url string) (*client, error) {
	c, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{a2a.NewAgentInterface(url, a2a.TransportProtocolJSONRPC)})
	if err != nil {
		return nil, fmt.Errorf("a client of the agent at %s: %w", url, err)
	}
	return &client{c}, nil
}

func (c *client) close() { _ = c.c.Destroy() }

// talk is a task as a client has seen it so far.
type talk struct {
	task    a2a.TaskID
	session string
	state   a2a.TaskState
	order   []a2a.ArtifactID
	texts   map[a2a.ArtifactID]string
	status  string // the last words about the task itself
	outcome string // as the agent calls it
	called  string // the tool that it called last
	pieces  int    // artifact events
}

// answer returns the text of all artifacts.
func (t *talk) answer() string {
	var b strings.Builder
	for _, id := range t.order {
		b.WriteString(t.texts[id])
	}
	return b.String()
}

// addEvent takes over what an event of the stream says: texts of artifacts, the state and ids of the task.
func (t *talk) addEvent(e a2a.Event) {
	if t.texts == nil {
		t.texts = map[a2a.ArtifactID]string{}
	}
	artifact := func(a *a2a.Artifact, more bool) {
		if _, known := t.texts[a.ID]; !known {
			t.order = append(t.order, a.ID)
		}
		if !more {
			t.texts[a.ID] = ""
		}
		t.texts[a.ID] += textOf(a.Parts)
	}
	status := func(s a2a.TaskStatus, meta map[string]any) {
		t.state = s.State
		if s.Message != nil {
			t.status = textOf(s.Message.Parts)
		}
		if o, ok := meta["plimsoll.outcome"].(string); ok {
			t.outcome = o
		}
		if c, ok := meta["plimsoll.call"].(map[string]any); ok && meta["plimsoll.event"] == "call" {
			t.called, _ = c["name"].(string)
		}
	}
	switch e := e.(type) {
	case *a2a.Task:
		t.task, t.session = e.ID, e.ContextID
		for _, a := range e.Artifacts {
			artifact(a, false)
		}
		status(e.Status, e.Metadata)
	case *a2a.TaskStatusUpdateEvent:
		t.task, t.session = e.TaskID, e.ContextID
		status(e.Status, e.Metadata)
	case *a2a.TaskArtifactUpdateEvent:
		t.task, t.session = e.TaskID, e.ContextID
		t.pieces++
		artifact(e.Artifact, e.Append)
	case *a2a.Message:
		t.state = a2a.TaskStateCompleted
		t.status = textOf(e.Parts)
	}
}

// textOf joins the texts of parts; those without text add nothing.
func textOf(parts a2a.ContentParts) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text())
	}
	return b.String()
}

// ask asks one question in a session ("" begins one) and follows the task to its end. stop, unless nil, is called after every event; if it
// returns true, ask disconnects and returns.
func (c *client) ask(ctx context.Context, session, question string, stop func(*talk) bool) (*talk, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // whoever stops goes away, in the middle of the stream
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question))
	m.ContextID = session
	t := &talk{}
	for e, err := range c.c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: m}) {
		if err != nil {
			return t, fmt.Errorf("ask the agent: %w", err)
		}
		t.addEvent(e)
		if stop != nil && stop(t) {
			return t, nil
		}
	}
	if !t.state.Terminal() {
		return t, fmt.Errorf("the stream of task %s ended in state %s", t.task, t.state)
	}
	return t, nil
}

// resubscribe subscribes to a task again and returns it as it is when it has ended. later is the number of events that came after the first.
func (c *client) resubscribe(ctx context.Context, id a2a.TaskID) (t *talk, later int, err error) {
	t = &talk{}
	for e, err := range c.c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
		if err != nil {
			break
		}
		if t.task != "" {
			later++
		}
		t.addEvent(e)
	}
	if t.state.Terminal() {
		return t, later, nil
	}
	task, err := c.c.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	if err != nil {
		return t, later, fmt.Errorf("ask for task %s: %w", id, err)
	}
	t = &talk{}
	t.addEvent(task)
	return t, later, nil
}

// cancel takes a task back.
func (c *client) cancel(ctx context.Context, id a2a.TaskID) error {
	_, err := c.c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	return err
}
