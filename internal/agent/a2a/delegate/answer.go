package delegate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	// maxArtifacts bounds the artifacts of a task, and maxStatus the words of its status, in bytes.
	maxArtifacts, maxStatus = 256, 16 << 10
	// largeAnswer is the size, in bytes, from which on an answer is handed on as a stream.
	largeAnswer = 64 << 10
)

// artifact is the part of an artifact that has come; its text is in the pile.
type artifact struct {
	id     sdk.ArtifactID
	name   string
	pieces []piece
}

// handleEvent updates the exchange by an event of the agent: a task, a status, an artifact or a message. A whole task and a message replace
// all artifacts so far. Progress is reported to the client.
func (x *exchange) handleEvent(e sdk.Event) {
	x.events++
	switch e := e.(type) {
	case *sdk.Task:
		x.task, x.context = e.ID, e.ContextID
		x.artifacts = nil
		x.pile.reset()
		for _, a := range e.Artifacts {
			x.storeArtifact(a, false)
		}
		x.setStatus(e.Status, nil)
	case *sdk.TaskStatusUpdateEvent:
		x.task, x.context, x.stale = e.TaskID, e.ContextID, false
		x.setStatus(e.Status, e.Metadata)
	case *sdk.TaskArtifactUpdateEvent:
		x.task, x.context = e.TaskID, e.ContextID
		x.storeArtifact(e.Artifact, e.Append)
		x.call.Progress(float64(x.events), 0, fmt.Sprintf("%s answers: %s", x.a.o.Name, limit.Bytes(x.pile.size).Human()))
	case *sdk.Message:
		x.context, x.answered, x.artifacts = e.ContextID, true, nil
		x.storeArtifact(&sdk.Artifact{Parts: e.Parts}, false)
	}
}

// setStatus sets the state and the text of the status, and reports it as progress to the client. about is the metadata of the status.
func (x *exchange) setStatus(s sdk.TaskStatus, about map[string]any) {
	text := ""
	if s.Message != nil {
		for _, p := range s.Message.Parts {
			text += limit.Short(textOf(p), maxStatus)
			if len(text) > maxStatus {
				break
			}
		}
		text = cleanText(text, maxStatus)
	}
	if text != "" || s.State != x.state {
		x.state, x.status = s.State, text
	}
	if text == "" && s.State == sdk.TaskStateSubmitted {
		return
	}
	if text == "" {
		text = stateOf(s.State)
		if c, ok := about["plimsoll.call"].(map[string]any); ok && about["plimsoll.event"] == "call" { // an agent of ours
			text = fmt.Sprintf("calls %v", c["name"])
		}
	}
	x.call.Progress(float64(x.events), 0, x.a.o.Name+": "+text)
}

// stateOf returns a state in words: TASK_STATE_INPUT_REQUIRED is "input required".
func stateOf(s sdk.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", " ")
}

// storeArtifact stores the parts of an artifact as text. With more they are appended to the artifact of that id, otherwise they replace it.
// Beyond maxArtifacts a new one is only counted as dropped.
func (x *exchange) storeArtifact(a *sdk.Artifact, more bool) {
	if a == nil {
		return
	}
	var at *artifact
	for _, known := range x.artifacts {
		if known.id == a.ID {
			at = known
		}
	}
	switch {
	case at == nil && len(x.artifacts) == maxArtifacts:
		x.pile.dropped++
		return
	case at == nil:
		at = &artifact{id: a.ID, name: cleanText(a.Name, 128)}
		x.artifacts = append(x.artifacts, at)
	case !more:
		at.pieces = nil
		if len(x.artifacts) == 1 {
			x.pile.reset()
		}
	}
	for _, p := range a.Parts {
		if p == nil {
			continue
		}
		text := textOf(p)
		if _, plain := p.Content.(sdk.Text); !plain && len(at.pieces) > 0 {
			text = "\n" + text
		}
		at.pieces = x.pile.store(at.pieces, text)
	}
}

// textOf returns a part of a message or artifact as text. A file that is not UTF-8, or that is given by its URL, becomes a note with its
// name, type and size or address.
func textOf(p *sdk.Part) string {
	if p == nil {
		return ""
	}
	about := "file"
	if p.Filename != "" {
		about += " " + cleanText(p.Filename, 128)
	}
	if p.MediaType != "" {
		about += " (" + cleanText(p.MediaType, 128) + ")"
	}
	switch c := p.Content.(type) {
	case sdk.Text:
		return string(c)
	case sdk.Data:
		return jsonOf(c.Value)
	case sdk.URL:
		return fmt.Sprintf("[%s at %s]", about, cleanText(string(c), 2048))
	case sdk.Raw:
		if utf8.Valid(c) {
			return string(c)
		}
		return fmt.Sprintf("[%s of %s, which is no text and is not shown]", about, limit.Bytes(len(c)).Human())
	}
	return ""
}

// result returns the result of the tool call. It takes over the pile, which is closed here or with the result's stream.
func (x *exchange) result() *builtin.Result {
	var before, after string
	r := &builtin.Result{}
	name, status := x.a.o.Name, x.status
	switch {
	case x.answered:
	case x.state == sdk.TaskStateCompleted:
		if len(x.artifacts) == 0 {
			before = status
			if status == "" {
				before = fmt.Sprintf("[%s has done it, and said nothing]", name)
			}
		} else if status != "" {
			after = "\n\n[" + status + "]"
		}
	case isWaiting(x.state):
		wants := "an answer"
		if x.state == sdk.TaskStateAuthRequired {
			wants = "an authorization"
		}
		if status == "" {
			status = "it did not say which"
		}
		if len(x.artifacts) > 0 {
			after = "\n\n"
		}
		after += fmt.Sprintf("[The task is not done: %s waits for %s: %s]\n[To give it, call %s with the answer as message and task %q.]", name, wants, status, x.call.Tool, x.task)
	default:
		if status == "" {
			status = "it did not say why"
		}
		r.IsError = true
		before = fmt.Sprintf("The task of %s ended as %s: %s", name, stateOf(x.state), status)
		if len(x.artifacts) > 0 {
			before += "\nWhat it had by then:\n\n"
		}
	}
	if x.pile.dropped > 0 {
		why := "it is larger than " + maxPile.Human()
		if x.pile.err != nil {
			why = x.pile.err.Error()
		}
		after += fmt.Sprintf("\n\n[%s more of the answer could not be kept: %s]", limit.Count(x.pile.dropped, "piece"), why)
	}
	write := func(w io.Writer) error {
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		for i, a := range x.artifacts {
			if len(x.artifacts) > 1 {
				title := a.name
				if title == "" {
					title = fmt.Sprint(i + 1)
				}
				if _, err := fmt.Fprintf(w, "%s[artifact %s]\n", strings.Repeat("\n\n", min(i, 1)), title); err != nil {
					return err
				}
			}
			if err := x.pile.write(w, a.pieces); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, after)
		return err
	}
	if x.pile.size > largeAnswer {
		r.Stream = func(_ context.Context, w io.Writer) error {
			defer x.pile.closeFile()
			return write(w)
		}
		return r
	}
	var b strings.Builder
	_ = write(&b) // of memory to memory
	x.pile.closeFile()
	r.Text = b.String()
	return r
}
