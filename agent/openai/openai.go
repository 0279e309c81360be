package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/window/models"
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
	own      map[string]string // headers of the protocol
}

// New makes a Model. It asks nothing of the service.
func New(o Options) (*Model, error) {
	official := o.BaseURL == ""
	o.BaseURL = cmp.Or(strings.TrimRight(strings.TrimSpace(o.BaseURL), "/"), DefaultURL)
	// Whoever copies the whole address of a request means the base of it.
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/chat/completions")
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
	}
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
		Dialect: wire.Chat,
		Info:    agent.ModelInfo{Provider: o.Provider, Name: o.Model, Window: o.Window, MaxOutput: o.MaxOutput, Standin: o.Standin},
		Secrets: modelapi.Secrets(o.Key, o.Header), Client: o.HTTPClient, Patience: o.Patience, Silence: o.Silence,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{o: o, endpoint: e, own: map[string]string{}}
	if o.Key != "" {
		m.own["Authorization"] = "Bearer " + o.Key
	}
	return m, nil
}

// Info describes the model.
func (m *Model) Info() agent.ModelInfo { return m.endpoint.Info() }

// Generate makes one request, see agent.Model.
func (m *Model) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := m.endpoint.Begin(ctx)
	defer x.Close()
	var names modelapi.Names
	names.Learn(r)
	body, err := m.request(r)
	if err != nil {
		return nil, x.Failure(err)
	}
	a, err := x.Post("chat/completions", m.own, m.o.Header, body)
	if err != nil {
		return nil, err
	}
	got := answer{x: x, names: &names, text: text, thoughts: m.thoughts()}
	if a.Whole {
		err = got.readWhole(a)
	} else {
		err = got.stream(a)
	}
	if err != nil {
		return nil, x.Failure(err)
	}
	return got.reply(m.o.Model)
}
