package wireerror

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
)

// known are the errors of the protocol. What is none of them is an internal error.
var known = []struct {
	err    error
	code   int // of JSON-RPC; 0 has none of its own
	status int // of HTTP
	name   string
}{
	{sdk.ErrParseError, -32700, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{sdk.ErrInvalidRequest, -32600, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{sdk.ErrMethodNotFound, -32601, http.StatusNotImplemented, "UNIMPLEMENTED"},
	{sdk.ErrInvalidParams, -32602, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{sdk.ErrInternalError, internal, http.StatusInternalServerError, "INTERNAL"},
	{sdk.ErrServerError, -32000, http.StatusInternalServerError, "INTERNAL"},
	{sdk.ErrTaskNotFound, -32001, http.StatusNotFound, "NOT_FOUND"},
	{sdk.ErrTaskNotCancelable, -32002, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrPushNotificationNotSupported, -32003, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrUnsupportedOperation, -32004, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrUnsupportedContentType, -32005, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{sdk.ErrInvalidAgentResponse, -32006, http.StatusInternalServerError, "INTERNAL"},
	{sdk.ErrExtendedCardNotConfigured, -32007, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrExtensionSupportRequired, -32008, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrVersionNotSupported, -32009, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrUnauthenticated, -31401, http.StatusUnauthorized, "UNAUTHENTICATED"},
	{sdk.ErrUnauthorized, -31403, http.StatusForbidden, "PERMISSION_DENIED"},
	{context.Canceled, 0, 499, "CANCELLED"}, // nginx's status for a client that went away
	{context.DeadlineExceeded, 0, http.StatusGatewayTimeout, "DEADLINE_EXCEEDED"},
}

// internal is JSON-RPC's code for an error of the server itself.
const internal = -32603

// Code is the code that JSON-RPC has for an error.
func Code(err error) int {
	for _, k := range known {
		if k.code != 0 && errors.Is(err, k.err) {
			return k.code
		}
	}
	return internal
}

// Object is the error object of JSON-RPC.
type Object struct {
	Code    int                   `json:"code"`
	Message string                `json:"message"`
	Data    []*errordetails.Typed `json:"data,omitempty"`
}

// RPC is an error as JSON-RPC has it.
func RPC(err error) *Object {
	reason := sdk.ErrInternalError
	for _, k := range known {
		if k.code != 0 && errors.Is(err, k.err) {
			reason = k.err
			break
		}
	}
	return &Object{Code: Code(err), Message: err.Error(), Data: details(err, reason, nil)}
}

// Status is google.rpc.Status, as REST has it.
type Status struct {
	Error struct {
		Code    int                   `json:"code"`
		Status  string                `json:"status"`
		Message string                `json:"message"`
		Details []*errordetails.Typed `json:"details,omitempty"`
	} `json:"error"`
}

// REST is an error as REST has it. The task is named when it is known.
func REST(err error, task sdk.TaskID) *Status {
	var out Status
	e, reason := &out.Error, sdk.ErrInternalError
	e.Code, e.Status, e.Message = http.StatusInternalServerError, "INTERNAL", err.Error()
	for _, k := range known {
		if errors.Is(err, k.err) {
			e.Code, e.Status, reason = k.status, k.name, k.err
			break
		}
	}
	about := map[string]string{}
	if task != "" {
		about["taskId"] = string(task)
	}
	e.Details = details(err, reason, about)
	return &out
}

// details are what an error carries, and last its reason.
func details(err, reason error, about map[string]string) []*errordetails.Typed {
	var list []*errordetails.Typed
	metadata := map[string]string{"timestamp": time.Now().UTC().Format(time.RFC3339)}
	maps.Copy(metadata, about)
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		if len(e.Details) > 0 {
			list = append(list, errordetails.NewFromStruct(e.Details))
		}
		for _, d := range e.TypedDetails {
			if d.TypeURL != errordetails.ErrorInfoType {
				list = append(list, d)
				continue
			}
			switch m := d.Value["metadata"].(type) {
			case map[string]string:
				maps.Copy(metadata, m)
			case map[string]any:
				for name, value := range m {
					if s, ok := value.(string); ok {
						metadata[name] = s
					}
				}
			}
		}
	}
	return append(list, errordetails.NewErrorInfo(sdk.ErrorReason(reason), sdk.ProtocolDomain, metadata))
}
