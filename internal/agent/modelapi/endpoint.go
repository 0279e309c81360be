package modelapi

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// MaxAnswer bounds the words of one answer: text, arguments of calls, thoughts. The
	// longest that a model may give today, 384,000 tokens, is about 1.5 MiB.
	MaxAnswer limit.Bytes = 16 << 20
	// MaxStream bounds the bytes of one answer as it comes. An event of one token is 200 to
	// 500 bytes long.
	MaxStream limit.Bytes = 512 << 20
	// MaxEvent bounds one event, and a line of it.
	MaxEvent limit.Bytes = 8 << 20
	// MaxCalls bounds the calls of one answer.
	MaxCalls = 4096
	// maxError bounds what is read of an error's body; internal/window/overflow reads as much.
	maxError = 64 << 10
)

// Bounds of an endpoint's silence. Models that think before they write are silent for
// minutes where their provider sends no sign of life; one that has begun is not.
const (
	DefaultPatience = 5 * time.Minute
	DefaultSilence  = time.Minute
)

// Options configure an Endpoint.
type Options struct {
	URL  string          // with what the provider's client puts paths behind
	Info agent.ModelInfo // URL is filled in
	// Dialect is the format of its answers.
	Dialect wire.Dialect
	// Secrets are texts that no error may hold, such as the key.
	Secrets []string
	Client  *http.Client // default: one of its own
	// Patience bounds the silence before the first word, Silence that after it. Pings and comments alone put that off until
	// Patience, and for half an hour before the first event and while the provider says that the model reasons.
	Patience, Silence time.Duration
}

// Endpoint is the service that is asked. Create it with New.
type Endpoint struct {
	info              agent.ModelInfo
	base              string // with user and password, where it has them
	secrets           *strings.Replacer
	client            *http.Client
	patience, silence time.Duration
	dialect           wire.Dialect
}

// New checks the address. It makes no connection.
func New(o Options) (*Endpoint, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		// The error of url.Parse repeats the address, which may hold a password.
		return nil, errors.New("the base URL is no URL; write it like https://host/v1")
	}
	shown := Shown(u)
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the base URL %q has no http:// or https:// and a host; write it like https://host/v1", shown)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the base URL %s has a query or a fragment, which would not be sent; send what it says as a header", shown)
	}
	e := &Endpoint{
		base: o.URL, patience: cmp.Or(max(o.Patience, 0), DefaultPatience), silence: cmp.Or(max(o.Silence, 0), DefaultSilence), dialect: o.Dialect,
	}
	secrets := o.Secrets
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets[:len(secrets):len(secrets)], password)
	}
	e.secrets = replacer(secrets)
	e.info = o.Info
	e.info.URL = e.sanitize(shown) // some gateways have keys in the path
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	} else {
		client.Transport = transport()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	// A limit on the whole exchange would cut long answers; Patience and Silence end it.
	client.Timeout = 0
	e.client = &client
	return e, nil
}

// transport gives up connections soon, and keeps few of them open.
func transport() *http.Transport {
	dialer := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	forwardproxy.Use(t)
	return t
}

// Info returns the model and its address.
func (e *Endpoint) Info() agent.ModelInfo { return e.info }

// Shown returns an address without its secrets: without user, password, query and fragment.
func Shown(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return clean(plain.String())
}
