package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
)

// Provider is the family of protocols an upstream speaks. It decides how its URL is read,
// where an injected key goes and which of its paths count tokens for free; which requests
// are model requests is decided by the path alone, so an upstream may speak several.
type Provider string

// The providers.
const (
	OpenAI    Provider = "openai"
	Anthropic Provider = "anthropic"
	Gemini    Provider = "gemini"
	Vertex    Provider = "vertex"
	Azure     Provider = "azure"
	Bedrock   Provider = "bedrock"
)

// Upstream is one provider behind the proxy, reached under /NAME/.
type Upstream struct {
	// Name is the path element that selects it: letters, digits, '-', '_' and '.'.
	Name string
	// Provider defaults to Name when that is one of the constants, else to OpenAI.
	Provider Provider
	// URL is the base as the provider's own client libraries take it: OpenAI's ends in
	// /v1, Anthropic's and Gemini's do not. It holds no query and no credential.
	URL string
	// KeyEnv names the environment variable that holds a key to use in place of the
	// client's own. Empty: the client's credential passes through. A Proxy with such an
	// upstream demands a token.
	KeyEnv string
	// AWS signs requests anew, which Bedrock needs because its signature covers the host.
	AWS *AWS
}

// AWS holds the credentials that requests to Bedrock are signed with.
type AWS struct {
	Credentials aws.CredentialsProvider
	Region      string
	Service     string // "bedrock" when empty
	// Bearer leaves a request with a bearer key as it is: the key is for no host, and the client's own.
	Bearer bool
}

// DefaultUpstreams returns the public endpoints of the three providers most clients use.
func DefaultUpstreams() []Upstream {
	return []Upstream{
		{Name: "openai", Provider: OpenAI, URL: "https://api.openai.com/v1"},
		{Name: "anthropic", Provider: Anthropic, URL: "https://api.anthropic.com"},
		{Name: "gemini", Provider: Gemini, URL: "https://generativelanguage.googleapis.com"},
	}
}

// An upstream is an Upstream that was checked, with its URL parsed and its key read.
type upstream struct {
	Upstream
	base *url.URL // path without a slash at its end
	key  string
}

// newUpstream checks u and returns it ready for use. Errors never hold the key or the URL's user information.
func newUpstream(u Upstream) (*upstream, error) {
	if u.Name == "" || strings.Trim(u.Name, nameBytes) != "" {
		return nil, fmt.Errorf("upstream %q: the name must be letters, digits, '-', '_' or '.'", u.Name)
	}
	switch u.Provider {
	case OpenAI, Anthropic, Gemini, Vertex, Azure, Bedrock:
	case "":
		u.Provider = OpenAI
		if p := Provider(u.Name); slices.Contains([]Provider{Anthropic, Gemini, Vertex, Azure, Bedrock}, p) {
			u.Provider = p
		}
	default:
		return nil, fmt.Errorf("upstream %s: there is no provider %q; use openai, anthropic, gemini, vertex, azure or bedrock", u.Name, u.Provider)
	}
	base, err := url.Parse(u.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("upstream %s: the URL cannot be read; it looks like https://HOST or https://HOST/v1", u.Name)
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("upstream %s: %q is no http or https URL with a host", u.Name, base.Redacted())
	case base.User != nil:
		return nil, fmt.Errorf("upstream %s: a URL with a user name or password is refused, it would be printed in reports; name the variable that holds the key", u.Name)
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("upstream %s: the URL of %s has a query or a fragment; give the base only", u.Name, base.Host)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = strings.TrimRight(base.RawPath, "/")
	up := &upstream{Upstream: u, base: base}
	if u.KeyEnv != "" {
		if up.key = os.Getenv(u.KeyEnv); up.key == "" {
			return nil, fmt.Errorf("upstream %s: the variable %s, which should hold its key, is empty", u.Name, u.KeyEnv)
		}
		if strings.ContainsFunc(up.key, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, fmt.Errorf("upstream %s: the key in %s holds a character that no header can carry (a line break at its end?)", u.Name, u.KeyEnv)
		}
	}
	if u.AWS != nil && (u.AWS.Credentials == nil || u.AWS.Region == "") {
		return nil, fmt.Errorf("upstream %s: signing needs AWS credentials and a region", u.Name)
	}
	return up, nil
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// target returns the URL at the upstream for a path below its name and a query, both escaped as received. The error is a broken escape.
//
// Where the base stands depends on what the provider's clients take as base URL: /NAME/v1 for OpenAI, /NAME for the others. A base that
// ends in the version the path begins with (a common slip) does not get it twice.
func (u *upstream) target(below, query string, forceQuery bool) (*url.URL, error) {
	if first, rest, _ := cutElement(below); first != "" {
		base := u.base.EscapedPath()
		if u.Provider == OpenAI && first == "v1" || isVersion(first) && strings.HasSuffix(base, "/"+first) {
			below = rest
		}
	}
	raw := u.base.EscapedPath() + below
	path, err := url.PathUnescape(raw)
	if err != nil {
		return nil, errors.New("the path has a broken % escape")
	}
	t := &url.URL{Scheme: u.base.Scheme, Host: u.base.Host, Path: path, RawPath: raw, RawQuery: query, ForceQuery: forceQuery}
	if t.EscapedPath() != raw && raw != "" && raw[0] == '/' && !strings.HasPrefix(raw, "//") {
		t.Opaque = raw // bytes that net/url would escape on the way out, such as '{'
	}
	return t, nil
}

// cutElement splits "/a/b/c" into "a" and "/b/c". ok is false for a path that does not begin with a slash.
func cutElement(path string) (element, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "/")
	if !ok {
		return "", "", false
	}
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:], true
	}
	return path, "", true
}

// isVersion reports whether s is a version of an API: v1, v1beta, v1alpha, v2.
func isVersion(s string) bool {
	return len(s) >= 2 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9'
}

// credentialHeaders are the headers in which clients send their credentials.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// injectKey puts the configured key, if there is one, where the provider looks for it, and removes every credential of the client from h
// and from the query of t: two keys of two owners in one request would be told to a provider who should know one of them.
func (u *upstream) injectKey(h http.Header, t *url.URL) {
	if u.key == "" {
		return
	}
	for _, name := range slices.Concat(credentialHeaders, signed) {
		delete(h, name)
	}
	if t.RawQuery != "" && strings.Contains(t.RawQuery, "key=") {
		var kept []string
		for pair := range strings.SplitSeq(t.RawQuery, "&") {
			if !strings.HasPrefix(pair, "key=") {
				kept = append(kept, pair)
			}
		}
		t.RawQuery = strings.Join(kept, "&")
	}
	switch u.Provider {
	case Anthropic:
		h["X-Api-Key"] = []string{u.key}
	case Gemini:
		h["X-Goog-Api-Key"] = []string{u.key}
	case Azure:
		h["Api-Key"] = []string{u.key}
	default:
		h["Authorization"] = []string{"Bearer " + u.key}
	}
}

// modelsName returns the upstream's name in package models: PROVIDER+URL.
func (up *upstream) modelsName() string { return string(up.Provider) + "+" + up.base.String() }

// server returns the upstream's host and port; the port is left out if it is the default of https.
func (u *upstream) server() string {
	if u.base.Scheme == "http" && u.base.Port() == "" {
		return u.base.Host + ":80"
	}
	return u.base.Host
}

// Limits of [NewTransport].
const (
	ConnectTimeout  = 15 * time.Second
	MaxConnsPerHost = 512
	idlePerHost     = 64
	idleConns       = 256
	idleFor         = 90 * time.Second
	pingAfter       = 30 * time.Second
	pingTimeout     = 15 * time.Second
)

// NewTransport returns the transport to the upstreams: HTTP/2 where they speak it, the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name
// (as they are now; see [forwardproxy.Use]), connections kept for reuse. It adds nothing to a request and takes no content encoding off an
// answer. Connecting and TLS have a time limit, an answer has none.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: ConnectTimeout, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if tcp, ok := c.(*net.TCPConn); ok {
				c = bodyConn{tcp}
			}
			return c, err
		},
		TLSHandshakeTimeout:   ConnectTimeout,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxConnsPerHost:       MaxConnsPerHost,
		MaxIdleConns:          idleConns,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       idleFor,
		// A model that thinks sends nothing for minutes; a ping tells that from a dead
		// connection, over which all requests to that host would hang.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	forwardproxy.Use(t)
	return t
}

// A bodyConn writes a body that is in memory without a copy. net/http would copy it, 32 KB at a time.
type bodyConn struct{ *net.TCPConn }

// ReadFrom is called by net/http to send a body where there is no TLS.
func (c bodyConn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if held, ok := l.R.(*heldReader); ok {
			n, err := held.writeTo(c.TCPConn, l.N)
			l.N -= n
			return n, err
		}
	}
	return c.TCPConn.ReadFrom(r)
}
