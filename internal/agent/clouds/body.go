package clouds

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// original reads the body of a request of package anthropic: its model, and all else with version in the place of model and stream.
func original(r *http.Request, version string) (model string, body []byte, err error) {
	model, members, err := read(r)
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

// read reads the members of such a body, without model and stream.
func read(r *http.Request) (model string, members map[string]json.RawMessage, err error) {
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

// withBody returns the request with another body and the path behind base; both are as they are to be sent.
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
