package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// DefaultURL is the address of Google's own service.
const DefaultURL = "https://generativelanguage.googleapis.com"

// version is the one of the API that knows parametersJsonSchema and thoughtSignature.
const version = "v1beta"

// Options configure a Model. Model is required, and Key at DefaultURL.
type Options struct {
	BaseURL string // without the version; default: DefaultURL
	Key     string // sent as x-goog-api-key; "" sends none. No environment variable stands in for it
	Model   string // "gemini-2.5-pro"; "models/gemini-2.5-pro" is the same
	// Provider is whose service it is, as package window/models calls it. Default: by BaseURL.
	Provider string
	// HTTPClient makes the requests; its redirects are not followed, its Timeout is not used.
	// Default: one that uses the proxies of the environment, as Go programs do.
	HTTPClient *http.Client
	Header     map[string]string // sent with each request; their values are never shown
	// Extra are further members of each request: safetySettings, toolConfig, … Members of its
	// generationConfig stand beside those that the adapter sets, which win.
	Extra map[string]json.RawMessage
	// Thinking bounds the model's thoughts, in tokens: 0 leaves it to the service, more is a
	// budget, negative is as much as the model sees fit.
	Thinking  int
	Standin   bool // no real model
	Window    int  // tokens; 0 goes by window/models
	MaxOutput int  // tokens; 0 goes by window/models
	// Patience bounds the silence before the first word (5 min), Silence that
	// after it (1 min). Models that think are silent meanwhile.
	Patience, Silence time.Duration
}

// Model is an agent.Model. Its methods may be called from any goroutine.
type Model struct {
	o        Options
	path     string
	config   map[string]json.RawMessage // generationConfig of Options.Extra
	endpoint *modelapi.Endpoint
	own      map[string]string // headers of the protocol
}

// New makes a Model. It asks nothing of the service.
func New(o Options) (*Model, error) {
	official := o.BaseURL == ""
	o.BaseURL = cmp.Or(strings.TrimRight(strings.TrimSpace(o.BaseURL), "/"), DefaultURL)
	// Whoever copies the address with its version means the base of it.
	o.BaseURL = strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/"+version), "/v1")
	o.Key = strings.TrimSpace(o.Key)
	o.Model = strings.TrimPrefix(strings.TrimSpace(o.Model), "models/")
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
	for name, value := range o.Extra {
		if !json.Valid(value) {
			return nil, fmt.Errorf("the option Extra[%q] is not JSON", name)
		}
	}
	m := &Model{o: o, own: map[string]string{}}
	if raw := o.Extra["generationConfig"]; raw != nil {
		if err := json.Unmarshal(raw, &m.config); err != nil {
			return nil, errors.New(`the option Extra["generationConfig"] is no JSON object`)
		}
	}
	if err := modelapi.CheckHeader(o.Key, o.Header); err != nil {
		return nil, err
	}
	var err error
	m.endpoint, err = modelapi.New(modelapi.Options{
		URL:     o.BaseURL,
		Dialect: wire.Gemini,
		Info:    agent.ModelInfo{Provider: o.Provider, Name: o.Model, Window: o.Window, MaxOutput: o.MaxOutput, Standin: o.Standin},
		Secrets: modelapi.Secrets(o.Key, o.Header), Client: o.HTTPClient, Patience: o.Patience, Silence: o.Silence,
	})
	if err != nil {
		return nil, err
	}
	if o.Key != "" {
		m.own["X-Goog-Api-Key"] = o.Key
	}
	m.path = version + "/" + resource(o.Model) + ":streamGenerateContent?alt=sse"
	return m, nil
}

// resource returns a model's name in an address. A name with a slash is that of another collection, "tunedModels/mine".
func resource(model string) string {
	if collection, name, ok := strings.Cut(model, "/"); ok {
		return url.PathEscape(collection) + "/" + url.PathEscape(name)
	}
	return "models/" + url.PathEscape(model)
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
	names := modelapi.Names{Letter: true}
	names.Learn(r)
	body, err := m.request(r)
	if err != nil {
		return nil, x.Failure(err)
	}
	a, err := x.Post(m.path, m.own, m.o.Header, body)
	if err != nil {
		return nil, err
	}
	got := answer{x: x, names: &names, text: text}
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
