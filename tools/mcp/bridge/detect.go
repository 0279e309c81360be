package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// Undecided says that a server's answer to the probe tells nothing of its protocol version: it wants
// credentials, or something before it is out of order. It is not to be remembered.
type Undecided struct {
	Server string
	// Answer is the HTTP answer that came in the place of one.
	Answer transport.Answer
}

// Error implements error.
func (e *Undecided) Error() string {
	return fmt.Sprintf("%s answered server/discover with status %d, which does not tell its protocol version: try again when it answers",
		e.Server, e.Answer.Status)
}

// Detect asks a server which protocol version it speaks, by server/discover, as the backward
// compatibility rules of 2026-07-28 say: a DiscoverResult, or an error that only this version
// has, means Sessionless; anything else, or silence for Options.Probe, means WithSessions. The
// answer is a property of the server and worth keeping as long as it runs. Errors: ctx
// ended, the server is gone, or *Undecided.
//
// It sends one request. first gives principal and HTTP header for it and may be empty.
func Detect(ctx context.Context, next transport.Peer, first transport.Message, o Options) (ProtocolVersion, error) {
	o = o.filled()
	id := jsonrpc.ID(rawjson.Quote(nil, "plimsoll-probe-"+token()[:8]))
	params, err := setMeta(nil, pair{metaVersion, []byte(`"` + ModernVersion + `"`)}, pair{metaClient, []byte(ownInfo)}, pair{metaCapabilities, []byte("{}")})
	if err != nil {
		return Unknown, err
	}
	probe, stop := context.WithTimeout(ctx, o.Probe)
	defer stop()
	answer, err := ask(probe, next, transport.Message{
		Raw: jsonrpc.NewRequest(id, "server/discover", params), Header: first.Header, Principal: first.Principal,
	})
	switch {
	case ctx.Err() != nil:
		return Unknown, ctx.Err()
	case probe.Err() != nil:
		return WithSessions, nil
	case err != nil:
		refused, ok := errors.AsType[statusError](err)
		if !ok {
			return Unknown, fmt.Errorf("%s was asked for its protocol version: %w", o.Server, err)
		}
		answer.http.Status = refused.HTTPStatus()
	}
	version := WithSessions
	if answer.message != nil {
		version = versionOf(answer.message)
	}
	// A body with a member "error" is also what who guards a server says in its place.
	switch s := answer.http.Status; {
	case version == Sessionless:
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusTooManyRequests, s >= 500:
		return Unknown, &Undecided{o.Server, answer.http}
	}
	return version, nil
}

// statusError is an error of a connection over HTTP that knows the status of a refusal.
type statusError interface {
	error
	HTTPStatus() int
}

// ownInfo is how this bridge names itself where there is no client to be named.
const ownInfo = `{"name":"plimsoll","version":"1"}`

// VersionOf judges a server's answer to server/discover: its response, whole.
func VersionOf(response []byte) ProtocolVersion { return versionOf(response) }

// versionOf judges an answer to server/discover.
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
		// data may be anything; the code alone is looked at again.
		code, ok := errorCode(message)
		if ok && modernCode(code) {
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
	case r.Error == nil || !modernCode(int64(r.Error.Code)):
		return WithSessions
	case r.Error.Code == jsonrpc.CodeVersion && len(r.Error.Data.Supported) > 0 && !modern(r.Error.Data.Supported):
		return WithSessions // it knows of the sessionless version, and does not offer it
	}
	return Sessionless
}

// modernCode says whether a code is one that only 2026-07-28 defines.
func modernCode(code int64) bool {
	return code == jsonrpc.CodeHeader || code == jsonrpc.CodeCapability || code == jsonrpc.CodeVersion
}

func errorCode(message []byte) (int64, bool) {
	v := rawjson.Get(message, "error", "code")
	if v.IsZero() {
		return 0, false
	}
	var code int64
	err := json.Unmarshal(v.Of(message), &code)
	return code, err == nil
}

// answered is what came back for a request made here.
type answered struct {
	message []byte // the response; nil when there was none
	http    transport.Answer
}

// ask sends a request made here and waits for its response, also where an HTTP server
// sent one beside an error status that the transport did not take for a message.
func ask(ctx context.Context, p transport.Peer, m transport.Message) (answered, error) {
	head, err := jsonrpc.Scan(m.Raw)
	if err != nil {
		return answered{}, err
	}
	m.Head = head
	var (
		a      answered
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
		return answered{}, ctx.Err()
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
