// Package argocd is a client of the API of Argo CD that holds one object at a time. Package toolset builds the MCP tools on it.
//
//	c, err := argocd.New(argocd.Options{Name: "prod", URL: "argocd.example.com", Token: argocd.FileToken(path)})
//	info, err := c.List(ctx, argocd.Applications, q, func(item []byte) error { … })
//	app, err := c.Get(ctx, []string{"applications", name}, nil)
//
// Argo CD has no pages: a list is one answer of any size, is taken apart as it comes, and is valid only if it was complete JSON to its last byte.
// Errors are [*Error]s with a kind and a hint, without credentials and control characters; no redirect takes the token to another origin. Only GET
// and [Client.Ask] are repeated, as long as no answer has begun: without a connection, on 429, 502, 503 and 504. [Client.As] asks with another
// user's token, so that the rules of Argo CD decide what is seen. [Discover] finds server and token where the argocd CLI has them.
//
// A call holds its largest object so far (64 KiB at least, at most [Options].MaxObject) and about 50 KiB for gzip; an object nests at most 1000
// deep. A Client may be used by many goroutines; a function that is given to List, Elements or Stream is called by the goroutine of that call, and a
// slow one slows the server down.
package argocd

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Defaults of Options.
const (
	DefaultTimeout   = 60 * time.Second
	DefaultMaxObject = 16 * limit.MiB
	DefaultRetries   = 3
)

// Options configure a [Client]. Printing them shows no credential.
type Options struct {
	// Name is the user's name for the instance; "" means the host in URL.
	Name string
	// URL is https://HOST[:PORT][/ROOTPATH]; without a scheme it is https. With http:// the connection is not encrypted.
	URL string
	// Token returns the bearer token. It is called for each request, so the token may change; nil means no token. [StaticToken],
	// [FileToken] and [CommandToken] return such functions.
	Token func(ctx context.Context) (string, error)
	// Header is set on every request.
	Header http.Header
	// CAFile, CertFile and KeyFile are PEM files: authorities to trust in addition to the
	// system's, and a client certificate with its key. CAData, CertData and KeyData are the
	// same as bytes, which are used if there is no file.
	CAFile, CertFile, KeyFile string
	CAData, CertData, KeyData []byte
	// Insecure accepts any certificate of the server.
	Insecure bool
	// ServerName is the name that the certificate must have; "" means the URL's host.
	ServerName string
	// Timeout bounds the wait for the first byte of an answer, and each pause in a body; 0 means [DefaultTimeout]. A whole body is only
	// bounded by the context of its call.
	Timeout time.Duration
	// MaxObject bounds one object of a list, and an answer that is one object; 0 means [DefaultMaxObject].
	MaxObject limit.Bytes
	// Retries bounds how often a call that changes nothing is repeated when there is no connection, or on status 429, 502, 503 and 504; 0
	// means [DefaultRetries], below 0 means never.
	Retries int
	// UserAgent is the header User-Agent; "" means plimsoll.
	UserAgent string
}

// Format implements [fmt.Formatter]: for every verb it shows neither headers nor keys.
func (o Options) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "{Argo CD %s %s}", o.Name, withoutUserinfo(o.URL))
}

// shared is the state that a Client shares with the Clients that As has made from it.
type shared struct {
	o      Options
	base   *url.URL
	http   *http.Client
	salt   []byte // for the digests in Who
	sleep  func(ctx context.Context, d time.Duration) error
	header http.Header

	mu           sync.Mutex
	version      Version
	versionUntil time.Time
}

// Client talks to one Argo CD server as one user. It may be used by many goroutines.
type Client struct {
	shared *shared
	token  func(ctx context.Context) (string, error)
	user   bool // the Client was made by As
	who    string
}

// New returns a Client. It opens no connection; files of certificates are read now. The error is for an invalid URL or certificate.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Name = safeText(o.Name, 200); o.Name == "" {
		o.Name = base.Host
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.MaxObject = cmp.Or(max(o.MaxObject, 0), DefaultMaxObject)
	o.Retries = cmp.Or(o.Retries, DefaultRetries)
	o.UserAgent = cmp.Or(o.UserAgent, "plimsoll")
	transport, err := newTransport(o)
	if err != nil {
		return nil, fmt.Errorf("argocd: instance %s: %w", o.Name, err)
	}
	o.URL = strings.TrimSuffix(base.String(), "/")
	s := &shared{o: o, base: base, salt: make([]byte, 16), sleep: sleep, header: o.Header.Clone()}
	_, _ = rand.Read(s.salt) // never fails
	s.http = &http.Client{Transport: transport, CheckRedirect: s.redirect}
	return &Client{shared: s, token: o.Token, who: o.Name + "#own"}, nil
}

// parseBase parses the URL of a server as people write it: also without a scheme, or copied from a browser.
func parseBase(text string) (*url.URL, error) {
	const form = "write https://HOST[:PORT][/ROOTPATH]"
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, fmt.Errorf("argocd: no URL of a server; %s", form)
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	shown, _, _ := strings.Cut(safeText(text, 200), "?") // a query may hold a token
	u, err := url.Parse(text)
	switch {
	case err != nil: // its text contains the URL
		return nil, fmt.Errorf("argocd: %q is no URL; %s", shown, form)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("argocd: the URL %q has the scheme %q; %s", shown, u.Scheme, form)
	case u.Hostname() == "":
		return nil, fmt.Errorf("argocd: the URL %q has no host; %s", shown, form)
	case u.User != nil:
		return nil, fmt.Errorf("argocd: the URL %q has a user in it; use a token, or a header for a proxy in front", shown)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("argocd: the URL %q has a query or a fragment; %s", shown, form)
	}
	// People copy the URL from a browser or from the documentation of the API.
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimSuffix(path, "/api/v1")
	path = strings.TrimRight(strings.TrimSuffix(path, "/applications"), "/")
	u.RawPath = path
	if u.Path, err = url.PathUnescape(path); err != nil {
		return nil, fmt.Errorf("argocd: the path of the URL %q is not readable; %s", shown, form)
	}
	return u, nil
}

// Name returns the user's name for the instance.
func (c *Client) Name() string { return c.shared.o.Name }

// URL returns the base URL without a trailing slash, for links.
func (c *Client) URL() string { return c.shared.o.URL }

// As returns a Client for the same server with a user's own token; "" means without a token. It shares connections with c, and does not
// send those headers of Options that are credentials.
func (c *Client) As(token string) *Client {
	token = bearer(token)
	mac := hmac.New(sha256.New, c.shared.salt)
	_, _ = io.WriteString(mac, token) // never fails
	who := c.Name() + "#" + hex.EncodeToString(mac.Sum(nil)[:16])
	return &Client{shared: c.shared, token: StaticToken(token), user: true, who: who}
}

// Who returns the name with a digest of the user's token: equal for the same user, different for two users. It is only valid within this
// process, and does not reveal the token.
func (c *Client) Who() string { return c.who }

// Insecure reports whether an attacker on the network could pose as the server: certificates are not verified, or the connection is not
// encrypted.
func (c *Client) Insecure() bool {
	return c.shared.o.Insecure || c.shared.base.Scheme == "http"
}

// Close closes idle connections. Running calls end with their context. For a Client made by As it does nothing.
func (c *Client) Close() {
	if !c.user {
		c.shared.http.CloseIdleConnections()
	}
}

// Format implements [fmt.Formatter]: for every verb it only shows name and URL.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Argo CD %s at %s", c.Name(), c.URL())
}

// sleep waits for d, or until ctx ends, and then returns its cause.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
