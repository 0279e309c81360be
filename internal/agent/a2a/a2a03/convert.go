package a2a03

import (
	"encoding/base64"
	"maps"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// states are the names of states in 0.3. A state that 0.3 does not have gives "".
var states = map[sdk.TaskState]string{
	sdk.TaskStateAuthRequired:  "auth-required",
	sdk.TaskStateCanceled:      "canceled",
	sdk.TaskStateCompleted:     "completed",
	sdk.TaskStateFailed:        "failed",
	sdk.TaskStateInputRequired: "input-required",
	sdk.TaskStateRejected:      "rejected",
	sdk.TaskStateSubmitted:     "submitted",
	sdk.TaskStateWorking:       "working",
}

var roles = map[sdk.MessageRole]string{sdk.MessageRoleAgent: "agent", sdk.MessageRoleUser: "user"}

// roleOf returns the role of a name of 0.3; RoleUnspecified for an unknown one.
func roleOf(name string) sdk.MessageRole {
	for role, known := range roles {
		if known == name {
			return role
		}
	}
	return sdk.MessageRoleUnspecified
}

// compat is a key in the metadata of a data part whose value was not an object.
const compat = "data_part_compat"

// modern returns the part in the form of 1.0. A value that was put into an object only because 0.3 knows no other data is taken out again.
func (p *part) modern() *sdk.Part {
	out := &sdk.Part{Metadata: p.Metadata}
	switch p.Kind {
	case "text":
		text := ""
		if p.Text != nil {
			text = *p.Text
		}
		out.Content = sdk.Text(text)
	case "data":
		var data map[string]any
		if p.Data != nil {
			data = *p.Data
		}
		out.Content = sdk.Data{Value: data}
		if wrapped, _ := p.Metadata[compat].(bool); wrapped {
			out.Content = sdk.Data{Value: data["value"]}
			out.Metadata = maps.Clone(p.Metadata)
			delete(out.Metadata, compat)
		}
	default: // file: nothing else was let in
		out.MediaType, out.Filename = p.File.MediaType, p.File.Name
		if p.File.URI != nil && *p.File.URI != "" {
			out.Content = sdk.URL(*p.File.URI)
			break
		}
		raw, err := base64.StdEncoding.DecodeString(*p.File.Bytes)
		if err != nil {
			raw = []byte(*p.File.Bytes) // some clients send plain text
		}
		out.Content = sdk.Raw(raw)
	}
	return out
}

// oldPart returns a part of 1.0 in the form of 0.3. Data other than an object is put into one, and marked in the metadata.
func oldPart(p *sdk.Part) part {
	meta := file{MediaType: p.MediaType, Name: p.Filename}
	switch c := p.Content.(type) {
	case sdk.Text:
		text := string(c)
		return part{Kind: "text", Text: &text, Metadata: p.Metadata}
	case sdk.Raw:
		text := base64.StdEncoding.EncodeToString(c)
		meta.Bytes = &text
		return part{Kind: "file", File: &meta, Metadata: p.Metadata}
	case sdk.URL:
		text := string(c)
		meta.URI = &text
		return part{Kind: "file", File: &meta, Metadata: p.Metadata}
	case sdk.Data:
		if data, ok := c.Value.(map[string]any); ok {
			return part{Kind: "data", Data: &data, Metadata: p.Metadata}
		}
		metadata := maps.Clone(p.Metadata)
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata[compat] = true
		return part{Kind: "data", Data: &map[string]any{"value": c.Value}, Metadata: metadata}
	}
	return part{Kind: "data", Data: &map[string]any{"value": p}, Metadata: p.Metadata}
}

func oldParts(list sdk.ContentParts) []part {
	out := make([]part, 0, len(list))
	for _, p := range list {
		out = append(out, oldPart(p))
	}
	return out
}

// modern returns the message in the form of 1.0; nil for nil.
func (m *message) modern() *sdk.Message {
	if m == nil {
		return nil
	}
	out := &sdk.Message{
		ID: m.ID, ContextID: m.ContextID, Extensions: m.Extensions, Metadata: m.Metadata,
		ReferenceTasks: m.ReferenceTasks, Role: roleOf(m.Role), TaskID: m.TaskID,
	}
	for i := range m.Parts {
		out.Parts = append(out.Parts, m.Parts[i].modern())
	}
	return out
}

// oldMessage returns a message of 1.0 in the form of 0.3; nil for nil.
func oldMessage(m *sdk.Message) *message {
	if m == nil {
		return nil
	}
	return &message{
		Kind: "message", ID: m.ID, ContextID: m.ContextID, Extensions: m.Extensions, Metadata: m.Metadata,
		Parts: oldParts(m.Parts), ReferenceTasks: m.ReferenceTasks, Role: roles[m.Role], TaskID: m.TaskID,
	}
}

func oldArtifact(a *sdk.Artifact) *artifact {
	if a == nil {
		return nil
	}
	return &artifact{ID: a.ID, Description: a.Description, Extensions: a.Extensions, Metadata: a.Metadata, Name: a.Name, Parts: oldParts(a.Parts)}
}

func oldStatus(s sdk.TaskStatus) status {
	return status{Message: oldMessage(s.Message), State: states[s.State], Timestamp: s.Timestamp}
}

// oldTask returns a task of 1.0 in the form of 0.3; nil for nil.
func oldTask(t *sdk.Task) *task {
	if t == nil {
		return nil
	}
	out := &task{Kind: "task", ID: t.ID, ContextID: t.ContextID, Metadata: t.Metadata, Status: oldStatus(t.Status)}
	for _, a := range t.Artifacts {
		out.Artifacts = append(out.Artifacts, oldArtifact(a))
	}
	for _, m := range t.History {
		out.History = append(out.History, oldMessage(m))
	}
	return out
}

// oldEvent returns an event, a task or a message of 1.0 in the form of 0.3; nil for anything else.
func oldEvent(event sdk.Event) any {
	switch e := event.(type) {
	case *sdk.Message:
		return oldMessage(e)
	case *sdk.Task:
		return oldTask(e)
	case *sdk.TaskStatusUpdateEvent:
		state := e.Status.State
		return &statusUpdate{
			Kind: "status-update", ContextID: e.ContextID, Final: state.Terminal() || state == sdk.TaskStateInputRequired,
			Status: oldStatus(e.Status), TaskID: e.TaskID, Metadata: e.Metadata,
		}
	case *sdk.TaskArtifactUpdateEvent:
		return &artifactUpdate{
			Kind: "artifact-update", Append: e.Append, Artifact: oldArtifact(e.Artifact), ContextID: e.ContextID,
			LastChunk: e.LastChunk, TaskID: e.TaskID, Metadata: e.Metadata,
		}
	}
	return nil
}

// Task returns the object for a push notification of 0.3, which is always a task: for a status update one with the state alone.
func Task(event sdk.Event) any {
	update, ok := event.(*sdk.TaskStatusUpdateEvent)
	if !ok {
		return oldEvent(event)
	}
	return &task{Kind: "task", ID: update.TaskID, ContextID: update.ContextID, Status: oldStatus(update.Status)}
}

// modern returns the parameters in the form of 1.0. The push configuration gets the message's task.
func (p *sendParams) modern() *sdk.SendMessageRequest {
	out := &sdk.SendMessageRequest{Message: p.Message.modern(), Metadata: p.Metadata}
	if p.Config == nil {
		return out
	}
	out.Config = &sdk.SendMessageConfig{AcceptedOutputModes: p.Config.AcceptedOutputModes, HistoryLength: p.Config.HistoryLength}
	if b := p.Config.Blocking; b != nil {
		out.Config.ReturnImmediately = !*b
	}
	if p.Config.PushConfig != nil {
		one := taskPushConfig{Config: *p.Config.PushConfig}
		if p.Message != nil {
			one.TaskID = p.Message.TaskID
		}
		out.Config.PushConfig = one.modern()
	}
	return out
}

// modern returns the configuration in the form of 1.0, with the first of its authentication schemes.
func (c *taskPushConfig) modern() *sdk.PushConfig {
	out := &sdk.PushConfig{TaskID: c.TaskID, ID: c.Config.ID, Token: c.Config.Token, URL: c.Config.URL}
	if a := c.Config.Auth; a != nil {
		out.Auth = &sdk.PushAuthInfo{Credentials: a.Credentials}
		if len(a.Schemes) > 0 {
			out.Auth.Scheme = a.Schemes[0]
		}
	}
	return out
}

// oldPushConfig returns a push configuration of 1.0 in the form of 0.3; nil for nil.
func oldPushConfig(c *sdk.PushConfig) *taskPushConfig {
	if c == nil {
		return nil
	}
	out := &taskPushConfig{Config: pushConfig{ID: c.ID, Token: c.Token, URL: c.URL}, TaskID: c.TaskID}
	if c.Auth != nil {
		out.Config.Auth = &pushAuth{Credentials: c.Auth.Credentials, Schemes: []string{c.Auth.Scheme}}
	}
	return out
}

func oldPushConfigs(list []*sdk.PushConfig) []*taskPushConfig {
	var out []*taskPushConfig
	for _, c := range list {
		if c != nil {
			out = append(out, oldPushConfig(c))
		}
	}
	return out
}
