package delegate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/limit"
)

// maxBody bounds an answer that is not a stream of events and is held in memory. The SDK bounds each event by itself.
const maxBody = 16 * limit.MiB

// gate is a RoundTripper that sends requests to the agent's own origin with its header and transport, and all others only to addresses that
// are allowed.
type gate struct {
	home           *url.URL
	header         http.Header
	own, elsewhere http.RoundTripper
}

func newGate(home *url.URL, o *Options) *gate {
	g := &gate{home: home, header: o.Header, own: o.Transport, elsewhere: a2a.PublicTransport(o.Allow, o.Hosts)}
	if g.own == nil {
		g.own = http.DefaultTransport
	}
	return g
}

// isOwnOrigin reports whether a URL has the scheme, host and port of the agent's own URL.
func (g *gate) isOwnOrigin(u *url.URL) bool {
	return u.Scheme == g.home.Scheme && strings.EqualFold(u.Hostname(), g.home.Hostname()) && portOf(u) == portOf(g.home)
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// RoundTrip implements http.RoundTripper. A status that asks for a credential, and a redirect, are errors.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	way := g.elsewhere
	if g.isOwnOrigin(r.URL) {
		way = g.own
		r = r.Clone(r.Context())
		maps.Copy(r.Header, g.header)
	}
	resp, err := way.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the agent wants another credential (%s): token names the variable that holds it", resp.Status)
	case code >= 300 && code < 400:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the agent is somewhere else (%s), and redirects are not followed: write its new address", resp.Status)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: int64(maxBody)}
	}
	return resp, nil
}

func (g *gate) closeIdle() {
	if t, ok := g.elsewhere.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// boundedBody is a body whose Read fails with errTooLarge after left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

var errTooLarge = errors.New("the agent's answer is larger than " + maxBody.Human())

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if int64(n) > b.left {
		return int(b.left), errTooLarge
	}
	b.left -= int64(n)
	return n, err
}
