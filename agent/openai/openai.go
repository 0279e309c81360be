package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/window/wire"
)

// DefaultURL is the address of OpenAI's own service.
const DefaultURL = "https://api.openai.com/v1"

// Names of the member that bounds an answer.
const (
	maxCompletionTokens = "max_completion_tokens"
	maxTokens           = "max_tokens"
)

// Options configure a Model. Model is required, and Key at DefaultURL.
type Options struct {
	BaseURL string // with the version, as in DefaultURL, which is the default
	Key     string // sent as a bearer token; "" sends none. No environment variable stands in for it
	Model   string
	// Provider is whose service it is, as package window/models calls it. Default: by BaseURL.
	Provider string
	// HTTPClient makes the requests; its redirects are not followed, its Timeout is not used.
	// Default: one that uses the proxies of the environment, as Go programs do.
	HTTPClient *http.Client
	Header     map[string]string // sent with each request; their values are never shown
	// Extra are further members of each request: reasoning_effort, temperature, …
	Extra map[string]json.RawMessage
	// OutputMember is the member that bounds an answer: "max_completion_tokens" (the default for OpenAI
	// and Azure) or "max_tokens" (for all others).
	OutputMember string
	Standin      bool // no real model
	Window       int  // tokens; 0 goes by window/models
	MaxOutput    int  // tokens; 0 goes by window/models
	// Patience bounds the silence before the first word (5 min: thinking can be
	// silent), Silence that after it (1 min).
	Patience, Silence time.Duration
}

// Model is an agent.Model. Its methods may be called from any goroutine.
type Model struct {
	o        Options
	endpoint *modelapi.Endpoint
}

// New makes a Model. It asks nothing of the service.
func New(o Options) (*Model, error) {
	e, err := modelapi.Service{
		BaseURL: o.BaseURL, Default: DefaultURL, Tails: []string{"/chat/completions"}, Key: o.Key, KeyHeader: "Authorization", KeyPrefix: "Bearer ",
		Header: o.Header, Extra: o.Extra, Model: o.Model, Provider: o.Provider, Window: o.Window, MaxOutput: o.MaxOutput, Standin: o.Standin,
		Dialect: wire.Chat, Client: o.HTTPClient, Patience: o.Patience, Silence: o.Silence,
	}.Endpoint()
	if err != nil {
		return nil, err
	}
	o.Provider = e.Info().Provider
	switch o.OutputMember {
	case "":
		o.OutputMember = maxTokens
		if o.Provider == "openai" || o.Provider == "azure" {
			o.OutputMember = maxCompletionTokens
		}
	case maxCompletionTokens, maxTokens:
	default:
		return nil, fmt.Errorf("the option OutputMember is %q; it is %q or %q", o.OutputMember, maxCompletionTokens, maxTokens)
	}
	return &Model{o: o, endpoint: e}, nil
}

// Info describes the model.
func (m *Model) Info() agent.ModelInfo { return m.endpoint.Info() }

// Generate makes one request, see agent.Model.
func (m *Model) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	var names modelapi.Names
	names.Learn(r)
	encode := func() ([]byte, error) { return m.request(r) }
	return m.endpoint.Generate(ctx, "chat/completions", encode, func(x *modelapi.Exchange) modelapi.Reader {
		return &answer{x: x, names: &names, text: text, thoughts: m.thoughts()}
	})
}
