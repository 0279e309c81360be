package server

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// wellKnown is the path of the document that describes how to get access to a server (RFC 9728, 3).
const wellKnown = "/.well-known/oauth-protected-resource"

// maxMetadata bounds that document in bytes; real ones have a few hundred.
const maxMetadata = 64 << 10

// Metadata returns a handler that serves the OAuth protected resource metadata of the server at upstream, an MCP
// endpoint, as that of the resource here; resource returns the URL of that. It belongs at
// /.well-known/oauth-protected-resource followed by the handler's own path, to which
// [Options.Resource] points clients.
//
// The document is requested from where the server's own 401 said, if that is on the same host,
// then from the two places that RFC 9728 names. Only its member resource is changed, and only if
// that is the server: a document for another resource must look wrong here too. The client itself asks
// the authorization servers. client gets no header of the request; nil means http.DefaultClient.
func (h *Handler) Metadata(upstream *url.URL, client *http.Client, resource func(*http.Request) string) http.Handler {
	if client == nil {
		client = http.DefaultClient
	}
	same := *client
	same.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Scheme != upstream.Scheme || r.URL.Host != upstream.Host {
			return errors.New("redirected to another host")
		}
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := newConn(w, r, h)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			c.refuse(notAllowed("GET, HEAD"), "")
			return
		}
		document, err := h.metadata(r, upstream, &same)
		if err == nil && document == nil {
			c.refuse(&Refusal{Status: http.StatusNotFound, Text: "the server has no OAuth protected resource metadata"}, "")
			return
		}
		if err == nil && describesServer(document, upstream) {
			document, err = rawjson.Set(document, "resource", rawjson.Quote(nil, resource(r)))
		}
		if err != nil {
			c.refuse(&Refusal{Status: http.StatusBadGateway, Code: jsonrpc.CodeInternal, Text: "reading the server's metadata: " + err.Error()}, "")
			return
		}
		c.message(http.StatusOK, document)
	})
}

// describesServer reports whether the document is for the server at upstream, by the same rules as clients: its resource has the same origin, and
// its path is a prefix of the server's.
func describesServer(document []byte, upstream *url.URL) bool {
	text, ok := rawjson.Text(document, "resource")
	if !ok {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || !strings.EqualFold(u.Scheme, upstream.Scheme) || !strings.EqualFold(u.Host, upstream.Host) {
		return false
	}
	path := strings.TrimSuffix(upstream.EscapedPath(), "/") + "/"
	return strings.HasPrefix(path, strings.TrimSuffix(u.EscapedPath(), "/")+"/")
}

// metadata requests the document from the address that the server has named, if that is on its own host, and from the well-known ones. It
// returns the first that is found; nil without an error means that the server has none.
func (h *Handler) metadata(r *http.Request, upstream *url.URL, client *http.Client) ([]byte, error) {
	var places []*url.URL
	if named, ok := h.named.Load().(string); ok {
		if u, err := url.Parse(named); err == nil && u.Scheme == upstream.Scheme && u.Host == upstream.Host {
			places = append(places, u)
		}
	}
	path := strings.TrimSuffix(upstream.EscapedPath(), "/")
	for _, p := range []string{wellKnown + path, wellKnown} {
		if u, err := upstream.Parse(p); err == nil {
			places = append(places, u)
		}
	}
	var last error
	for _, place := range places {
		document, err := fetch(r, place, client)
		if document != nil {
			return document, nil
		}
		if err != nil { // one that has none is no answer to one that could not be asked
			last = err
		}
	}
	return nil, last
}

// fetch requests a JSON object; nil without an error means that there is none (a status below 500 other than 200).
func fetch(r *http.Request, place *url.URL, client *http.Client) ([]byte, error) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, place.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", applicationJSON)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 500 {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	if response.StatusCode != http.StatusOK {
		return nil, nil
	}
	document, err := io.ReadAll(io.LimitReader(response.Body, maxMetadata+1))
	if err != nil {
		return nil, err
	}
	if len(document) > maxMetadata {
		return nil, fmt.Errorf("more than %d bytes", maxMetadata)
	}
	span, err := rawjson.Only(document)
	if err != nil || document[span.Start] != '{' {
		return nil, errors.New("no JSON object")
	}
	return span.Of(document), nil
}

const (
	// headerParam begins the names of headers that repeat an argument of a tool.
	headerParam = "Mcp-Param-"
	// maxNested bounds the depth of a schema in which arguments are searched.
	maxNested = 32
)

// checkMirrored compares the headers that repeat arguments of a tools/call with the arguments, and returns the refusal if they differ, else
// nil. schema is the tool's inputSchema, whose x-mcp-header names the headers.
func checkMirrored(header http.Header, params, schema []byte) *Refusal {
	var arguments []byte
	if span := rawjson.Get(params, "arguments"); !span.IsZero() {
		arguments = span.Of(params)
	}
	return checkProperties(header, arguments, schema, 0)
}

// checkProperties compares the headers that a schema asks for with the arguments, at all depths up to maxNested, and returns the refusal or nil.
func checkProperties(header http.Header, arguments, schema []byte, depth int) *Refusal {
	properties := rawjson.Get(schema, "properties")
	if properties.IsZero() || depth == maxNested {
		return nil
	}
	for m, err := range rawjson.Members(properties.Of(schema), 0) {
		if err != nil {
			return nil // an invalid schema names no headers
		}
		property := m.Value.Of(properties.Of(schema))
		var value []byte
		if len(arguments) > 0 {
			if span := rawjson.Get(arguments, string(m.Key)); !span.IsZero() {
				value = span.Of(arguments)
			}
		}
		if name, ok := rawjson.Text(property, "x-mcp-header"); ok && name != "" {
			if bad := checkArgument(header.Values(headerParam+name), headerParam+name, value); bad != nil {
				return bad
			}
		}
		if bad := checkProperties(header, value, property, depth+1); bad != nil {
			return bad
		}
	}
	return nil
}

// checkArgument compares the header of an argument with the argument, which is nil if it is missing, and returns the refusal or nil.
func checkArgument(values []string, name string, argument []byte) *Refusal {
	if string(argument) == "null" {
		argument = nil
	}
	switch {
	case len(values) > 1:
		return mismatch("%s is there more than once", name)
	case len(values) == 0 && argument == nil:
		return nil
	case len(values) == 0:
		return mismatch("%s is missing", name)
	}
	value, ok := decodeHeaderValue(values[0])
	switch {
	case !ok:
		return mismatch("%s is neither plain ASCII nor valid Base64 between =?base64? and ?=", name)
	case argument == nil:
		return mismatch("%s is there, the argument is not", name)
	case argument[0] == '"' && value == string(rawjson.Unquote(nil, argument)),
		argument[0] != '"' && sameNumber(value, string(argument)):
		return nil
	}
	return mismatch("%s does not match the argument", name)
}

// sameNumber reports whether two texts are the same number (42.0 is 42) or the same text. Numbers with an exponent are compared as text:
// expanding one can take any amount of memory.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	if len(a) > 64 || len(b) > 64 || strings.ContainsAny(a+b, "eExX/_pP") {
		return false
	}
	x, ok := new(big.Rat).SetString(a)
	if !ok {
		return false
	}
	y, ok := new(big.Rat).SetString(b)
	return ok && x.Cmp(y) == 0
}
