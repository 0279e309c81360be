// Package served asks a model server on this machine or in its private network for the window that it serves a model with. Such
// servers cut an input that is longer without a word, and what is known of the model says nothing: Ollama serves 4,096 tokens of a
// model that could take 256,000 unless it is told otherwise.
//
//	a := served.New(nil)
//	tokens := a.Window("openai+http://127.0.0.1:11434/v1", "qwen3:8b") // 0 when it is not known
//
// What is asked, and where it is documented: Ollama's GET /api/ps (context_length of a model that is loaded) and POST /api/show
// (num_ctx of its parameters), of its API reference; llama.cpp's GET /props (default_generation_settings.n_ctx), of its server's
// README; LM Studio's GET /api/v0/models (loaded_context_length), of its REST API. No credential is sent, nothing is loaded by it,
// and servers at public addresses are not asked.
package served

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// timeout bounds one question with all its requests: a request of the user's waits for it, once.
	timeout = 400 * time.Millisecond
	// knownFor is the time for which an answer is believed: a server may be started again with another window. unknownFor is that for which
	// one that said nothing is left alone: a model is loaded by its first request, and its window is known from then on.
	knownFor   = 10 * time.Minute
	unknownFor = 15 * time.Second
	// maxAnswer bounds what is read of one answer, in bytes: /api/show has a model's licence and template.
	maxAnswer = 4 << 20
	// maxKept bounds the answers that are remembered.
	maxKept = 256
)

// An Asker asks, and remembers what it was told. Make one with [New]; it is safe for concurrent use.
type Asker struct {
	client *http.Client
	mu     sync.Mutex
	kept   map[[2]string]*answer
}

type answer struct {
	once   sync.Once
	tokens int
	at     time.Time // when it is to be asked again
}

// New returns an Asker; a nil client means one that uses no proxy and follows no redirects.
func New(client *http.Client) *Asker {
	if client == nil {
		client = &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Asker{client: client, kept: map[[2]string]*answer{}}
}

// Window returns how many tokens the server at an upstream, as package models names it, accepts for a model; 0 if it does not say, is at a
// public address, or cannot be reached. The first call for a model waits for the server, for less than half a second.
func (a *Asker) Window(upstream, model string) int {
	root := rootOf(upstream)
	if root == "" || model == "" || len(model) > 256 {
		return 0
	}
	key := [2]string{root, model}
	a.mu.Lock()
	known := a.kept[key]
	if known == nil || !known.at.IsZero() && time.Now().After(known.at) {
		if len(a.kept) >= maxKept {
			clear(a.kept)
		}
		known = &answer{}
		a.kept[[2]string{strings.Clone(root), strings.Clone(model)}] = known
	}
	a.mu.Unlock()
	known.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		known.tokens = a.ask(ctx, root, model)
		rest := knownFor
		if known.tokens == 0 {
			rest = unknownFor
		}
		a.mu.Lock()
		known.at = time.Now().Add(rest)
		a.mu.Unlock()
	})
	return known.tokens
}

// rootOf returns scheme and host of a server; "" if it must not be asked, because it is at a public address or the address has credentials.
func rootOf(upstream string) string {
	if i := strings.Index(upstream, "+http"); i >= 0 {
		upstream = upstream[i+1:]
	}
	u, err := url.Parse(upstream)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || !isPrivateHost(u.Hostname()) {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// isPrivateHost reports whether a host is this machine or in its private network, by its address alone: no name is looked up.
func isPrivateHost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "host.docker.internal" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsPrivate())
}

// ask returns the window in tokens that the server at root gives to a model, or 0 if it does not tell or ctx ends first. It tries the
// interface of each kind of server in turn.
func (a *Asker) ask(ctx context.Context, root, model string) int {
	for _, kind := range []func(context.Context, string, string) int{a.askOllama, a.askLlamaCPP, a.askLMStudio} {
		if n := kind(ctx, root, model); n > 0 {
			return n
		}
		if ctx.Err() != nil {
			return 0
		}
	}
	return 0
}

// askOllama asks an Ollama server for the window of the model if it is loaded, else for the one that its parameters set; 0 if it does not
// tell.
func (a *Asker) askOllama(ctx context.Context, root, model string) int {
	var running struct {
		Models []struct {
			Name    string `json:"name"`
			Model   string `json:"model"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if a.get(ctx, root+"/api/ps", &running) {
		for _, m := range running.Models {
			if sameModel(m.Name, model) || sameModel(m.Model, model) {
				return max(0, m.Context)
			}
		}
	}
	var shown struct {
		Parameters string `json:"parameters"`
	}
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil || ctx.Err() != nil {
		return 0
	}
	if !a.fetchJSON(ctx, http.MethodPost, root+"/api/show", body, &shown) {
		return 0
	}
	// A line for each parameter of the Modelfile: "num_ctx                        8192".
	for line := range strings.Lines(shown.Parameters) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == "num_ctx" {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err == nil {
				return max(0, n)
			}
		}
	}
	return 0
}

// sameModel reports whether two names mean the same model for Ollama, where a name without a tag has the tag "latest".
func sameModel(a, b string) bool {
	tagged := func(name string) string {
		if strings.LastIndexByte(name, ':') <= strings.LastIndexByte(name, '/') {
			name += ":latest"
		}
		return strings.ToLower(name)
	}
	return tagged(a) == tagged(b)
}

// askLlamaCPP asks a llama.cpp server for the window of its loaded model; 0 if it does not tell. It causes no model to be loaded.
func (a *Asker) askLlamaCPP(ctx context.Context, root, model string) int {
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if a.get(ctx, root+"/props?autoload=false&model="+url.QueryEscape(model), &props) {
		return max(0, props.Settings.Context)
	}
	return 0
}

// askLMStudio asks an LM Studio server for the window of a loaded model; 0 if it does not tell.
func (a *Asker) askLMStudio(ctx context.Context, root, model string) int {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Loaded int    `json:"loaded_context_length"`
		} `json:"data"`
	}
	if a.get(ctx, root+"/api/v0/models", &list) {
		for _, m := range list.Data {
			if strings.EqualFold(m.ID, model) {
				return max(0, m.Loaded)
			}
		}
	}
	return 0
}

// get makes a GET request and decodes the answer into into. It returns false unless that is a 200 with such JSON.
func (a *Asker) get(ctx context.Context, address string, into any) bool {
	return a.fetchJSON(ctx, http.MethodGet, address, nil, into)
}

// fetchJSON makes a request and decodes the answer into into. It returns false unless that is a 200 with such JSON.
func (a *Asker) fetchJSON(ctx context.Context, method, address string, body []byte, into any) bool {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return false
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false
	}
	return json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(into) == nil
}
