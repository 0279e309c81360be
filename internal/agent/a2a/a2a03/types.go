package a2a03

import (
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// Version is the protocol version in the card.
const Version sdk.ProtocolVersion = "0.3"

// The objects of 0.3 (its specification, section 6), members in the order in which its Go SDK writes them.
type (
	message struct {
		Kind           string         `json:"kind"`
		ID             string         `json:"messageId"`
		ContextID      string         `json:"contextId,omitempty"`
		Extensions     []string       `json:"extensions,omitempty"`
		Metadata       map[string]any `json:"metadata,omitempty"`
		Parts          []part         `json:"parts"`
		ReferenceTasks []sdk.TaskID   `json:"referenceTaskIds,omitempty"`
		Role           string         `json:"role"`
		TaskID         sdk.TaskID     `json:"taskId,omitempty"`
	}
	// part is one of text, data and file, as kind says.
	part struct {
		Kind     string          `json:"kind"`
		Text     *string         `json:"text,omitempty"`
		Data     *map[string]any `json:"data,omitempty"`
		File     *file           `json:"file,omitempty"`
		Metadata map[string]any  `json:"metadata,omitempty"`
	}
	// file has bytes, in base64, or the address of them.
	file struct {
		MediaType string  `json:"mimeType,omitempty"`
		Name      string  `json:"name,omitempty"`
		Bytes     *string `json:"bytes,omitempty"`
		URI       *string `json:"uri,omitempty"`
	}
	artifact struct {
		ID          sdk.ArtifactID `json:"artifactId"`
		Description string         `json:"description,omitempty"`
		Extensions  []string       `json:"extensions,omitempty"`
		Metadata    map[string]any `json:"metadata,omitempty"`
		Name        string         `json:"name,omitempty"`
		Parts       []part         `json:"parts"`
	}
	status struct {
		Message   *message   `json:"message,omitempty"`
		State     string     `json:"state"`
		Timestamp *time.Time `json:"timestamp,omitempty"`
	}
	task struct {
		Kind      string         `json:"kind"`
		ID        sdk.TaskID     `json:"id"`
		Artifacts []*artifact    `json:"artifacts,omitempty"`
		ContextID string         `json:"contextId"`
		History   []*message     `json:"history,omitempty"`
		Metadata  map[string]any `json:"metadata,omitempty"`
		Status    status         `json:"status"`
	}
	statusUpdate struct {
		Kind      string         `json:"kind"`
		ContextID string         `json:"contextId"`
		Final     bool           `json:"final"`
		Status    status         `json:"status"`
		TaskID    sdk.TaskID     `json:"taskId"`
		Metadata  map[string]any `json:"metadata,omitempty"`
	}
	artifactUpdate struct {
		Kind      string         `json:"kind"`
		Append    bool           `json:"append,omitempty"`
		Artifact  *artifact      `json:"artifact"`
		ContextID string         `json:"contextId"`
		LastChunk bool           `json:"lastChunk,omitempty"`
		TaskID    sdk.TaskID     `json:"taskId"`
		Metadata  map[string]any `json:"metadata,omitempty"`
	}
	taskPushConfig struct {
		Config pushConfig `json:"pushNotificationConfig"`
		TaskID sdk.TaskID `json:"taskId"`
	}
	pushConfig struct {
		ID    string    `json:"id,omitempty"`
		Auth  *pushAuth `json:"authentication,omitempty"`
		Token string    `json:"token,omitempty"`
		URL   string    `json:"url"`
	}
	pushAuth struct {
		Credentials string   `json:"credentials,omitempty"`
		Schemes     []string `json:"schemes"`
	}
)

// The parameters of requests.
type (
	sendParams struct {
		Config *struct {
			AcceptedOutputModes []string    `json:"acceptedOutputModes"`
			Blocking            *bool       `json:"blocking"`
			HistoryLength       *int        `json:"historyLength"`
			PushConfig          *pushConfig `json:"pushNotificationConfig"`
		} `json:"configuration"`
		Message  *message       `json:"message"`
		Metadata map[string]any `json:"metadata"`
	}
	// taskParams are those of all that is asked of one task.
	taskParams struct {
		ID            sdk.TaskID     `json:"id"`
		HistoryLength *int           `json:"historyLength"`
		ConfigID      string         `json:"pushNotificationConfigId"`
		Metadata      map[string]any `json:"metadata"`
	}
)

// UnmarshalJSON returns an error for a part of unknown kind, and for a file without or with both bytes and uri.
func (p *part) UnmarshalJSON(raw []byte) error {
	type plain part
	var in plain
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	switch in.Kind {
	case "text", "data":
	case "file":
		has := func(s *string) bool { return s != nil && *s != "" }
		if in.File == nil || !has(in.File.Bytes) && !has(in.File.URI) {
			return fmt.Errorf("invalid file part: it has neither bytes nor uri")
		}
		if has(in.File.Bytes) && has(in.File.URI) {
			return fmt.Errorf("invalid file part: it has both bytes and uri")
		}
	default:
		return fmt.Errorf("unknown part kind %.32q: it is text, data or file", in.Kind)
	}
	*p = part(in)
	return nil
}
