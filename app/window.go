package app

import (
	"fmt"

	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/proxy"
)

// windowPlane is the proxy with all that it is wired to.
type windowPlane struct {
	proxy     *proxy.Proxy
	upstreams []proxy.Upstream
	token     bool
	cleanup   []func()
}

// windowOptions are what a run and the daemon want differently.
type windowOptions struct {
	journal   *journal.Journal
	token     string
	tokenName string // the variable it comes from, for messages
	keys      bool   // inject the keys of [upstream]
	own       bool   // the client compacts by itself
	upstreams []proxy.Upstream
	warn      func(string)
}

// openWindow wires the window plane from a configuration. A part that can't be opened (a
// state directory that is not ours) is said and left out: the proxy works without it.
func (a *App) openWindow(s config.Settings, o windowOptions) (*windowPlane, error) {
	if o.tokenName != "" && o.token == "" {
		return nil, fmt.Errorf("[serve] token names the variable %s, which is empty; set it to at least 16 characters", o.tokenName)
	}
	w := &windowPlane{upstreams: o.upstreams, token: o.token != ""}
	if w.upstreams == nil {
		w.upstreams = upstreamsOf(s.Upstream, o.keys)
	}
	po := proxy.Options{
		Upstreams: w.upstreams, Mode: proxy.Mode(s.Window.Mode), Token: o.token,
		Hosts: s.Serve.Hosts, Origins: s.Serve.Origins, AnyPeer: s.Serve.AnyUser,
		MemoryBudget: int64(s.Window.BodyMemory), MaxHeld: int64(s.Window.ViewMax), MaxBody: int64(s.Window.BodyMax),
		Target: s.Window.Target, RetryTarget: s.Window.RetryTarget, OwnCompaction: o.own,
		Journal: o.journal,
	}
	// A client that compacts by itself gets the chance, unless somebody said otherwise.
	if !o.own || s.Source("window.trigger").Origin != config.OriginDefault {
		po.Trigger = s.Window.Trigger
	}
	var err error
	if w.proxy, err = proxy.New(po); err != nil {
		w.Close()
		return nil, err
	}
	w.cleanup = append(w.cleanup, w.proxy.Close)
	return w, nil
}

// Close undoes openWindow, the last first.
func (w *windowPlane) Close() {
	for i := len(w.cleanup) - 1; i >= 0; i-- {
		w.cleanup[i]()
	}
	w.cleanup = nil
}

// upstreamsOf are the providers of [upstream].
func upstreamsOf(u config.UpstreamSettings, keys bool) []proxy.Upstream {
	out := []proxy.Upstream{
		{Name: "openai", Provider: proxy.OpenAI, URL: u.OpenAI, KeyEnv: u.OpenAIKey},
		{Name: "anthropic", Provider: proxy.Anthropic, URL: u.Anthropic, KeyEnv: u.AnthropicKey},
		{Name: "gemini", Provider: proxy.Gemini, URL: u.Gemini, KeyEnv: u.GeminiKey},
	}
	if !keys { // the client's own credential passes on
		for i := range out {
			out[i].KeyEnv = ""
		}
	}
	return out
}
