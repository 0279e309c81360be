package toolserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

func (x *exchange) cutOff(arguments json.RawMessage) (body, error) {
	a := struct {
		large
		After int64
	}{After: 1000}
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, badParams("Invalid arguments: %v", err)
	}
	a.Bytes = max(a.Bytes, a.After+1000)
	a.cut, a.fault = max(a.After, 1), ErrCut
	return x.complete(-1, a.body()), nil
}

func (x *exchange) die(arguments json.RawMessage) (body, error) {
	var a struct{ Mid bool }
	_ = json.Unmarshal(arguments, &a)
	if !a.Mid {
		return nil, ErrDied
	}
	return x.complete(-1, (&large{Bytes: 4000, Kind: "lines", cut: 1000, fault: ErrDied}).body()), nil
}

func (x *exchange) silent(json.RawMessage) (body, error) {
	<-x.ctx.Done()
	return nil, errNoAnswer
}

func (x *exchange) twice(json.RawMessage) (body, error) {
	x.respond(x.text("first"))
	x.respond(x.text("second"))
	return nil, errNoAnswer
}

func (x *exchange) foreignID(json.RawMessage) (body, error) {
	return x.text("mine"), x.to.message(jsonrpc.ResultResponse(`"nobody-asked"`, []byte(`{"content":[]}`)))
}

func (x *exchange) noise(json.RawMessage) (body, error) {
	return x.text("after the noise"), x.to.noise(func(w *bufio.Writer) error {
		_, err := w.WriteString("DEBUG: this is no message\n{\"neither\":\"is this\"}")
		return err
	})
}

func (x *exchange) noLine(arguments json.RawMessage) (body, error) {
	a := struct{ Bytes int64 }{1 << 20}
	_ = json.Unmarshal(arguments, &a)
	return x.text("after the noise"), x.to.noise(func(w *bufio.Writer) error {
		d := &document{w: w, l: &large{Bytes: a.Bytes}}
		d.filler("no newline in here ", false)
		return d.err
	})
}

func (x *exchange) drop(arguments json.RawMessage) (body, error) {
	a := struct{ MS int }{20}
	_ = json.Unmarshal(arguments, &a)
	if x.header == nil || x.modern {
		return x.failed("only over HTTP with a session"), nil
	}
	x.to.drop()
	select {
	case <-time.After(time.Duration(a.MS) * time.Millisecond):
	case <-x.ctx.Done():
		return nil, x.ctx.Err()
	}
	return x.text("after the drop"), nil
}

// notFound returns the error for a resource that is not there, which has another code in each protocol version.
func (x *exchange) notFound(uri string) error {
	code := -32002
	if x.modern {
		code = jsonrpc.CodeParams
	}
	return &Error{Code: code, Message: "Resource not found", Data: fmt.Appendf(nil, `{"uri":%q}`, uri), status: http.StatusOK}
}
