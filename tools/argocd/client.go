package argocd

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Options configure a [Client].
type Options struct {
	Name                      string
	URL                       string
	Token                     func(ctx context.Context) (string, error)
	Header                    http.Header
	CAFile, CertFile, KeyFile string
	Insecure                  bool
	ServerName                string
	Timeout                   time.Duration
	MaxObject                 limit.Bytes
	Retries                   int
	UserAgent                 string
}

// Client talks to one Argo CD server.
type Client struct{ o Options }

// Version is the version of a server.
type Version struct {
	Major, Minor, Patch int
	Text                string
}

// New makes a Client. It opens no connection.
func New(o Options) (*Client, error) { return &Client{o: o}, nil }

// Name is what people call the instance.
func (c *Client) Name() string { return c.o.Name }

// URL is the base without a trailing slash.
func (c *Client) URL() string { return c.o.URL }

// As gives the same server with a user's own token.
func (c *Client) As(token string) *Client { return c }

// Who is the name and a digest of the credential.
func (c *Client) Who() string { return c.o.Name }

// Insecure tells whether certificates are not verified, or the connection is plain text.
func (c *Client) Insecure() bool { return c.o.Insecure }

// Close closes idle connections.
func (c *Client) Close() {}

// Version asks the server for its version.
func (c *Client) Version(ctx context.Context) (Version, error) { return Version{}, errSoon }

// List reads a list.
func (c *Client) List(ctx context.Context, kind Kind, q Query, each func(item []byte) error) (ListInfo, error) {
	return ListInfo{}, errSoon
}

// Elements reads the elements of named arrays.
func (c *Client) Elements(ctx context.Context, path []string, query url.Values, arrays map[string]func(item []byte) error) ([]byte, error) {
	return nil, errSoon
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, path []string, query url.Values) ([]byte, error) {
	return nil, errSoon
}

// Call changes something.
func (c *Client) Call(ctx context.Context, method string, path []string, query url.Values, body []byte) ([]byte, error) {
	return nil, errSoon
}

// Stream reads a stream of results.
func (c *Client) Stream(ctx context.Context, path []string, query url.Values, each func(result []byte) error) error {
	return errSoon
}

var errSoon = &Error{Kind: Server, Message: "not there yet"}
