package toolserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// sink takes the messages for one request.
type sink interface {
	// message sends a notification or a request of the server.
	message(m []byte) error
	// response sends the answer, made while it is written.
	response(status int, write func(w *bufio.Writer) error) error
	// noise sends bytes that are no message.
	noise(write func(w *bufio.Writer) error) error
	// abort ends the connection at once.
	abort(err error)
	// drop closes the connection but not the stream, where the transport can do that.
	drop()
}

// body writes the members of a result object, without the braces.
type body func(w *bufio.Writer) error

// Error is a JSON-RPC error.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
	status  int             // of HTTP in the sessionless version; 0 means 200
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// exchange is one request being answered.
type exchange struct {
	c      *session
	s      *Server
	ctx    context.Context
	to     sink
	header http.Header
	id     jsonrpc.ID
	method string
	params json.RawMessage
	meta   meta
	modern bool
	idLast bool // the id is written after the result

	states [][]json.RawMessage // answers of earlier rounds
	inputs map[string]json.RawMessage
	round  int
}

type meta struct {
	ProgressToken json.RawMessage `json:"progressToken"`
	Version       *string         `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities  json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	Level         string          `json:"io.modelcontextprotocol/logLevel"`
}

// errNoAnswer reports that a handler answered, or will not answer, by itself.
var errNoAnswer = errors.New("no answer")

// serve answers a request.
func (x *exchange) serve() {
	x.s.count.open.Add(1)
	defer x.s.count.open.Add(-1)
	result, err := x.dispatch()
	switch {
	case errors.Is(err, errNoAnswer):
	case x.ctx.Err() != nil:
		// Taken back: an answer would be to nobody.
	case errors.Is(err, errInput):
	case errors.Is(err, ErrDied), errors.Is(err, ErrCut):
		x.to.abort(err)
	case err != nil:
		x.fail(err)
	default:
		x.respond(result)
	}
}

// fail answers the request with an error; one that is no *Error is an internal error.
func (x *exchange) fail(err error) {
	e := new(Error)
	if !errors.As(err, &e) {
		e = &Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	status := http.StatusOK
	if x.modern && e.status != 0 {
		status = e.status
	}
	_ = x.to.response(status, func(w *bufio.Writer) error {
		_, err := w.Write(jsonrpc.ErrorResponse(x.id, e.Code, e.Message, e.Data))
		return err
	})
}

func (x *exchange) respond(members body) {
	err := x.to.response(http.StatusOK, func(w *bufio.Writer) error { return x.envelope(w, members) })
	if errors.Is(err, ErrCut) || errors.Is(err, ErrDied) {
		x.to.abort(err)
	}
}

// envelope writes a response around the members of its result, with the ID first or last.
func (x *exchange) envelope(w *bufio.Writer, members body) error {
	if x.idLast {
		fmt.Fprint(w, `{"jsonrpc":"2.0","result":{`)
	} else {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{`, x.id)
	}
	if x.modern {
		fmt.Fprintf(w, `"_meta":{"io.modelcontextprotocol/serverInfo":%s}`, x.s.info())
		if members != nil {
			w.WriteByte(',')
		}
	}
	if members != nil {
		if err := members(w); err != nil {
			w.Flush()
			return err
		}
	}
	if x.idLast {
		fmt.Fprintf(w, `},"id":%s}`, x.id)
		return nil
	}
	_, err := w.WriteString("}}")
	return err
}

// complete marks a result as the sessionless version demands; ttl < 0 leaves the caching members out.
func (x *exchange) complete(ttl int, members body) body {
	if !x.modern {
		return members
	}
	return func(w *bufio.Writer) error {
		fmt.Fprint(w, `"resultType":"complete"`)
		if ttl >= 0 {
			fmt.Fprintf(w, `,"ttlMs":%d,"cacheScope":"public"`, ttl)
		}
		if members == nil {
			return nil
		}
		w.WriteByte(',')
		return members(w)
	}
}

// value makes a body of what encoding/json makes of v, an object.
func value(v any) body {
	return func(w *bufio.Writer) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b[1 : len(b)-1])
		return err
	}
}

// raw returns a body written as it is.
func raw(members string) body {
	return func(w *bufio.Writer) error {
		_, err := w.WriteString(members)
		return err
	}
}

func (s *Server) info() string {
	return fmt.Sprintf(`{"name":%q,"version":"1.0.0"}`, s.o.Name)
}
