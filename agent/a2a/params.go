package a2a

import (
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// checkParams returns an error of code -32602 (JSON-RPC 2.0, 5.1) for parameters of a call of A2A 1.0 that do not fit its method. The SDK
// (2.3.1) reports some of them as a parse error, which is for a body that is not JSON, and takes a page size of 0 for none. body is valid
// JSON.
func checkParams(method string, body []byte) error {
	switch method {
	case "ListTasks":
		return checkListParams(body)
	case "SendMessage", "SendStreamingMessage":
		return decodes[sdk.SendMessageRequest](body)
	}
	return nil // nothing in the others reads its JSON by itself, so the SDK names them right
}

func decodes[T any](body []byte) error {
	var call struct {
		Params *T `json:"params"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return sdk.NewError(sdk.ErrInvalidParams, "params: "+clipText(err.Error(), 256))
	}
	return nil
}

func checkListParams(body []byte) error {
	var call struct {
		Params struct {
			PageSize             *int    `json:"pageSize"`
			StatusTimestampAfter *string `json:"statusTimestampAfter"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return sdk.NewError(sdk.ErrInvalidParams, "params: "+clipText(err.Error(), 256))
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
	return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("statusTimestampAfter: %q is no time of RFC 3339", clipText(text, 32)))
}
