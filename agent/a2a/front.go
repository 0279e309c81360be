package a2a

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	sdklog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/plimsoll/plimsoll/limit"
)

// The versions of the protocol, as requests name them.
const (
	version03 = "0.3"
	version10 = "1.0"
)

const (
	versionHeader = sdk.SvcParamVersion
	cardPath      = "/.well-known/agent-card.json"
)

// ServeHTTP serves the agent card, JSON-RPC of A2A 1.0 and 0.3, and REST of 1.0.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if caught := recover(); caught != nil && caught != http.ErrAbortHandler { //nolint:errorlint // recover gives the value itself
			s.counts.panics.Add(1)
			s.log.Error("a2a: a request panicked", "panic", caught, "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler) // nobody knows what of the answer is out already
		} else if caught != nil {
			panic(caught)
		}
	}()
	path, ok := s.trimBase(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if path == cardPath || path == "/.well-known/agent.json" { // the second is the path of 0.2
		s.serveCard(w, r)
		return
	}
	out := &stream{
		w: w, control: http.NewResponseController(w), timeout: s.o.Limits.WriteTimeout,
		counts: &s.counts, rest: path != "/", wants: strings.Contains(r.Header.Get("Accept"), "text/event-stream"),
		fetch: r.Header.Get("Sec-Fetch-Mode") != "",
	}
	defer out.finish()
	if last, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		out.last, out.resumed = last, true
	}
	ctx := sdklog.AttachLogger(context.WithValue(r.Context(), streamKey{}, out), s.log)
	s.serveCall(out, r.WithContext(ctx), path)
}

// trimBase removes Options.Path from the path of a request. It returns false for a path outside of it.
func (s *Server) trimBase(path string) (string, bool) {
	base := strings.TrimSuffix(s.o.Path, "/")
	rest, ok := strings.CutPrefix(path, base)
	if !ok {
		return "", false
	}
	rest = cmp.Or(rest, "/")
	return rest, rest[0] == '/'
}

// serveCall answers a request other than one for the agent card: it checks the origin, reads the body, and passes the request on by its
// path to JSON-RPC ("/") or REST.
func (s *Server) serveCall(out *stream, r *http.Request, path string) {
	if err := s.guard.Check(r); err != nil {
		s.refuse(out, http.StatusForbidden, nil, sdk.NewError(sdk.ErrUnauthorized,
			"the request comes from a web page of another origin, which may not use this agent"))
		return
	}
	body, status, err := s.readBody(out, r)
	if err != nil {
		s.counts.refused.Add(1)
		s.refuse(out, status, nil, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	if path == "/" {
		s.serveRPC(out, r, body)
		return
	}
	s.serveREST(out, r, path, body)
}

// readBody reads the body of a request within its bounds, and checks its type and shape. With an error it returns the HTTP status for it.
// An empty body is nil.
func (s *Server) readBody(out *stream, r *http.Request) ([]byte, int, error) {
	bound := s.o.Limits.MaxRequest
	tooLong := func() error {
		return sdk.NewError(sdk.ErrInvalidRequest, fmt.Sprintf(
			"the request is longer than %s: send less, or the address of a file", bound.Human()))
	}
	if r.ContentLength > int64(bound) {
		out.Header().Set("Connection", "close") // nobody is going to read the rest
		return nil, http.StatusRequestEntityTooLarge, tooLong()
	}
	_ = out.control.SetReadDeadline(time.Now().Add(s.o.Limits.ReadTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(out.w, r.Body, int64(bound)))
	_ = out.control.SetReadDeadline(time.Time{})
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, http.StatusRequestEntityTooLarge, tooLong()
	case err != nil:
		return nil, http.StatusBadRequest, sdk.NewError(sdk.ErrInvalidRequest, "the request broke off: "+err.Error())
	}
	if len(body) == 0 {
		return nil, 0, nil
	}
	// A web page can't send this type to another origin without asking first.
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && media != "application/a2a+json" {
		return nil, http.StatusUnsupportedMediaType, sdk.NewError(sdk.ErrUnsupportedContentType, fmt.Sprintf(
			"the request's Content-Type is %q: send application/json", limit.Clip(r.Header.Get("Content-Type"), 64)))
	}
	if err := checkShape(body); err != nil {
		return nil, http.StatusBadRequest, sdk.NewError(sdk.ErrInvalidRequest, err.Error())
	}
	return body, 0, nil
}

// versionOf returns the protocol version that a request names, without the patch level; "" if it names none. An unknown version is an
// error.
func versionOf(r *http.Request) (string, error) {
	asked := strings.TrimSpace(r.Header.Get(versionHeader))
	if asked == "" {
		asked = r.URL.Query().Get(versionHeader)
	}
	if asked == "" {
		return "", nil
	}
	for _, known := range []string{version10, version03} {
		// A patch level does not count (A2A 1.0, 3.6).
		if asked == known || strings.HasPrefix(asked, known+".") {
			return known, nil
		}
	}
	return "", sdk.NewError(sdk.ErrVersionNotSupported, fmt.Sprintf(
		"A2A %q is not spoken here; %s and %s are", limit.Clip(asked, 32), version10, version03))
}

// checkVersion returns an error for any version but 1.0 when the server serves only that.
func (s *Server) checkVersion(version string) error {
	if version != version10 && s.o.Only10 {
		return sdk.NewError(sdk.ErrVersionNotSupported, "only A2A 1.0 is spoken here: say so in the header "+versionHeader)
	}
	return nil
}

// serveRPC answers a JSON-RPC request, in A2A 1.0 or 0.3 by the version that the request names. A body that is no valid call is answered
// with an error.
func (s *Server) serveRPC(out *stream, r *http.Request, body []byte) {
	if r.Method != http.MethodPost {
		out.Header().Set("Allow", "POST")
		s.refuse(out, http.StatusMethodNotAllowed, nil, sdk.NewError(sdk.ErrInvalidRequest,
			"JSON-RPC is sent with POST; the agent card is at "+strings.TrimSuffix(s.o.Path, "/")+cardPath))
		return
	}
	call, err := openEnvelope(body)
	if err != nil {
		kind := sdk.ErrInvalidRequest
		if errors.Is(err, errNotJSON) {
			kind = sdk.ErrParseError
		}
		s.counts.refused.Add(1)
		s.refuse(out, http.StatusOK, call.id, sdk.NewError(kind, err.Error()))
		return
	}
	version, err := versionOf(r)
	if err != nil {
		s.refuse(out, http.StatusOK, call.id, err)
		return
	}
	if version == "" {
		// No version means 0.3 (A2A 1.0, 3.6.2). The methods of 1.0 have other names, so
		// one of them can't mean anything else.
		version = version03
		if !strings.Contains(call.method, "/") {
			version = version10
		}
	}
	if err := s.checkVersion(version); err != nil {
		s.refuse(out, http.StatusOK, call.id, err)
		return
	}
	s.counts.requests.Add(1)
	if version == version03 {
		out.old = true
		s.rpc03.ServeHTTP(out, r)
		return
	}
	body = camelCase(body)
	if err := checkParams(call.method, body); err != nil {
		out.wants = out.wants || call.method == "SendStreamingMessage" // as the SDK answers what it refuses of them
		s.refuse(out, http.StatusOK, call.id, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.rpc10.ServeHTTP(out, r)
}

// serveREST answers a REST request of A2A 1.0. Any other version, and a path that the SDK does not know, is answered with an error.
func (s *Server) serveREST(out *stream, r *http.Request, path string, body []byte) {
	version, err := versionOf(r)
	if err != nil {
		s.refuse(out, 0, nil, err)
		return
	}
	// No version means 0.3 (A2A 1.0, 3.6.2), which has its paths below /v1. It is spoken over JSON-RPC alone: its SDKs do not agree on
	// the names of its members over REST.
	if version != version10 || strings.HasPrefix(path, "/v1/") {
		s.refuse(out, 0, nil, sdk.NewError(sdk.ErrVersionNotSupported,
			"over REST only A2A 1.0 is spoken: say so in the header "+versionHeader+", or use JSON-RPC, which the agent card offers to 0.3"))
		return
	}
	if !s.isRoute(r.Method, path) {
		s.refuse(out, http.StatusNotFound, nil, sdk.NewError(sdk.ErrMethodNotFound,
			fmt.Sprintf("%s %s is no operation of A2A", r.Method, limit.Clip(path, 128))))
		return
	}
	s.counts.requests.Add(1)
	out.query = r.URL.Query()
	to := *r.URL
	to.Path, to.RawPath = path, ""
	r.URL = &to
	if strings.HasSuffix(path, ":subscribe") {
		r.Method = http.MethodPost // the method that the SDK expects
	}
	r.Body = io.NopCloser(bytes.NewReader(camelCase(body)))
	s.rest10.ServeHTTP(out, r)
}

// isRoute reports whether the SDK serves a method and path over REST. Others are answered here, because the SDK would answer them in plain
// text.
func (s *Server) isRoute(method, path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/message:send" || path == "/message:stream":
		return method == http.MethodPost
	case path == "/extendedAgentCard" || path == "/tasks":
		return method == http.MethodGet
	case parts[0] != "tasks":
		return false
	case len(parts) == 2:
		if strings.HasSuffix(parts[1], ":subscribe") { // the prose has POST, the definition GET
			return method == http.MethodPost || method == http.MethodGet
		}
		action := strings.HasSuffix(parts[1], ":cancel")
		return method == http.MethodPost && action || method == http.MethodGet && !action
	case parts[2] != "pushNotificationConfigs":
		return false
	case len(parts) == 3:
		return method == http.MethodPost || method == http.MethodGet
	default:
		return len(parts) == 4 && (method == http.MethodGet || method == http.MethodDelete)
	}
}
