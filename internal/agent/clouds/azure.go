package clouds

import (
	"net/http"
	"net/url"
	"strings"
)

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

func unescaped(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
