package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
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
}

// New makes a Model. It asks nothing of the service.
func New(o Options) (*Model, error) {
	o.Model = strings.TrimPrefix(strings.TrimSpace(o.Model), "models/")
	e, err := modelapi.Service{
		BaseURL: o.BaseURL, Default: DefaultURL, Tails: []string{"/" + version, "/v1"}, Key: o.Key, KeyHeader: "X-Goog-Api-Key",
		Header: o.Header, Extra: o.Extra, Model: o.Model, Provider: o.Provider, Window: o.Window, MaxOutput: o.MaxOutput, Standin: o.Standin,
		Dialect: wire.Gemini, Client: o.HTTPClient, Patience: o.Patience, Silence: o.Silence,
	}.Endpoint()
	if err != nil {
		return nil, err
	}
	m := &Model{o: o, endpoint: e, path: version + "/" + resource(o.Model) + ":streamGenerateContent?alt=sse"}
	if raw := o.Extra["generationConfig"]; raw != nil {
		if err := json.Unmarshal(raw, &m.config); err != nil {
			return nil, errors.New(`the option Extra["generationConfig"] is no JSON object`)
		}
	}
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
	names := modelapi.Names{Letter: true}
	names.Learn(r)
	encode := func() ([]byte, error) { return m.request(r) }
	return m.endpoint.Generate(ctx, m.path, encode, func(x *modelapi.Exchange) modelapi.Reader {
		return &answer{x: x, names: &names, text: text}
	})
}
