package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/app/listen"
	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/watch/metrics"
	"github.com/plimsoll/plimsoll/window/proxy"
)

// ServeOptions are what `plimsoll serve` can be told beside the configuration.
type ServeOptions struct {
	// ReadyFile takes the base URL when the daemon takes requests, and is removed at the
	// end; "" writes none. It holds no token.
	ReadyFile string
	// Ready is called with the base URL then; nil is not.
	Ready func(url string)
	// Log takes one JSON object a line for every event; nil writes none.
	Log io.Writer
	// Stderr is where the daemon says where it listens.
	Stderr io.Writer
	// Quiet leaves that out.
	Quiet bool
	// Version of this program, which clients of its own MCP servers are told.
	Version string
}

// drain is what requests under way get when the daemon ends. An answer of a model takes
// longer, but whoever stops a daemon waits for it.
const drain = 10 * time.Second

// Serve is the daemon: the model gateway, the MCP gateway and the agents over A2A, with metrics and
// health, until ctx ends or a signal asks for the end (SIGINT, SIGTERM; a second one ends at once).
func (a *App) Serve(ctx context.Context, o ServeOptions) (err error) {
	settings, err := a.Config.For("")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	meters, err := metrics.New()
	if err != nil {
		return fmt.Errorf("make the metrics: %w", err)
	}
	observers := []journal.Observer{meters}
	if o.Log != nil {
		// Who reads the events may go: the requests under way are others'.
		broken := make(chan os.Signal, 1)
		signal.Notify(broken, syscall.SIGPIPE)
		defer signal.Stop(broken)
		log := core.NewEventLog(o.Log)
		defer func() {
			if err := log.Close(); err != nil {
				a.Warn(err.Error())
			}
		}()
		observers = append(observers, log)
	}
	accounts, closeAccounts := a.toolObservers()
	defer closeAccounts()
	events := journal.New(journal.Options{Observers: append(observers, accounts...)})

	token, err := serveToken(settings.Serve.Token, os.Getenv)
	if err != nil {
		return err
	}
	plane, err := a.openWindow(settings, windowOptions{
		journal: events, token: token, upstreams: upstreamsOf(settings.Upstream), warn: a.Warn,
	})
	if err != nil {
		return err
	}
	defer plane.Close()

	servers, err := a.openMCP(settings, events, token, o.Version)
	if err != nil {
		return err
	}
	var routes *mcpRoutes
	if servers != nil {
		routes = servers.routes
		defer func() { err = errors.Join(err, servers.Close()) }()
	}
	agents, err := a.openServedAgents(ctx, settings, events, servers, token, o.Version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents.end(ctx)) }()

	secure, err := serverTLS(settings.Serve)
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	server, err := plane.proxy.Listen(proxy.ListenOptions{
		Addr: settings.Serve.Listen, TLS: secure, Handler: daemon(plane.proxy, true, routes, agents, meters, ready),
	})
	if err != nil {
		return listenError(settings, err)
	}
	close(ready)
	remove, err := listen.WriteReady(o.ReadyFile, server.URL())
	if err != nil {
		return errors.Join(err, server.Shutdown(ctx))
	}
	defer remove()
	if o.Ready != nil {
		o.Ready(server.URL())
	}
	if !o.Quiet {
		sayWhere(o.Stderr, server.URL(), plane)
		if servers != nil {
			servers.say(o.Stderr, server.URL())
		}
		agents.say(o.Stderr, server.URL())
	}
	select {
	case <-ctx.Done():
	case <-server.Done():
		return fmt.Errorf("the listener of %s ended: %w", settings.Serve.Listen, server.Err())
	}
	stop() // a second signal ends the program at once
	if !o.Quiet {
		fmt.Fprintf(o.Stderr, "plimsoll: ending, requests under way have %s\n", drain)
	}
	// Tasks end before the tools that they use, and streams before the listener.
	if err := agents.end(ctx); err != nil {
		a.Warn(err.Error())
	}
	if servers != nil {
		if err := servers.end(); err != nil {
			a.Warn(err.Error())
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(last); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// daemon is the listener's handler: health for whoever asks, all else behind the checks.
// Without a model gateway the rest is for the agents, which say what there is.
func daemon(p *proxy.Proxy, gateway bool, servers *mcpRoutes, agents *agentDaemon, meters *metrics.Metrics, ready <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n")
	}
	// A probe comes from another host with a Host header of its own; these two tell nothing
	// but that somebody is there.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-ready:
			say(w, http.StatusOK, "ready")
		default:
			say(w, http.StatusServiceUnavailable, "starting")
		}
	})
	scrape := p.Protect(meters.Handler())
	mux.Handle("GET /metrics", scrape)
	var mcp http.Handler
	if servers != nil {
		mcp = p.Protect(servers)
	}
	a2a := p.Protect(agents)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz", r.URL.Path == "/metrics":
			mux.ServeHTTP(w, r)
		case r.Method == http.MethodGet && underToken(r.URL.Path, "/metrics"):
			scrape.ServeHTTP(w, r)
		case mcp != nil && servers.takes(r.URL.Path):
			mcp.ServeHTTP(w, r)
		case !gateway, agents.takes(r.URL.Path):
			a2a.ServeHTTP(w, r)
		default:
			// Not through the mux: it would clean paths that belong to a provider.
			p.ServeHTTP(w, r)
		}
	})
}

// underToken says whether path is a token and then name.
func underToken(path, name string) bool {
	token, ok := strings.CutSuffix(path, name)
	return ok && len(token) > 1 && token[0] == '/' && !strings.Contains(token[1:], "/")
}

// sayWhere prints the base URLs as each provider's clients take them.
func sayWhere(w io.Writer, root string, plane *windowPlane) {
	fmt.Fprintf(w, "plimsoll: serving on %s\n", root)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	shown := ""
	if plane.token {
		shown = "TOKEN" // never the token itself
	}
	for _, u := range plane.upstreams {
		variable := baseVariables[u.Provider]
		fmt.Fprintf(t, "  %s=%s\tto %s\n", variable, proxy.BaseURL(root, shown, u), u.URL)
	}
	_ = t.Flush()
}

// baseVariables are the variables by which the providers' own libraries take a base URL.
var baseVariables = map[proxy.Provider]string{
	proxy.OpenAI: "OPENAI_BASE_URL", proxy.Anthropic: "ANTHROPIC_BASE_URL", proxy.Gemini: "GOOGLE_GEMINI_BASE_URL",
}

// listenError adds the next step to what the listener says.
func listenError(s config.Settings, err error) error {
	var busy *net.OpError
	if errors.As(err, &busy) {
		return fmt.Errorf("%w; choose another with --listen, or end the program that has it", err)
	}
	var missing []string
	if s.Serve.Token == "" {
		missing = append(missing, "token")
	}
	if s.Serve.TLSCert == "" {
		missing = append(missing, "tls_cert and tls_key")
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w; set %s in [serve], or listen on 127.0.0.1", err, strings.Join(missing, ", "))
	}
	return err
}

// serverTLS reads the certificate; nil when none is configured.
func serverTLS(s config.ServeSettings) (*tls.Config, error) {
	switch {
	case s.TLSCert == "" && s.TLSKey == "":
		return nil, nil
	case s.TLSCert == "" || s.TLSKey == "":
		return nil, errors.New("[serve] tls_cert and tls_key go together; set both or none")
	}
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("[serve] tls_cert %s with tls_key %s: %w; name a chain and its key, both in PEM", s.TLSCert, s.TLSKey, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
