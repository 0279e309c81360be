package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

const (
	applicationJSON = "application/json"
	eventStream     = "text/event-stream"

	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerLast    = "Last-Event-ID"
)

// maxSessionID bounds the session ids of servers that are remembered, in bytes.
const maxSessionID = 1 << 10

// acceptedForms returns whether the client accepts JSON and event streams as an answer. Without Accept it takes both (RFC 9110, 12.5.1).
func acceptedForms(header http.Header) (json, events bool) {
	values := header.Values("Accept")
	if len(values) == 0 {
		return true, true
	}
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, _, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "*/*":
				json, events = true, true
			case "application/*", applicationJSON:
				json = true
			case "text/*", eventStream:
				events = true
			}
		}
	}
	return json, events
}

// isJSON reports whether the content type is JSON in UTF-8, the only encoding of MCP.
func isJSON(contentType string) bool {
	name, params, err := mime.ParseMediaType(contentType)
	charset := strings.ToLower(params["charset"])
	return err == nil && name == applicationJSON && (charset == "" || charset == "utf-8" || charset == "utf8")
}

// readBody reads the message of a POST. Its bytes count against MaxBodies until free is called, which the caller must do in any case.
func (c *conn) readBody() (message []byte, free func(), bad *Refusal) {
	h, r := c.h, c.r
	max := h.o.MaxMessage
	tooLarge := func() *Refusal {
		h.journalRefused("too_large")
		return &Refusal{
			Status: http.StatusRequestEntityTooLarge, Code: jsonrpc.CodeInvalidRequest,
			Text:   fmt.Sprintf("the message is larger than the %d bytes that are taken; send less in one message", max),
			Header: http.Header{"Connection": {"close"}},
		}
	}
	if r.ContentLength > max {
		return nil, func() {}, tooLarge()
	}
	held := int64(0)
	free = func() { h.bodies.Add(-held) }
	// Only bytes that have come count, not those that were announced: a client that stalls holds few.
	hold := func(n int64) bool {
		held += n
		if h.bodies.Add(n) <= h.o.MaxBodies {
			return true
		}
		h.journalRefused("busy")
		bad = &Refusal{
			Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal, Text: "too many messages are being taken at once; try again in a second",
			Header: http.Header{"Retry-After": {"1"}, "Connection": {"close"}},
		}
		return false
	}
	first := int64(4 << 10)
	if r.ContentLength >= 0 {
		first = min(r.ContentLength+1, 64<<10) // one more, so that the end is seen without growing
	}
	if !hold(first) {
		return nil, free, bad
	}
	_ = c.rc.SetReadDeadline(time.Now().Add(h.o.ReadTimeout))
	message = make([]byte, 0, first)
	for {
		n, err := r.Body.Read(message[len(message):cap(message)])
		message = message[:len(message)+n]
		switch {
		case int64(len(message)) > max:
			return nil, free, tooLarge()
		case err == io.EOF:
			// net/http reads on to see the client leave, which needs no deadline.
			_ = c.rc.SetReadDeadline(time.Time{})
			return message, free, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, free, &Refusal{
				Status: http.StatusRequestTimeout, Code: jsonrpc.CodeInvalidRequest,
				Text:   fmt.Sprintf("the message did not come within %v", h.o.ReadTimeout),
				Header: http.Header{"Connection": {"close"}},
			}
		case err != nil:
			return nil, free, badRequest(jsonrpc.CodeParse, "the message was broken off")
		}
		if len(message) == cap(message) {
			more := int64(cap(message))
			if rest := r.ContentLength + 1 - int64(len(message)); r.ContentLength >= 0 && rest < more {
				more = rest
			}
			more = min(more, max+1-int64(len(message)))
			if !hold(more) {
				return nil, free, bad
			}
			message = append(make([]byte, 0, int64(len(message))+more), message...)
		}
	}
}

// parseMessage returns the head of a client's message, or a refusal that says why it is not one.
func parseMessage(message []byte) (jsonrpc.Head, *Refusal) {
	head, err := jsonrpc.Scan(message)
	if err == nil {
		return head, nil
	}
	for _, b := range message {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '[':
			return head, badRequest(jsonrpc.CodeInvalidRequest, textBatch)
		case '{':
			return head, badRequest(jsonrpc.CodeInvalidRequest, "the message is not a JSON-RPC message: "+err.Error())
		}
		break
	}
	return head, badRequest(jsonrpc.CodeParse, "the message is not JSON: "+err.Error())
}

// textBatch is the answer to an array of messages. Only MCP 2025-03-26 had them, 2025-06-18 removed them; they are not split here because
// one batch could ask for any number of large results at once.
const textBatch = "batches of messages are not taken here (MCP dropped them in 2025-06-18); send each message alone"

// checkOrigin checks Host and Origin, against DNS rebinding, and returns the refusal or nil.
func (h *Handler) checkOrigin(r *http.Request) *Refusal {
	forbidden := func(name string) *Refusal {
		return &Refusal{Status: http.StatusForbidden, Code: jsonrpc.CodeInvalidRequest, Text: "the " + name + " header names a host that is not let in"}
	}
	if h.o.Hosts != nil && !slices.ContainsFunc(h.o.Hosts, func(host string) bool { return sameHost(host, r.Host) }) {
		return forbidden("Host")
	}
	if h.o.Origins == nil {
		return nil
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !slices.ContainsFunc(h.o.Origins, func(allowed string) bool {
			scheme, host, found := strings.Cut(allowed, "://")
			if !found {
				return sameHost(allowed, u.Host)
			}
			return strings.EqualFold(scheme, u.Scheme) && sameHost(host, u.Host)
		}) {
			return forbidden("Origin")
		}
	}
	return nil
}

// sameHost reports whether a host, with or without a port, is the one that is allowed; an allowed host without a port has any.
func sameHost(allowed, got string) bool {
	if strings.EqualFold(allowed, got) {
		return got != ""
	}
	name, _, err := net.SplitHostPort(got)
	return err == nil && strings.EqualFold(strings.Trim(allowed, "[]"), name)
}
