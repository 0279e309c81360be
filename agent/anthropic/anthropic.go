package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/internal/modelapi"
	"github.com/plimsoll/plimsoll/window/models"
)

// DefaultURL is where Anthropic itself is asked.
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
	// Thinking is how many tokens the model may think: 0 leaves it to the service, at least
	// 1024 is a budget, negative is as much as the model sees fit ("adaptive").
	Thinking  int
	Standin   bool // no real model
	Window    int  // tokens; 0 goes by window/models
	MaxOutput int  // tokens; 0 goes by window/models
	// Patience is how long nothing may come before the first word (5 min), Silence how long
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
	client   anthropic.Client
}

// New makes a Model. It asks nothing of the service.
func New(o Options) (*Model, error) {
	official := o.BaseURL == ""
	o.BaseURL = cmp.Or(strings.TrimRight(strings.TrimSpace(o.BaseURL), "/"), DefaultURL)
	// Whoever copies the whole address of a request means the base of it.
	o.BaseURL = strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/messages"), "/v1")
	o.Key = strings.TrimSpace(o.Key)
	o.Provider = strings.ToLower(strings.TrimSpace(o.Provider))
	o.Provider = cmp.Or(models.Provider(o.Provider), o.Provider, models.Provider(o.BaseURL))
	switch {
	case o.Model == "":
		return nil, errors.New("no model is named; set Model")
	case official && o.Key == "":
		return nil, fmt.Errorf("no key for %s; set Key, or BaseURL to a service that needs none", DefaultURL)
	case o.Window < 0 || o.MaxOutput < 0:
		return nil, fmt.Errorf("the options Window %d and MaxOutput %d are tokens, and not negative; 0 goes by the model", o.Window, o.MaxOutput)
	case o.Thinking > 0 && o.Thinking < minThinking:
		return nil, fmt.Errorf("the option Thinking is %d tokens; a budget is at least %d", o.Thinking, minThinking)
	}
	for name, value := range o.Extra {
		if !json.Valid(value) {
			return nil, fmt.Errorf("the option Extra[%q] is not JSON", name)
		}
	}
	if err := modelapi.CheckHeader(o.Key, o.Header); err != nil {
		return nil, err
	}
	e, err := modelapi.New(modelapi.Options{
		URL:     o.BaseURL,
		Info:    agent.ModelInfo{Provider: o.Provider, Name: o.Model, Window: o.Window, MaxOutput: o.MaxOutput, Standin: o.Standin},
		Secrets: modelapi.Secrets(o.Key, o.Header), Client: o.HTTPClient, Patience: o.Patience, Silence: o.Silence,
	})
	if err != nil {
		return nil, err
	}
	// The client's own constructor reads the environment, and files of credentials; made like
	// this it does not.
	options := []option.RequestOption{option.WithBaseURL(o.BaseURL), option.WithMaxRetries(0), option.WithoutOpenTelemetry()}
	if o.Key != "" {
		options = append(options, option.WithAPIKey(o.Key))
	}
	for name, value := range o.Header {
		options = append(options, option.WithHeader(name, value))
	}
	return &Model{o: o, output: output(o), endpoint: e, client: anthropic.Client{Options: options}}, nil
}

// usualOutput is asked for when a request names no limit, which this protocol demands;
// unknownOutput where nobody knows what the model gives. In tokens.
const (
	usualOutput   = 16_384
	unknownOutput = 8_192
)

func output(o Options) int {
	if o.MaxOutput > 0 {
		return min(o.MaxOutput, usualOutput)
	}
	if w, ok := models.Lookup(o.Provider, o.Model, nil); ok && w.Output > 0 {
		return min(w.Output, usualOutput)
	}
	return unknownOutput
}

// Info tells what it is.
func (m *Model) Info() agent.ModelInfo { return m.endpoint.Info() }

// Generate makes one request, see agent.Model.
func (m *Model) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := m.endpoint.Begin(ctx)
	defer x.Close()
	var names modelapi.Names
	params := m.request(r, &names)
	var res *http.Response
	err := m.client.Post(x.Context(), "v1/messages", params, &res, option.WithHTTPClient(x), option.WithHeader("Accept", "text/event-stream"))
	if err != nil {
		return nil, x.Failure(err)
	}
	a, err := x.Answer(res)
	if err != nil {
		return nil, err
	}
	got := answer{x: x, names: &names, text: text, strict: m.o.Provider == "anthropic"}
	if a.Whole {
		err = got.whole(a)
	} else {
		err = got.stream(a)
	}
	if err != nil {
		return nil, x.Failure(err)
	}
	return got.reply(m.o.Model)
}
