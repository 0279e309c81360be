package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A route holds what the path of a request tells before its body is read.
type route struct {
	up    *upstream
	below string // the path below the upstream's name, escaped as received, beginning with '/' or empty
	// model is true when the body is a request to a model in the dialect; the other fields
	// mean nothing when it is false.
	model   bool
	dialect wire.Dialect
	// name is the name of the model when the path holds it, else "" (the body does).
	name   string
	stream bool // the path asks for a stream
	// unnamed is true when the path names no maker of the model: only the body shows whether it is in the dialect.
	unnamed bool
	// request numbers the requests to models, 0 for others.
	request uint64
	asked   string // the model of the request, once that was read
}

// rawPath returns the escaped path of r, byte for byte as it was received. If a mux has rewritten the URL, it is the new path.
func rawPath(r *http.Request) string {
	raw, _, _ := strings.Cut(r.RequestURI, "?")
	if raw == r.URL.Path {
		return raw
	}
	if p, err := url.PathUnescape(raw); err == nil && p == r.URL.Path {
		return raw
	}
	return r.URL.EscapedPath()
}

// classify sets the fields that the method and the path below the upstream's name determine. A path that it does not recognise is no model
// request, and model stays false.
func (rt *route) classify(method string) {
	if method != http.MethodPost {
		return
	}
	below := strings.TrimSuffix(rt.below, "/")
	for d := range wire.Dialects {
		of := &d.Rules().Route
		head, ok := strings.CutSuffix(below, "/"+of.Path)
		switch {
		case of.Path == "" || !ok:
			continue
		case of.Deployment:
			if name, ok := deploymentName(head); ok {
				rt.name = name
			}
		case !isAPIRoot(head):
			return
		}
		rt.model, rt.dialect = true, d
		return
	}
	rt.classifyModelPath(cutLast(below))
}

// isAPIRoot reports whether an API can begin below the path head: nothing, or a path that ends in a version or in a mount that providers
// use. Collections whose objects have messages or responses of their own (/v1/threads/T/messages) cannot.
func isAPIRoot(head string) bool {
	_, last := cutLast(head)
	switch last {
	case "", "api", "openai", "anthropic", "codex":
		return true
	}
	return isVersion(last)
}

// publishers are the makers of models at Vertex and the dialects of their models there.
var publishers = map[string]wire.Dialect{
	"anthropic": wire.Messages,
	"mistralai": wire.Chat, "meta": wire.Chat, "deepseek-ai": wire.Chat, "qwen": wire.Chat, "openai": wire.Chat,
}

// classifyModelPath sets the fields by a path that names the model: Gemini's models/M:generateContent, Vertex's
// publishers/P/models/M:rawPredict and Bedrock's model/ID/invoke. last is the path's last element, head the path before it. For any other
// path it changes nothing.
func (rt *route) classifyModelPath(head, last string) {
	up, name := cutLast(head)
	if model, method, ok := cutMethod(last); ok {
		if name != "models" && name != "tunedModels" && name != "endpoints" {
			return
		}
		switch method {
		case "rawPredict", "streamRawPredict":
			_, publisher := cutLast(up)
			rt.dialect = publishers[publisher]
			rt.model = rt.dialect != 0 && model != "count-tokens"
			rt.stream = method == "streamRawPredict"
		default:
			for d := range wire.Dialects {
				if stream, ok := d.Rules().Route.Methods[method]; ok {
					rt.model, rt.dialect, rt.stream = true, d, stream
				}
			}
		}
		rt.name = unescape(model)
		return
	}
	if _, collection := cutLast(up); collection != "model" {
		return
	}
	// Invoke takes what the model's maker defined, which for Anthropic is the Messages dialect.
	switch last {
	case "invoke", "invoke-with-response-stream":
		id := unescape(name)
		// An inference profile of one's own is an ARN with a number.
		if rt.unnamed = strings.HasPrefix(id, "arn:") && !strings.Contains(id, "anthropic."); rt.unnamed || strings.Contains(id, "anthropic.") {
			rt.model, rt.dialect, rt.name = true, wire.Messages, id
			rt.stream = last != "invoke"
		}
		return
	}
	for d := range wire.Dialects {
		if stream, ok := d.Rules().Route.Verbs[last]; ok {
			rt.model, rt.dialect, rt.stream, rt.name = true, d, stream, unescape(name)
		}
	}
}

// cutLast splits "/a/b/c" into "/a/b" and "c". Without a slash head is "".
func cutLast(path string) (head, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// cutMethod splits "gemini-2.5-pro:generateContent"; some clients escape the colon. ok is false without one.
func cutMethod(element string) (model, method string, ok bool) {
	if i := strings.LastIndexByte(element, ':'); i > 0 {
		return element[:i], element[i+1:], true
	}
	for _, colon := range []string{"%3A", "%3a"} {
		if i := strings.LastIndex(element, colon); i > 0 {
			return element[:i], element[i+len(colon):], true
		}
	}
	return "", "", false
}

// deploymentName returns the name D of a path …/openai/deployments/D of Azure's; false for any other path.
func deploymentName(path string) (string, bool) {
	up, name := cutLast(path)
	_, collection := cutLast(up)
	return unescape(name), collection == "deployments" && name != ""
}

// unescape decodes the %XX in s; s itself if one is invalid.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// scope returns the identity under which a credential's conversations are stored and found: the HMAC of who under the store's secret, or,
// without a store, under one that lasts as long as the Proxy.
func (p *Proxy) scope(who string) (s checkpoint.Scope) {
	if p.o.Store != nil {
		return p.o.Store.Scope([]byte(who))
	}
	m := hmac.New(sha256.New, p.secret[:])
	m.Write([]byte(who))
	copy(s[:], m.Sum(nil))
	return s
}

// credential returns the client's credential, "" if it sends none. It separates the client's conversations from those of others and is only
// ever hashed. Of a signature of AWS it is the name of the key.
func credential(h http.Header, query string) string {
	for _, name := range credentialHeaders {
		v := h[name]
		if len(v) == 0 || v[0] == "" {
			continue
		}
		if key, ok := awsKey(v[0]); ok {
			return key // the rest of a signature is new with every request
		}
		return v[0]
	}
	for pair := range strings.SplitSeq(query, "&") {
		if key, ok := strings.CutPrefix(pair, "key="); ok {
			return key
		}
	}
	return ""
}

// awsKey returns the id of the access key in "AWS4-HMAC-SHA256 Credential=KEY/DATE/…, …"; false for another header.
func awsKey(authorization string) (string, bool) {
	_, rest, ok := strings.Cut(authorization, "Credential=")
	if !ok || !strings.HasPrefix(authorization, "AWS4-") {
		return "", false
	}
	key, _, ok := strings.Cut(rest, "/")
	return key, ok
}
