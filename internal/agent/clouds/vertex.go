package clouds

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Vertex is a transport for packages gemini and anthropic, whose Options.BaseURL is [VertexURL] and which need no Key.
type Vertex struct {
	Project, Location string
	Token             func(context.Context) (string, error)
	// Next sends the request; nil is http.DefaultTransport.
	Next http.RoundTripper
}

// VertexURL returns the address of Vertex AI in a location, "global" or one like "europe-west1".
func VertexURL(location string) string {
	if location == "global" {
		return "https://aiplatform.googleapis.com"
	}
	return "https://" + location + "-aiplatform.googleapis.com"
}

// The version of Anthropic's API that Vertex AI speaks.
const vertexAnthropic = "vertex-2023-10-16"

// RoundTrip implements http.RoundTripper.
func (v Vertex) RoundTrip(r *http.Request) (*http.Response, error) {
	place := fmt.Sprintf("/v1/projects/%s/locations/%s/publishers/", url.PathEscape(v.Project), url.PathEscape(v.Location))
	var out *http.Request
	if base, ok := strings.CutSuffix(r.URL.EscapedPath(), "/v1/messages"); ok {
		model, body, err := original(r, vertexAnthropic)
		if err != nil {
			return nil, err
		}
		out = withBody(r, base, place+"anthropic/models/"+url.PathEscape(model)+":streamRawPredict", "", streaming(body))
	} else {
		base, model, ok := strings.Cut(r.URL.EscapedPath(), "/v1beta/models/")
		if !ok {
			return nil, fmt.Errorf("vertex: no path for %s", r.URL.EscapedPath())
		}
		out = withBody(r, base, place+"google/models/"+model, r.URL.RawQuery, nil)
	}
	token, err := v.Token(r.Context())
	if err != nil {
		if out.Body != nil {
			_ = out.Body.Close()
		}
		return nil, err
	}
	out.Header.Set("Authorization", "Bearer "+token)
	return transportOr(v.Next).RoundTrip(out)
}

// streaming puts the member that asks for a stream back: Vertex AI wants it, Bedrock refuses it.
func streaming(body []byte) []byte {
	return append([]byte(`{"stream":true,`), body[1:]...)
}
