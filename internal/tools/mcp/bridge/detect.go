package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// Undecided reports that a server's answer to the probe does not show its protocol version: it wants credentials, or a proxy in front of it
// failed. The answer must not be remembered.
type Undecided struct {
	Server string
	// Answer is the HTTP answer that came instead of an MCP response.
	Answer transport.Answer
}

// Error implements error.
func (e *Undecided) Error() string {
	return fmt.Sprintf("%s answered server/discover with status %d, which does not tell its protocol version: try again when it answers",
		e.Server, e.Answer.Status)
}

// Detect asks a server which protocol version it speaks, by server/discover, as the backward
// compatibility rules of 2026-07-28 say: a DiscoverResult, or an error that only this version
// has, means Sessionless; anything else means WithSessions. A server that stays silent for Options.Probe may be one that
// does not answer requests before initialize, or one that is still starting: then it gets initialize too, and its first answer
// decides. The result is a property of the server and can be kept as long as that runs; if initialize decided, the connection has
// begun a session. An error means that ctx ended, the server is gone or did not answer within Options.Handshake, or is *Undecided.
//
// first has the principal and the HTTP header for the requests, and may be empty.
func Detect(ctx context.Context, next transport.Peer, first transport.Message, o Options) (ProtocolVersion, error) {
	o = o.withDefaults()
	params, err := setMeta(nil, pair{metaVersion, []byte(`"` + ModernVersion + `"`)}, pair{metaClient, []byte(ownInfo)}, pair{metaCapabilities, []byte("{}")})
	if err != nil {
		return Unknown, err
	}
	bounded, stop := context.WithTimeout(ctx, o.Handshake)
	defer stop()
	discovered := askInBackground(bounded, next, first, "server/discover", params)
	silent := time.NewTimer(o.Probe)
	defer silent.Stop()
	select {
	case a := <-discovered:
		return a.version(o.Server)
	case <-bounded.Done():
		return Unknown, o.noAnswerError(ctx)
	case <-silent.C:
	}
	header := first.Header.Clone()
	header.Del("Mcp-Method")
	header.Del("Mcp-Protocol-Version")
	initialized := askInBackground(bounded, next, transport.Message{Header: header, Principal: first.Principal}, "initialize",
		fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{},"clientInfo":%s}`, LegacyVersion, ownInfo))
	select {
	case a := <-discovered:
		return a.version(o.Server)
	case a := <-initialized:
		return a.version(o.Server) // its result has no supportedVersions, a refusal may have the code of a version
	case <-bounded.Done():
		return Unknown, o.noAnswerError(ctx)
	}
}

// noAnswerError returns the error for a missing answer: that of ctx if it has ended, else that the server did not answer in time.
func (o *Options) noAnswerError(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fail(jsonrpc.CodeInternal, "%s answered neither server/discover nor initialize within %v: see whether it runs", o.Server, o.Handshake)
}

// reply is the outcome of a request made here.
type reply struct {
	response
	err error
}

// askInBackground sends a request of the bridge itself in a new goroutine; the channel gets its outcome.
func askInBackground(ctx context.Context, next transport.Peer, first transport.Message, method string, params []byte) <-chan reply {
	id := jsonrpc.ID(rawjson.Quote(nil, "plimsoll-probe-"+newToken()[:8]))
	got := make(chan reply, 1)
	go func() {
		var r reply
		r.response, r.err = ask(ctx, next, transport.Message{Raw: jsonrpc.NewRequest(id, method, params), Header: first.Header, Principal: first.Principal})
		got <- r
	}()
	return got
}

// version returns the protocol version that the answer shows. It is Unknown with an error if the server named server could not be asked, or
// if a refusal (401, 403, 429, 5xx) leaves it open: then that is [*Undecided].
func (r reply) version(server string) (ProtocolVersion, error) {
	if r.err != nil {
		refused, ok := errors.AsType[statusError](r.err)
		if !ok {
			return Unknown, fmt.Errorf("%s was asked for its protocol version: %w", server, r.err)
		}
		r.http.Status = refused.HTTPStatus()
	}
	version := WithSessions
	if r.message != nil {
		version = versionOf(r.message)
	}
	// A proxy that guards the server may also answer with a body that has a member "error".
	switch s := r.http.Status; {
	case version == Sessionless:
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusTooManyRequests, s >= 500:
		return Unknown, &Undecided{server, r.http}
	}
	return version, nil
}

// statusError is an error of an HTTP connection that has the status of a refusal.
type statusError interface {
	error
	HTTPStatus() int
}

// ownInfo is the clientInfo of the bridge itself, sent when there is no client to name.
const ownInfo = `{"name":"plimsoll","version":"1"}`

// VersionOf returns the protocol version that a whole response to server/discover shows.
func VersionOf(response []byte) ProtocolVersion { return versionOf(response) }

// versionOf returns the protocol version that an answer to server/discover shows; WithSessions unless it is clearly a sessionless one.
func versionOf(message []byte) ProtocolVersion {
	var r struct {
		Result *struct {
			SupportedVersions []string `json:"supportedVersions"`
		} `json:"result"`
		Error *struct {
			Code int `json:"code"`
			Data struct {
				Supported []string `json:"supported"`
			} `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(message, &r) != nil {
		// data may be anything; the code alone decides.
		code, ok := errorCode(message)
		if ok && isModernCode(code) {
			return Sessionless
		}
		return WithSessions
	}
	modern := func(versions []string) bool {
		return slices.ContainsFunc(versions, func(v string) bool { return len(v) == len(ModernVersion) && v >= ModernVersion })
	}
	switch {
	case r.Result != nil && modern(r.Result.SupportedVersions):
		return Sessionless
	case r.Error == nil || !isModernCode(int64(r.Error.Code)):
		return WithSessions
	case r.Error.Code == jsonrpc.CodeVersion && len(r.Error.Data.Supported) > 0 && !modern(r.Error.Data.Supported):
		return WithSessions // the server knows the sessionless version and does not offer it
	}
	return Sessionless
}

// isModernCode reports whether an error code is one that only 2026-07-28 defines.
func isModernCode(code int64) bool {
	return code == jsonrpc.CodeHeader || code == jsonrpc.CodeCapability || code == jsonrpc.CodeVersion
}

// errorCode returns the code of an error response; ok is false if there is none.
func errorCode(message []byte) (int64, bool) {
	v := rawjson.Get(message, "error", "code")
	if v.IsZero() {
		return 0, false
	}
	var code int64
	err := json.Unmarshal(v.Of(message), &code)
	return code, err == nil
}

// response is the response to a request made here, with its HTTP answer.
type response struct {
	message []byte // the response; nil if there was none
	http    transport.Answer
}

// ask sends a request of the bridge itself and waits for its response. A response in the body of an HTTP error counts too, although the transport
// does not pass it on as a message. If there is no response, it returns an error, or nil if the HTTP status says what is wrong.
func ask(ctx context.Context, p transport.Peer, m transport.Message) (response, error) {
	head, err := jsonrpc.Scan(m.Raw)
	if err != nil {
		return response{}, err
	}
	m.Head = head
	var (
		a      response
		failed error
		done   = make(chan error, 1)
	)
	p.Send(ctx, m, transport.Funcs{
		OnOpen: func(h transport.Answer) { a.http = h },
		OnReceive: func(f *transport.Frame) {
			if a.message != nil || failed != nil || kindOf(f) != jsonrpc.Response {
				return
			}
			if failed = f.ReadAll(maxControl); failed == nil {
				a.message = bytes.Clone(f.Head)
			}
		},
		OnDone: func(err error) { done <- err },
	})
	select {
	case err = <-done:
	case <-ctx.Done():
		return response{}, ctx.Err()
	}
	if a.message == nil && len(a.http.Body) > 0 {
		if h, err := jsonrpc.Scan(a.http.Body); err == nil && h.Kind == jsonrpc.Response {
			a.message = a.http.Body
		}
	}
	switch {
	case a.message != nil || a.http.Status >= 400:
		return a, nil
	case failed != nil:
		return a, failed
	case err != nil:
		return a, err
	}
	return a, fmt.Errorf("no answer to %s", head.Method)
}
