package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/agent"
)

// DefaultURL is where OpenAI itself is asked.
const DefaultURL = "https://api.openai.com/v1"

// Options configure a Model. Model is required, and Key at DefaultURL.
type Options struct {
	BaseURL string // with the version, as in DefaultURL, which is the default
	Key     string // sent as a bearer token; "" sends none. No environment variable stands in for it
	Model   string
	// Provider is whose service it is, as package window/models calls it. Default: by BaseURL.
	Provider string
	// HTTPClient makes the requests; its redirects are not followed. Default: one that uses
	// the proxies of the environment, as every Go program does.
	HTTPClient *http.Client
	Header     map[string]string // sent with each request; their values are never shown
	// Extra are further members of each request: reasoning_effort, temperature, …
	Extra map[string]json.RawMessage
	// OutputMember is what bounds an answer: "max_completion_tokens" (the default for OpenAI
	// and Azure) or "max_tokens" (for all others).
	OutputMember string
	Standin      bool // no real model
	Window       int  // tokens; 0 goes by window/models
	MaxOutput    int  // tokens; 0 goes by window/models
	// Patience is how long nothing may come before the first word (5 min: thinking can be
	// silent), Silence how long after it (1 min).
	Patience, Silence time.Duration
}

// Model is an agent.Model. Its methods may be called from any goroutine.
type Model struct{ info agent.ModelInfo }

// New makes a Model. It asks nothing of the service.
func New(o Options) (*Model, error) { return nil, errors.New("not yet") }

// Info tells what it is.
func (m *Model) Info() agent.ModelInfo { return m.info }

// Generate makes one request, see agent.Model.
func (m *Model) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	return nil, errors.New("not yet")
}
