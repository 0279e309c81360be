package a2a

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// content is the history and artifacts of a task while it grows. Artifacts are kept in the pieces in which they came; pieces that a
// [content.snapshot] shares are never changed.
type content struct {
	task sdk.Task // without artifacts
	// artifacts are in the order of their first pieces.
	artifacts []*artifact
	// bytes is the size of the history and the artifacts as JSON, and a little more.
	bytes int64
}

type artifact struct {
	about sdk.Artifact // without parts
	parts []*sdk.Part
	bytes int64
}

// contentOf returns the content of a stored task. bytes is its length as JSON.
func contentOf(task *sdk.Task, bytes int64) *content {
	c := &content{task: *task, bytes: bytes}
	c.task.Artifacts = nil
	for _, a := range task.Artifacts {
		if a == nil {
			continue
		}
		about := *a
		about.Parts = nil
		c.artifacts = append(c.artifacts, &artifact{about: about, parts: a.Parts, bytes: sizeOf(a)})
	}
	return c
}

// sizeOf returns the length of a value as JSON; 0 if it has no such form.
func sizeOf(v any) int64 {
	text, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return int64(len(text))
}

// apply adds an event to the task. size is the length of the event's JSON. The event must not be changed later.
func (c *content) apply(event sdk.Event, size int64) {
	switch e := event.(type) {
	case *sdk.TaskStatusUpdateEvent:
		c.applyStatus(e, size)
	case *sdk.TaskArtifactUpdateEvent:
		c.applyArtifact(e, size)
	}
}

// applyStatus sets the status of the task. The message of the old status moves into the history. The metadata of a last status is merged
// into that of the task. An event that changes neither state nor message is ignored.
func (c *content) applyStatus(e *sdk.TaskStatusUpdateEvent, size int64) {
	if e.Status.State == c.task.Status.State && e.Status.Message == nil {
		return // progress: the state is as old as it was
	}
	if m := c.task.Status.Message; m != nil {
		c.addMessage(m, 0) // it was counted when it came
	}
	if e.Status.Message != nil {
		c.bytes += size
	}
	c.task.Status = e.Status
	if len(e.Metadata) > 0 && e.Status.State.Terminal() {
		// How a task ended belongs to the task: not everybody sees the event.
		merged := make(map[string]any, len(c.task.Metadata)+len(e.Metadata))
		for _, from := range []map[string]any{c.task.Metadata, e.Metadata} {
			maps.Copy(merged, from)
		}
		c.task.Metadata = merged
		c.bytes += size
	}
}

// addMessage appends a message to the history. size is the length of its JSON.
func (c *content) addMessage(m *sdk.Message, size int64) {
	c.task.History = append(slices.Clip(c.task.History), m)
	c.bytes += size
}

// applyArtifact appends the parts to the artifact with the event's id if the event says so, else it adds the artifact or replaces the one
// with that id.
func (c *content) applyArtifact(e *sdk.TaskArtifactUpdateEvent, size int64) {
	i := slices.IndexFunc(c.artifacts, func(a *artifact) bool { return a.about.ID == e.Artifact.ID })
	if i >= 0 && e.Append {
		a := c.artifacts[i]
		a.parts = append(a.parts, e.Artifact.Parts...)
		a.bytes += size
		c.bytes += size
		return
	}
	about := *e.Artifact
	about.Parts = nil
	made := &artifact{about: about, parts: slices.Clip(e.Artifact.Parts), bytes: size}
	c.bytes += size
	if i < 0 {
		c.artifacts = append(c.artifacts, made)
		return
	}
	c.bytes -= c.artifacts[i].bytes
	c.artifacts[i] = made
}

// growth returns by how many bytes an event of the given size would change the size of the task: negative where a smaller artifact replaces
// a larger one, 0 for an event that is not stored.
func (c *content) growth(event sdk.Event, size int64) int64 {
	switch e := event.(type) {
	case *sdk.TaskArtifactUpdateEvent:
		if !e.Append {
			for _, a := range c.artifacts {
				if a.about.ID == e.Artifact.ID {
					return size - a.bytes
				}
			}
		}
		return size
	case *sdk.TaskStatusUpdateEvent:
		if e.Status.Message != nil {
			return size
		}
	}
	return 0
}

// snapshot returns the task as it is now. Later changes of the content do not affect it.
func (c *content) snapshot() *sdk.Task {
	task := c.task
	task.History = slices.Clip(task.History)
	for _, a := range c.artifacts {
		about := a.about
		about.Parts = joinTexts(a.parts)
		task.Artifacts = append(task.Artifacts, &about)
	}
	return &task
}

// copy returns a content that can change independently. Parts and messages, which never change, are shared.
func (c *content) copy() *content {
	out := *c
	out.artifacts = make([]*artifact, len(c.artifacts))
	for i, a := range c.artifacts {
		again := *a
		again.parts = slices.Clip(a.parts)
		out.artifacts[i] = &again
	}
	return &out
}

// joinTexts returns the parts of an artifact with adjacent texts of the same media type as one part.
func joinTexts(parts []*sdk.Part) sdk.ContentParts {
	plain := func(p *sdk.Part) bool {
		_, text := p.Content.(sdk.Text)
		return text && p.Filename == "" && len(p.Metadata) == 0
	}
	var out sdk.ContentParts
	for i := 0; i < len(parts); {
		end := i + 1
		if plain(parts[i]) {
			for end < len(parts) && plain(parts[end]) && parts[end].MediaType == parts[i].MediaType {
				end++
			}
		}
		if end == i+1 {
			out = append(out, parts[i])
		} else {
			var b strings.Builder
			for _, p := range parts[i:end] {
				b.WriteString(p.Text())
			}
			out = append(out, &sdk.Part{Content: sdk.Text(b.String()), MediaType: parts[i].MediaType})
		}
		i = end
	}
	return out
}

// trimHistory cuts a task's history, in place, to its last *history messages, and returns the task; nil leaves all of them. A negative
// number is an error.
func trimHistory(task *sdk.Task, history *int) (*sdk.Task, error) {
	if history == nil {
		return task, nil
	}
	switch n := *history; {
	case n < 0:
		return nil, sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("historyLength is %d: it is 0 or more", n))
	case n < len(task.History):
		task.History = task.History[len(task.History)-n:]
	}
	return task, nil
}

// interrupted reports whether a state waits for the client.
func interrupted(s sdk.TaskState) bool {
	return s == sdk.TaskStateInputRequired || s == sdk.TaskStateAuthRequired
}
