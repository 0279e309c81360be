package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/app/listen"
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

	token, err := listen.Token(settings.Serve, os.Getenv)
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

	configured, err := a.Config.Agents()
	if err != nil {
		return err
	}
	// What opens the daemon, and what it opens model providers with, is no server's business.
	servers, err := a.openMCP(settings, events, token, o.Version, secretVariables(settings, configured))
	if err != nil {
		return err
	}
	var parts []listen.Part
	if servers != nil {
		parts = append(parts, servers.routes)
		defer func() { err = errors.Join(err, servers.Close()) }()
	}
	agents, err := a.openServedAgents(ctx, settings, events, servers, token, o.Version)
	if err != nil {
		return err
	}
	if agents != nil {
		parts = append(parts, agents)
		defer func() { err = errors.Join(err, agents.end(ctx)) }()
	}
	ready := make(chan struct{})
	return listen.Until(ctx, listen.Options{
		Serve: settings.Serve, Door: plane.proxy, Handler: listen.Handler(plane.proxy, ready, meters.Handler(), plane.proxy, parts...),
		Taking: ready, ReadyFile: o.ReadyFile,
		Ready: func(url string) {
			if o.Ready != nil {
				o.Ready(url)
			}
			if o.Quiet {
				return
			}
			sayWhere(o.Stderr, url, plane)
			servers.say(o.Stderr, url)
			agents.say(o.Stderr, url)
		},
		End: func() error {
			stop() // a second signal ends the program at once
			if !o.Quiet {
				fmt.Fprintf(o.Stderr, "plimsoll: ending, requests under way have %s\n", listen.Drain)
			}
			// Tasks end before the tools that they use.
			for _, end := range []func() error{func() error { return agents.end(ctx) }, servers.end} {
				if err := end(); err != nil {
					a.Warn(err.Error())
				}
			}
			return nil
		},
	})
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
