package standin

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

// refusal is an error in OpenAI's form.
type refusal struct {
	status                  int
	kind, code, param, text string
	after                   time.Duration
}

func badRequest(param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, kind: "invalid_request_error", param: param, text: fmt.Sprintf(format, args...)}
}

func noModel(id string) *refusal {
	return &refusal{
		status: http.StatusNotFound, kind: "invalid_request_error", code: "model_not_found",
		text: fmt.Sprintf("The model `%.100s` does not exist or you do not have access to it. There is %s, which is a stand-in and no language model.", id, Model),
	}
}

func overloaded(why string, after time.Duration) *refusal {
	return &refusal{status: http.StatusTooManyRequests, kind: "requests", code: "rate_limit_exceeded", text: "The stand-in is busy: " + why + ". Please try again.", after: after}
}

// tooLong returns OpenAI's own sentence about a window.
func tooLong(window, input int) *refusal {
	r := badRequest("messages", "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, input)
	r.code = "context_length_exceeded"
	return r
}

// refuse writes an error.
func (s *Standin) refuse(w http.ResponseWriter, r *refusal) {
	switch {
	case r.status == http.StatusTooManyRequests:
		s.busyCount.Add(1)
		if r.after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(r.after.Seconds()))))
		}
	default:
		s.refusedCount.Add(1)
	}
	out := &modelserver.Stream{W: w, Timeout: writeTimeout}
	out.Fail(wire.Chat, wire.Failure{Status: r.status, Kind: r.kind, Message: r.text, Param: r.param, Code: r.code})
}
