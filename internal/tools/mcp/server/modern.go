package server

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// firstModern is the first version without sessions; versions are dates and are compared as text.
const firstModern = "2026-07-28"

// Keys in _meta of a modern request.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// isModernVersion reports whether version is a protocol version without sessions, 2026-07-28 or later; false for text that is not a date.
func isModernVersion(version string) bool {
	return isDate(version) && version >= firstModern
}

// isDate reports whether s has the form of a date such as 2006-01-02.
func isDate(s string) bool {
	if len(s) != len("2006-01-02") {
		return false
	}
	for i := range len(s) {
		if c := s[i]; i == 4 || i == 7 {
			if c != '-' {
				return false
			}
		} else if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isModern reports whether a message is of a protocol version without sessions: by its header or _meta, or as server/discover.
func isModern(header http.Header, message []byte, head jsonrpc.Head) bool {
	if isModernVersion(header.Get(headerVersion)) {
		return true
	}
	if head.Kind != jsonrpc.Request {
		return false
	}
	_, found := metaText(message, head, metaVersion)
	return found || head.Method == "server/discover"
}

// metaText returns a string in the _meta of a message's params; false if there is none.
func metaText(message []byte, head jsonrpc.Head, key string) (string, bool) {
	if head.Params.IsZero() {
		return "", false
	}
	return rawjson.Text(head.Params.Of(message), "_meta", key)
}

// mismatch returns the refusal of a request whose headers differ from its body.
func mismatch(format string, args ...any) *Refusal {
	return badRequest(jsonrpc.CodeHeader, "Header mismatch: "+fmt.Sprintf(format, args...))
}

// checkModern compares the headers of a modern request with its body, as a server must (Server Validation of the streamable HTTP page of
// 2026-07-28), and returns the refusal or nil. With strict, headers and members that must be there are required; else only a contradiction
// is refused: a server behind the gateway that reads the headers must not see another request than the policy here, which reads the body.
func checkModern(header http.Header, message []byte, head jsonrpc.Head, strict bool) *Refusal {
	for _, name := range []string{headerVersion, headerMethod, headerName} {
		if len(header.Values(name)) > 1 {
			return mismatch("%s is there more than once", name)
		}
	}
	var params []byte
	if !head.Params.IsZero() {
		params = head.Params.Of(message)
	}
	inHeader := header.Get(headerVersion)
	inBody, found := rawjson.Text(params, "_meta", metaVersion)
	request := head.Kind == jsonrpc.Request
	switch {
	case found && inHeader != "" && inHeader != inBody:
		return mismatch("%s is %q, _meta says %q", headerVersion, inHeader, inBody)
	case strict && request && found && inHeader == "":
		return mismatch("%s is missing", headerVersion)
	case strict && request && !found:
		return badRequest(jsonrpc.CodeParams, "params._meta lacks "+metaVersion)
	case strict && request && !isObject(params, rawjson.Get(params, "_meta", metaCapabilities)):
		return badRequest(jsonrpc.CodeParams, "params._meta lacks "+metaCapabilities)
	}
	switch method := header.Get(headerMethod); {
	case method == "" && strict && request:
		return mismatch("%s is missing", headerMethod)
	case method != "" && method != head.Method:
		return mismatch("%s is %q, the message says %q", headerMethod, method, head.Method)
	}
	source := ""
	switch head.Method {
	case "tools/call", "prompts/get":
		source = "name"
	case "resources/read":
		source = "uri"
	default:
		return nil
	}
	want, found := rawjson.Text(params, source)
	value := header.Get(headerName)
	switch name, ok := decodeHeaderValue(value); {
	case !ok:
		return mismatch("%s is neither plain ASCII nor valid Base64 between =?base64? and ?=", headerName)
	case value == "" && found && want != "":
		if strict {
			return mismatch("%s is missing", headerName)
		}
	case name != want:
		return mismatch("%s is %q, params.%s says %q", headerName, name, source, want)
	}
	return nil
}

func isObject(text []byte, span rawjson.Span) bool {
	return !span.IsZero() && text[span.Start] == '{'
}

// decodeHeaderValue returns the value of a header, decoded if it is in the base64 form; ok is false if that is invalid or the value is not plain
// ASCII. It is strict, so that no two readers see different values.
func decodeHeaderValue(value string) (string, bool) {
	if inner, found := strings.CutPrefix(value, "=?base64?"); found {
		if inner, found = strings.CutSuffix(inner, "?="); found {
			b, err := base64.StdEncoding.Strict().DecodeString(inner)
			return string(b), err == nil && !strings.ContainsAny(inner, "\r\n")
		}
	}
	for i := range len(value) {
		if c := value[i]; c >= 0x7f || c < ' ' && c != '\t' {
			return "", false
		}
	}
	return value, true
}

// modernStatus returns the HTTP status for the code of an error from a modern server; 200 for most codes.
func modernStatus(code int64) int {
	switch code {
	case jsonrpc.CodeMethod:
		return http.StatusNotFound
	case jsonrpc.CodeParse, jsonrpc.CodeInvalidRequest, jsonrpc.CodeHeader, jsonrpc.CodeCapability, jsonrpc.CodeVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
