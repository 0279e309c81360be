package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/window/models"
)

// StandinModel is the --model value for the built-in stand-in: keywords, no network, no key.
const StandinModel = "standin"

// Default models.
const (
	defaultAnthropic = "claude-sonnet-5"
	defaultOpenAI    = "gpt-5.2"
)

// modelChoice is the model that an agent asks, and its address, before it is opened. It holds the name of the variable with the key, never
// the key.
type modelChoice struct {
	standin  bool
	provider string // "openai", "anthropic", "gemini", or one that speaks OpenAI's protocol
	name     string
	url      string
	keyEnv   string
	// cloud reports whether the provider is a cloud, with addresses and credentials of its own.
	cloud bool
	// why is the origin of the choice, for people.
	why string
}

// isStandin reports whether the model is not a real one: the stand-in, started here or by the demo.
func (m modelChoice) isStandin() bool { return m.standin || m.name == standin.Model }

// String returns the choice as --model takes it; for the stand-in words for a person.
func (m modelChoice) String() string {
	if m.isStandin() {
		return "the stand-in (no real model)"
	}
	if strings.HasPrefix(m.name, m.provider+"/") {
		return m.name // behind a base URL the provider may belong to the name
	}
	return m.provider + "/" + m.name
}

// upstream returns the name of the service for package models.
func (m modelChoice) upstream() string {
	if m.url == "" {
		return m.provider
	}
	return m.provider + "+" + m.url
}

// speaksGemini reports whether the address takes Google's own protocol. One that ends in /openai or /v1 takes OpenAI's, as Google's
// ".../v1beta/openai" or that of a gateway does.
func (m modelChoice) speaksGemini() bool {
	where := strings.TrimRight(m.url, "/")
	return m.provider == "gemini" && !strings.HasSuffix(where, "/openai") && !strings.HasSuffix(where, "/v1")
}

// chooseModel returns the model to ask, by the command line, then the agent's own settings, then the environment. override is NAME,
// PROVIDER/NAME or "standin", and baseURL an address, from the command line; "" if not given.
func chooseModel(c config.Agent, override, baseURL string, u config.UpstreamSettings, getenv func(string) string) (modelChoice, error) {
	if baseURL != "" {
		c.BaseURL, c.KeyEnv, c.Provider = strings.TrimRight(baseURL, "/"), "", ""
		name := override
		name = cmp.Or(name, c.Model)
		provider, own := splitModel(name)
		if provider != "anthropic" {
			provider, own = "openai", name // behind a base URL a slash may belong to the name
		}
		c.Provider, c.Model, override = provider, own, ""
		// Who names an address on the command line means the key of the environment for it.
		if s := serviceOf(provider); s.hasKey(getenv) {
			c.KeyEnv = s.keyVariable(getenv)
		}
	}
	maker := func(name string) string { return makerBy(name, getenv) }
	m := modelChoice{provider: c.Provider, name: c.Model, url: c.BaseURL, keyEnv: c.KeyEnv, why: "configured"}
	if c.Provider == "" && c.BaseURL == "" { // behind a base URL a slash may belong to the name
		m.provider, m.name = splitModel(c.Model)
	}
	if override != "" {
		provider, name := splitModel(override)
		if was := configuredProvider(m, maker); provider == "" && c.BaseURL == "" && maker(name) != was {
			provider = maker(name)
		} else if provider == was && m.provider != "" {
			provider = "" // as it is
		}
		if provider != "" {
			m = modelChoice{provider: provider} // the address and the key that are configured are another's
		}
		m.name, m.why = name, "--model"
	}
	if m.name == StandinModel || m.name == standin.Model && m.url == "" && getenv("OPENAI_BASE_URL") == "" {
		return modelChoice{standin: true, provider: "openai", name: standin.Model, why: m.why}, nil
	}
	if m.provider == "" {
		m.provider, m.why = guessProvider(m, getenv)
		if m.provider == "" {
			return m, errNoModel
		}
	}
	known := serviceOf(m.provider)
	if known != nil && known.cloud && m.url == "" {
		m.cloud, m.provider = true, known.name
	}
	if m.name == "" {
		switch {
		case known != nil && firstSet(getenv, known.modelVars) != "":
			m.name = firstSet(getenv, known.modelVars)
		case known != nil && known.model != "" && (m.url == "" || m.provider == "anthropic"):
			m.name = known.model
		case m.cloud: // what is missing is said together, below
		default:
			return m, fmt.Errorf("no model is named for the provider %s; set model in [agents.%s], or --model", m.provider, c.Name)
		}
	}
	// A key goes where its owner sends it: to the provider itself, or where the provider's own
	// variable points. To an address of the configuration goes the key that is named beside it.
	if m.keyEnv == "" && known != nil && (m.url == "" || sameHost(m.url, known.url, u.OpenAI, u.Anthropic, u.Gemini, openai.DefaultURL, anthropic.DefaultURL, gemini.DefaultURL)) {
		m.keyEnv = known.keyVariable(getenv)
	}
	if m.url == "" && known != nil {
		m.url = known.address(u, getenv)
	}
	if m.cloud {
		if err := cloudMissing(m, known, getenv); err != nil {
			return m, err
		}
	}
	if m.url == "" {
		return m, fmt.Errorf("where the provider %s is asked is not known (those that are: %s); set base_url in [agents.%s] to its address that ends in /v1, or --base-url", m.provider, serviceNames(), c.Name)
	}
	if from, _, ok := strings.Cut(m.name, "/"); ok && m.provider == "openai" && sameHost(m.url, openai.DefaultURL) { // it has no such names
		return m, fmt.Errorf("%q is no provider that is known (those that are: %s); write PROVIDER/NAME with one of them, or give its address with --base-url", from, serviceNames())
	}
	if where, err := url.Parse(m.url); err != nil || where.Host == "" || where.Scheme != "http" && where.Scheme != "https" {
		return m, fmt.Errorf("the address %q of the model is no URL; write it as https://HOST/v1", m.url)
	}
	return m, nil
}

// configuredProvider returns the provider of a configured model, "" if it cannot be told.
func configuredProvider(m modelChoice, maker func(string) string) string {
	if p := models.Provider(m.provider); p != "" || m.url != "" {
		return p
	}
	return maker(m.name)
}

// makerBy returns the provider for a model's bare name: the cloud that LLM_PROVIDER names, for clouds have models of all makers, else the
// model's maker.
func makerBy(name string, getenv func(string) string) string {
	if s := serviceOf(getenv("LLM_PROVIDER")); s != nil && s.cloud {
		return s.name
	}
	return makerOf(name)
}

// makerOf returns the provider whose models have names like this: "openai" for an unknown name, "" for "".
func makerOf(name string) string {
	switch {
	case name == "":
		return ""
	case strings.HasPrefix(name, "claude-"):
		return "anthropic"
	case strings.HasPrefix(name, "gemini-"):
		return "gemini"
	case strings.HasPrefix(name, "grok-"):
		return "xai"
	}
	return "openai"
}

// splitModel splits PROVIDER/NAME. If the provider is not a known one, it returns "" and the whole text.
func splitModel(text string) (provider, name string) {
	if p, name, ok := strings.Cut(text, "/"); ok {
		if s := serviceOf(p); s != nil {
			return s.name, name
		}
		if known := models.Provider(p); known != "" {
			return known, name
		}
	}
	return "", text
}

// sameHost reports whether an address has the scheme and host of one of the others.
func sameHost(address string, others ...string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.ContainsFunc(others, func(o string) bool {
		v, err := url.Parse(o)
		return err == nil && v.Host != "" && v.Host == u.Host && v.Scheme == u.Scheme
	})
}

// errNoModel names every way to a model.
var errNoModel = errors.New(`no model: there is no key in the environment, and none is configured; set one of
  ` + keyLines() + `, or
  model, base_url and key_env in [agents.NAME] (plimsoll agent init writes one), or
  --model ollama/NAME for one on this machine, or
  --model standin for the built-in stand-in, which is no model but needs no key`)

// guessProvider returns the provider of a model for which none is configured, and why. The first of these that says something decides: the
// cloud that LLM_PROVIDER names, the model's name, another provider in LLM_PROVIDER, the first provider whose key is set. Both results are
// "" if none does. If an address is configured, neither LLM_PROVIDER nor keys count: it is anthropic for a model of theirs, else openai.
func guessProvider(m modelChoice, getenv func(string) string) (provider, why string) {
	switch p := makerOf(m.name); {
	case m.url != "" && p != "anthropic":
		return "openai", m.why
	case p != "" && (m.url != "" || makerBy(m.name, getenv) == p):
		return p, m.why
	}
	if s := serviceOf(getenv("LLM_PROVIDER")); s != nil {
		return s.name, "LLM_PROVIDER"
	}
	for i := range services {
		if s := &services[i]; s.hasKey(getenv) {
			return s.name, s.keyVariable(getenv)
		}
	}
	return "", ""
}

// ModelOfKey returns the model that is asked by default with the key in the environment, as --model takes it; "" without a key.
func ModelOfKey(getenv func(string) string) string {
	for i := range services {
		s := &services[i]
		if !s.hasKey(getenv) {
			continue
		}
		m := modelChoice{provider: s.name, name: s.model}
		if set := firstSet(getenv, s.modelVars); set != "" {
			m.name = set
		}
		if m.name == "" {
			continue
		}
		return m.String()
	}
	return ""
}

// openModel opens the model, and starts the stand-in if that is chosen, until closer closes it.
func openModel(ctx context.Context, m modelChoice, c config.Agent, client *http.Client, closer *core.Closer) (agent.Model, error) {
	if m.standin {
		s, err := standin.Listen(ctx, standin.Options{Window: c.Window})
		if err != nil {
			return nil, fmt.Errorf("the stand-in for a model: %w", err)
		}
		closer.Add(s.Close)
		return openai.New(openai.Options{BaseURL: s.URL(), Key: s.Token(), Model: standin.Model, Standin: true, Window: c.Window, MaxOutput: c.MaxOutput})
	}
	if m.cloud {
		return cloudModel(ctx, m, c, client, os.Getenv)
	}
	key := ""
	if m.keyEnv != "" {
		key = strings.TrimSpace(os.Getenv(m.keyEnv))
	}
	if key == "" && !core.OnLoopback(m.url) {
		name := m.keyEnv
		if name == "" {
			return nil, fmt.Errorf("the model %s has no key: set key_env in [agents.%s] to the name of the variable that holds it", m, c.Name)
		}
		return nil, fmt.Errorf("the model %s needs a key: the variable %s is empty; set it, or use --model standin, which is no model but needs none", m, name)
	}
	return modelWithKey(m, key, c, client)
}

// modelWithKey returns the model of a choice that is neither a cloud's nor a stand-in started here. client may be nil.
func modelWithKey(m modelChoice, key string, c config.Agent, client *http.Client) (agent.Model, error) {
	switch {
	case m.provider == "anthropic":
		return anthropicModel(m, key, c, client)
	case m.speaksGemini():
		return geminiModel(m, key, c, client)
	}
	return openai.New(openai.Options{
		BaseURL: m.url, Key: key, Model: m.name, Provider: m.provider, HTTPClient: client, Window: c.Window, MaxOutput: c.MaxOutput,
		Standin: m.isStandin(),
	})
}

func anthropicModel(m modelChoice, key string, c config.Agent, client *http.Client) (agent.Model, error) {
	return anthropic.New(anthropic.Options{BaseURL: m.url, Key: key, Model: m.name, Provider: m.provider, HTTPClient: client, Window: c.Window, MaxOutput: c.MaxOutput})
}

func geminiModel(m modelChoice, key string, c config.Agent, client *http.Client) (agent.Model, error) {
	return gemini.New(gemini.Options{BaseURL: m.url, Key: key, Model: m.name, Provider: m.provider, HTTPClient: client, Window: c.Window, MaxOutput: c.MaxOutput})
}
