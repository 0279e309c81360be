package a2a

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/wireerror"
	"github.com/plimsoll/plimsoll/limit"
)

// ErrEnded means that an event came after the end of its task. The event is dropped.
var ErrEnded = errors.New("a2a: the task has ended")

// ErrTooLarge means that an event, or the task with it, would be larger than allowed.
var ErrTooLarge = errors.New("a2a: too large")

// ErrClosed means that the server was closed.
var ErrClosed = errors.New("a2a: the server is closed")

// grpcName returns the name in google.rpc.Status for one of the HTTP statuses that refuse uses.
func grpcName(status int) string {
	switch status {
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusInternalServerError:
		return "INTERNAL"
	default:
		return "INVALID_ARGUMENT"
	}
}

// refuse answers a request with an error, in the form of its binding, before the SDK sees it. status 0 means 400.
func (s *Server) refuse(out *stream, status int, id json.RawMessage, err error) {
	if status == 0 {
		status = http.StatusBadRequest
	}
	info := errordetails.NewErrorInfo(sdk.ErrorReason(err), sdk.ProtocolDomain, nil)
	var body any
	if out.rest {
		body = map[string]any{"error": map[string]any{
			"code": status, "status": grpcName(status), "message": err.Error(),
			"details": []any{info},
		}}
	} else {
		if len(id) == 0 {
			id = json.RawMessage("null")
		}
		body = map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
			"code": wireerror.Code(err), "message": err.Error(), "data": []any{info},
		}}
	}
	text, marshal := json.Marshal(body)
	if marshal != nil {
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	kind, text := "application/json", append(text, '\n')
	if status == http.StatusOK && out.wants && !out.fetch { // the Go SDK's client reads only events then
		kind, text = "text/event-stream", slices.Concat([]byte("data: "), text, []byte("\n"))
	}
	out.Header().Set("Content-Type", kind)
	out.WriteHeader(status)
	_, _ = out.Write(text) // a client that is gone needs no answer
}

// clipText returns at most bound bytes of a text, cut between characters.
func clipText(text string, bound int) string { return limit.Clip(text, bound) }
