package modelserver

import (
	"net/http"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Failure is an error that takes the place of an answer.
type Failure struct {
	Status  int
	Kind    string // of the error, in the dialect's word
	Message string
	// Param and Code are of OpenAI's dialects; "" is null. ID is of Messages.
	Param, Code, ID string
}

// Fail writes a failure in the form of a dialect's provider.
func (s *Stream) Fail(d wire.Dialect, f Failure) {
	switch d {
	case wire.Messages:
		s.JSON(f.Status, m{"type": "error", "error": m{"type": f.Kind, "message": f.Message}, "request_id": f.ID})
	case wire.Gemini:
		s.JSON(f.Status, m{"error": m{"code": f.Status, "message": f.Message, "status": geminiStatus(f.Status)}})
	default:
		s.JSON(f.Status, m{"error": m{"message": f.Message, "type": f.Kind, "param": orNull(f.Param), "code": orNull(f.Code)}})
	}
}

func geminiStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	default:
		return "INTERNAL"
	}
}
