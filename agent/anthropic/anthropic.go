package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// DefaultURL is the address of Anthropic's own service.
const DefaultURL = "https://api.anthropic.com"

// Options configure a Model. Model is required, and Key at DefaultURL.
type Options struct {
	BaseURL string // without the version; default: DefaultURL
	Key     string // sent as x-api-key; "" sends none. No environment variable stands in for it
	Model   string
	// Provider is whose service it is, as package window/models calls it. Default: by BaseURL.
	Provider string
	// HTTPClient makes the requests; its redirects are not followed, its Timeout is not used.
	// Default: one that uses the proxies of the environment, as Go programs do.
	HTTPClient *http.Client
	Header     map[string]string // sent with each request; their values are never shown
	// Extra are further members of each request: temperature, output_config, …
	Extra map[string]json.RawMessage
	// Thinking bounds the model's thoughts, in tokens: 0 leaves it to the service, at least
	// 1024 is a budget, negative is as much as the model sees fit ("adaptive").
	Thinking  int
	Standin   bool // no real model
	Window    int  // tokens; 0 goes by window/models
	MaxOutput int  // tokens; 0 goes by window/models
	// Patience bounds the silence before the first word (5 min), Silence that
	// after it (1 min). Anthropic itself sends a sign of life every few seconds.
	Patience, Silence time.Duration
}

// minThinking is the smallest budget that Anthropic takes, in tokens.
const minThinking = 1024

// Model is an agent.Model. Its methods may be called from any goroutine.
type Model struct {
	o        Options
	output   int // tokens that are asked for when a request names none
	endpoint *modelapi.Endpoint
}

// New makes a Model. It asks nothing of the service.
func New(o Options) (*Model, error) {
	if o.Thinking > 0 && o.Thinking < minThinking {
		return nil, fmt.Errorf("the option Thinking is %d tokens; a budget is at least %d", o.Thinking, minThinking)
	}
	e, err := modelapi.Service{
		BaseURL: o.BaseURL, Default: DefaultURL, Tails: []string{"/messages", "/v1"}, Key: o.Key, KeyHeader: "X-Api-Key", Own: map[string]string{"Anthropic-Version": version},
		Header: o.Header, Extra: o.Extra, Model: o.Model, Provider: o.Provider, Window: o.Window, MaxOutput: o.MaxOutput, Standin: o.Standin,
		Dialect: wire.Messages, Client: o.HTTPClient, Patience: o.Patience, Silence: o.Silence,
	}.Endpoint()
	if err != nil {
		return nil, err
	}
	o.Provider = e.Info().Provider
	return &Model{o: o, output: maxOutput(o), endpoint: e}, nil
}

// version is the protocol version that each request names.
const version = "2023-06-01"

// usualOutput is the limit sent when a request names none, which this protocol demands;
// unknownOutput where nobody knows what the model gives. In tokens.
const (
	defaultOutput = 16_384
	unknownOutput = 8_192
)

// maxOutput returns the tokens of output to ask for where the request says nothing: what the options or the catalogue name for the model,
// but at most defaultOutput; unknownOutput if neither names any.
func maxOutput(o Options) int {
	if o.MaxOutput > 0 {
		return min(o.MaxOutput, defaultOutput)
	}
	if w, ok := models.Lookup(o.Provider, o.Model, nil); ok && w.Output > 0 {
		return min(w.Output, defaultOutput)
	}
	return unknownOutput
}

// Info describes the model.
func (m *Model) Info() agent.ModelInfo { return m.endpoint.Info() }

// Generate makes one request, see agent.Model.
func (m *Model) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	var names modelapi.Names
	names.Learn(r)
	encode := func() ([]byte, error) { return m.request(r) }
	return m.endpoint.Generate(ctx, "v1/messages", encode, func(x *modelapi.Exchange) modelapi.Reader {
		return &answer{x: x, names: &names, text: text, strict: m.o.Provider == "anthropic"}
	})
}
