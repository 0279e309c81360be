package a2a

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// camelDepth is the depth in a request down to which A2A has fields: params, message, parts, a part, and the same of a configuration.
const camelDepth = 6

// camelCase returns a request in which fields named as in the protocol's definition (task_id) have their JSON names (taskId): a reader of
// ProtoJSON accepts both, the SDK (2.3.1) does not. Metadata and data of clients stay as they are, and so does a body that is not JSON.
func camelCase(body []byte) []byte {
	if bytes.IndexByte(body, '_') < 0 {
		return body
	}
	var edits []rawjson.Edit
	rename(body, 0, camelDepth, &edits)
	if len(edits) == 0 {
		return body
	}
	out, err := rawjson.Splice(body, edits)
	if err != nil {
		return body
	}
	return out
}

func rename(body []byte, at, depth int, edits *[]rawjson.Edit) {
	if depth == 0 {
		return
	}
	for m, err := range rawjson.Members(body, at) {
		if err != nil {
			return // the SDK refuses it with the reason
		}
		key := string(m.Key)
		if key == "metadata" || key == "data" {
			continue
		}
		if name := jsonName(key); name != "" {
			*edits = append(*edits, rawjson.Edit{Span: m.Name, With: rawjson.Quote(nil, name)})
		}
		switch body[m.Value.Start] {
		case '{':
			rename(body, m.Value.Start, depth-1, edits)
		case '[':
			for span, err := range rawjson.Elements(body, m.Value.Start) {
				if err != nil {
					return
				}
				if body[span.Start] == '{' {
					rename(body, span.Start, depth-2, edits)
				}
			}
		}
	}
}

// jsonName returns the JSON name of a field of A2A's requests (a2a.proto, 1.0) that has an underscore in its name there; "" for any other.
func jsonName(field string) string {
	switch field {
	case "task_id":
		return "taskId"
	case "context_id":
		return "contextId"
	case "message_id":
		return "messageId"
	case "reference_task_ids":
		return "referenceTaskIds"
	case "media_type":
		return "mediaType"
	case "history_length":
		return "historyLength"
	case "page_size":
		return "pageSize"
	case "page_token":
		return "pageToken"
	case "status_timestamp_after":
		return "statusTimestampAfter"
	case "include_artifacts":
		return "includeArtifacts"
	case "accepted_output_modes":
		return "acceptedOutputModes"
	case "return_immediately":
		return "returnImmediately"
	case "task_push_notification_config":
		return "taskPushNotificationConfig"
	}
	return ""
}
