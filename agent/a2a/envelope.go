package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of a request beside its size. Decoded, each value costs about a hundred
// bytes more than its text, so a message of brackets would be many times its size.
const (
	maxDepth  = 64
	maxValues = 100_000
)

// checkShape returns an error if a JSON body has more than maxValues values or is nested deeper than maxDepth. It does not decode the body.
func checkShape(body []byte) error {
	depth, values := 0, 0
	quoted := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("byte %d: nested deeper than %d: send it flatter, or as text", i, maxDepth)
			}
			values++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
		if values > maxValues {
			return fmt.Errorf("byte %d: more than %d values: send them as text", i, maxValues)
		}
	}
	return nil
}

// envelope is the part of a JSON-RPC request that the server reads before the SDK does.
type envelope struct {
	method string
	id     json.RawMessage // as it came; nil when there is none that can be answered to
}

var (
	errNotJSON = errors.New("the body is no JSON")
	errNoCall  = errors.New("the body is no JSON-RPC request")
)

// openEnvelope reads the members of a JSON-RPC request. An error wraps errNotJSON or errNoCall.
func openEnvelope(body []byte) (envelope, error) {
	var e envelope
	if span, err := rawjson.Only(body); err != nil {
		return e, fmt.Errorf("%w: %w", errNotJSON, err)
	} else if body[span.Start] == '[' {
		return e, fmt.Errorf("%w: a batch is not part of A2A; send one request at a time", errNoCall)
	} else if body[span.Start] != '{' {
		return e, fmt.Errorf("%w: it is not an object", errNoCall)
	}
	if !json.Valid(body) {
		return e, errNotJSON
	}
	var id json.RawMessage
	var version string
	method := false
	for m, err := range rawjson.Members(body, 0) {
		if err != nil {
			return e, fmt.Errorf("%w: %w", errNotJSON, err)
		}
		value := m.Value.Of(body)
		// The SDK decodes with encoding/json, which does not care for case: neither may this,
		// or the two could read different requests.
		switch strings.ToLower(string(m.Key)) {
		case "jsonrpc":
			_ = json.Unmarshal(value, &version)
		case "method":
			method = json.Unmarshal(value, &e.method) == nil
		case "id":
			id = bytes.Clone(value)
		}
	}
	if err := checkID(id); err != nil {
		return e, fmt.Errorf("%w: %w", errNoCall, err)
	}
	e.id = id
	switch {
	case version != "2.0":
		return e, fmt.Errorf(`%w: "jsonrpc" is not "2.0"`, errNoCall)
	case !method || e.method == "":
		return e, fmt.Errorf(`%w: "method" is no name`, errNoCall)
	}
	return e, nil
}

// checkID returns an error for an id that an answer could not repeat exactly, because the SDK reads numbers as floating point.
func checkID(id json.RawMessage) error {
	if len(id) == 0 || id[0] == '"' || string(id) == "null" {
		return nil
	}
	var n float64
	if json.Unmarshal(id, &n) == nil {
		if again, err := json.Marshal(n); err == nil && bytes.Equal(again, id) {
			return nil
		}
	}
	return errors.New(`"id" is not a text or a whole number below 2^53`)
}

// checkParams returns an error of code -32602 (JSON-RPC 2.0, 5.1) for parameters of a call of A2A 1.0 that do not fit its method. The SDK
// (2.3.1) reports some of them as a parse error, which is for a body that is not JSON, and takes a page size of 0 for none. body is valid
// JSON.
func checkParams(method string, body []byte) error {
	switch method {
	case "ListTasks":
		return checkListParams(body)
	case "SendMessage", "SendStreamingMessage":
		return checkDecodes[sdk.SendMessageRequest](body)
	}
	return nil // nothing in the others reads its JSON by itself, so the SDK names them right
}

// checkDecodes returns an error if the parameters of a call do not decode as a T.
func checkDecodes[T any](body []byte) error {
	var call struct {
		Params *T `json:"params"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return sdk.NewError(sdk.ErrInvalidParams, "params: "+limit.Clip(err.Error(), 256))
	}
	return nil
}

// checkListParams returns an error if the parameters of tasks/list do not decode, or for a page size or a timestamp that is invalid.
func checkListParams(body []byte) error {
	var call struct {
		Params struct {
			PageSize             *int    `json:"pageSize"`
			StatusTimestampAfter *string `json:"statusTimestampAfter"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return sdk.NewError(sdk.ErrInvalidParams, "params: "+limit.Clip(err.Error(), 256))
	}
	if n := call.Params.PageSize; n != nil && (*n < 1 || *n > maxPageSize) {
		return badPageSize(*n)
	}
	if text := call.Params.StatusTimestampAfter; text != nil {
		if _, err := time.Parse(time.RFC3339, *text); err != nil {
			return badTimestamp(*text)
		}
	}
	return nil
}

func badTimestamp(text string) error {
	return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("statusTimestampAfter: %q is no time of RFC 3339", limit.Clip(text, 32)))
}

// camelDepth is the depth in a request down to which A2A has fields: params, message, parts, a part, and the same of a configuration.
const camelDepth = 6

// camelCase returns a request in which fields named as in the protocol's definition (task_id) have their JSON names (taskId): a reader of
// ProtoJSON accepts both, the SDK (2.3.1) does not. Metadata and data of clients stay as they are, and so does a body that is not JSON.
func camelCase(body []byte) []byte {
	if bytes.IndexByte(body, '_') < 0 {
		return body
	}
	var edits []rawjson.Edit
	collectRenames(body, 0, camelDepth, &edits)
	if len(edits) == 0 {
		return body
	}
	out, err := rawjson.Splice(body, edits)
	if err != nil {
		return body
	}
	return out
}

// collectRenames appends an edit for each field below offset at whose name has an underscore, down to depth levels. Invalid JSON ends it
// without an error: the SDK then reports the reason.
func collectRenames(body []byte, at, depth int, edits *[]rawjson.Edit) {
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
			collectRenames(body, m.Value.Start, depth-1, edits)
		case '[':
			for span, err := range rawjson.Elements(body, m.Value.Start) {
				if err != nil {
					return
				}
				if body[span.Start] == '{' {
					collectRenames(body, span.Start, depth-2, edits)
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
