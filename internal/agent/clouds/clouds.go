// Package clouds asks models where clouds have them: Azure OpenAI, Google's Vertex AI and Amazon Bedrock. Each is a transport for one of the
// adapters, which writes what the model's maker takes: it moves model, stream and version between body and path, sets the cloud's
// credentials, and makes events of Bedrock's frames. Models of other makers are asked by ConverseStream, which is written anew.
//
// [GoogleFile] and [GoogleMachine] get access tokens as Google's own libraries do: by a service account's key, by what gcloud left, or from
// the machine. They are kept until a minute before they end, and never shown. Frames and bodies that are read are bounded.
package clouds

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// convertAnthropic reads the body of a request of package anthropic. It returns its model, and the body with version as anthropic_version
// in place of model and stream.
func convertAnthropic(r *http.Request, version string) (model string, body []byte, err error) {
	model, members, err := readMembers(r)
	if err != nil {
		return "", nil, err
	}
	members["anthropic_version"], _ = json.Marshal(version)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(members); err != nil {
		return "", nil, err
	}
	return model, bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// readMembers reads and closes the body of a request of package anthropic. It returns its model and its other members, without stream.
func readMembers(r *http.Request) (model string, members map[string]json.RawMessage, err error) {
	raw, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(members["model"], &model); err != nil || model == "" {
		return "", nil, errors.New("the request names no model")
	}
	delete(members, "model")
	delete(members, "stream")
	return model, members, nil
}

// withBody returns a copy of the request for base and an escaped path below it, without the headers that package anthropic sends for its
// own service. body replaces the body unless it is nil.
func withBody(r *http.Request, base, path, query string, body []byte) *http.Request {
	out := r.Clone(r.Context())
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Anthropic-Version"} {
		out.Header.Del(name)
	}
	raw := strings.TrimSuffix(base, "/") + path
	out.URL.RawQuery = query
	out.URL.RawPath = raw
	out.URL.Path = unescaped(raw)
	if body != nil {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return out
}

// transportOr returns the transport below, or the usual one.
func transportOr(t http.RoundTripper) http.RoundTripper {
	if t == nil {
		return http.DefaultTransport
	}
	return t
}

// Azure is a transport for package openai, whose Options.BaseURL is the resource's endpoint and whose Model is the deployment.
type Azure struct {
	// Deployment is in the path where Version is given, else in the body as Options.Model.
	Deployment string
	// Version is the api-version, as "2024-10-21"; "" asks Azure's newer API, /openai/v1, which has none.
	Version string
	// Next sends the request; nil is http.DefaultTransport.
	Next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a Azure) RoundTrip(r *http.Request) (*http.Response, error) {
	base, _, _ := strings.Cut(strings.TrimSuffix(r.URL.EscapedPath(), "/chat/completions"), "/openai") // some copy more of the address
	path, query := "/openai/v1/chat/completions", ""
	if a.Version != "" {
		path = "/openai/deployments/" + url.PathEscape(a.Deployment) + "/chat/completions"
		query = url.Values{"api-version": {a.Version}}.Encode()
	}
	out := withBody(r, base, path, query, nil)
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		out.Header.Set("Api-Key", key)
	}
	return transportOr(a.Next).RoundTrip(out)
}

// unescaped returns a path with its percent escapes decoded; the path itself if one is invalid.
func unescaped(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
