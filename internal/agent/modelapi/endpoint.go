package modelapi

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/plimsoll/plimsoll/window/models"
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

// A Service holds a user's settings of a model's service, whatever its protocol.
type Service struct {
	BaseURL, Default string   // Default is that of the model's maker, who demands a key
	Tails            []string // of the address of a request, which somebody may have copied for the base of it
	Key              string
	KeyHeader        string            // in which the key is sent, behind KeyPrefix
	KeyPrefix        string            //
	Own              map[string]string // headers of the protocol
	Header           map[string]string // the user's
	Extra            map[string]json.RawMessage
	Model, Provider  string
	Window           int
	MaxOutput        int
	Standin          bool
	Dialect          wire.Dialect
	Client           *http.Client
	// Patience and Silence are as in Options.
	Patience, Silence time.Duration
}

// Endpoint checks what the user has said, and returns the service. It makes no connection.
func (s Service) Endpoint() (*Endpoint, error) {
	official := s.BaseURL == ""
	base := cmp.Or(strings.TrimRight(strings.TrimSpace(s.BaseURL), "/"), s.Default)
	for _, tail := range s.Tails {
		base = strings.TrimSuffix(base, tail)
	}
	key, provider := strings.TrimSpace(s.Key), strings.ToLower(strings.TrimSpace(s.Provider))
	switch {
	case s.Model == "":
		return nil, errors.New("no model is named; set Model")
	case official && key == "":
		return nil, fmt.Errorf("no key for %s; set Key, or BaseURL to a service that needs none", s.Default)
	case s.Window < 0 || s.MaxOutput < 0:
		return nil, fmt.Errorf("the options Window %d and MaxOutput %d are tokens, and not negative; 0 goes by the model", s.Window, s.MaxOutput)
	}
	for name, value := range s.Extra {
		if !json.Valid(value) {
			return nil, fmt.Errorf("the option Extra[%q] is not JSON", name)
		}
	}
	if err := checkHeader(key, s.Header); err != nil {
		return nil, err
	}
	e, err := New(Options{
		URL: base, Dialect: s.Dialect, Secrets: secretsOf(key, s.Header), Client: s.Client, Patience: s.Patience, Silence: s.Silence,
		Info: agent.ModelInfo{
			Provider: cmp.Or(models.Provider(provider), provider, models.Provider(base)), Name: s.Model, Window: s.Window, MaxOutput: s.MaxOutput, Standin: s.Standin,
		},
	})
	if err != nil {
		return nil, err
	}
	e.headers = []map[string]string{s.Own, nil, s.Header}
	if key != "" {
		e.headers[1] = map[string]string{s.KeyHeader: s.KeyPrefix + key}
	}
	return e, nil
}

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
	headers           []map[string]string // of each request; a later one of the same name wins
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
	e.secrets = secretReplacer(secrets)
	e.info = o.Info
	e.info.URL = e.sanitize(shown) // some gateways have keys in the path
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	} else {
		client.Transport = newTransport()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	// A limit on the whole exchange would cut long answers; Patience and Silence end it.
	client.Timeout = 0
	e.client = &client
	return e, nil
}

// newTransport returns the transport to models. It gives up connecting after 15 seconds, keeps few idle connections, and uses the forward
// proxy where one is set.
func newTransport() *http.Transport {
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

// A Reader reads one answer in its protocol.
type Reader interface {
	Stream(*Answer) error // of events
	Whole(*Answer) error
	Reply(model string) (*agent.Reply, error)
}

// Generate makes one request: it posts what encode returns to a path, and has the answer read.
func (e *Endpoint) Generate(ctx context.Context, path string, encode func() ([]byte, error), read func(*Exchange) Reader) (*agent.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := e.Begin(ctx)
	defer x.Close()
	body, err := encode()
	if err != nil {
		return nil, x.Failure(err)
	}
	a, err := x.Post(path, body)
	if err != nil {
		return nil, err
	}
	got := read(x)
	if a.Whole {
		err = got.Whole(a)
	} else {
		err = got.Stream(a)
	}
	if err != nil {
		return nil, x.Failure(err)
	}
	return got.Reply(e.info.Name)
}

// Info returns the model and its address.
func (e *Endpoint) Info() agent.ModelInfo { return e.info }

// Shown returns an address without its secrets: without user, password, query and fragment.
func Shown(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return cleanLine(plain.String())
}
