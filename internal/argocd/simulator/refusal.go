package simulator

import (
	"fmt"
	"net/http"
)

// The codes of gRPC that the server's errors have, https://grpc.io/docs/guides/status-codes/.
const (
	unknown            = 2
	invalidArgument    = 3
	notFound           = 5
	permissionDenied   = 7
	resourceExhausted  = 8
	failedPrecondition = 9
	aborted            = 10
	unauthenticated    = 16
)

// refusal is an error as the server tells it. A call panics with it where it finds the reason, and try takes it: every call can be
// refused in many places, and in none of them goes on.
type refusal struct {
	code    int
	message string
	early   bool // told by the gateway, before a stream is one
}

func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

func fail(code int, format string, args ...any) { panic(refuse(code, format, args...)) }

// try makes a call and returns what it was refused for.
func (c *call) try(handle func(*call)) (told *refusal) {
	defer func() {
		reason := recover()
		if r, ok := reason.(*refusal); ok {
			told = r
		} else if reason != nil {
			panic(reason)
		}
	}()
	handle(c)
	return nil
}

func denied() *refusal { return refuse(permissionDenied, "permission denied") }

// status returns the HTTP status that the gateway makes of a code.
func (r *refusal) status() int {
	switch r.code {
	case invalidArgument, failedPrecondition:
		return http.StatusBadRequest
	case notFound:
		return http.StatusNotFound
	case aborted:
		return http.StatusConflict
	case permissionDenied:
		return http.StatusForbidden
	case resourceExhausted:
		return http.StatusTooManyRequests
	case unauthenticated:
		return http.StatusUnauthorized
	}
	return http.StatusInternalServerError
}

// write answers with the error, as a call of one answer or as a stream does; nothing ends one in a stream, unlike an event.
func (r *refusal) write(w http.ResponseWriter, stream bool) {
	var body any = struct {
		Error   string `json:"error"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{r.message, r.code, r.message}
	if stream && !r.early {
		body = map[string]any{"error": struct {
			GRPC    int    `json:"grpc_code"`
			HTTP    int    `json:"http_code"`
			Message string `json:"message"`
			Status  string `json:"http_status"`
		}{r.code, r.status(), r.message, http.StatusText(r.status())}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status())
	_, _ = w.Write(marshal(body)) // a client that has gone needs no answer
}
