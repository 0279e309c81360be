package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet/windows"
	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/systemd"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
)

// Options are the settings of `plimsoll serve` beside the configuration.
type Options struct {
	// ReadyFile takes the base URL when the daemon takes requests, and is removed at the
	// end; "" writes none. It holds no token.
	ReadyFile string
	// Ready is called with the base URL before that; nil is not.
	Ready func(url string)
	// Log takes one JSON object a line for every event; nil writes none.
	Log io.Writer
	// Stderr receives the line with the address that the daemon listens on.
	Stderr io.Writer
	// Quiet leaves that out.
	Quiet bool
	// Version of this program, which clients of its own MCP servers are told.
	Version string
	// Service holds what the service manager passed; nil is none.
	Service *systemd.Service
	// Ledger gives the dashboard who holds memory; nil leaves that page out.
	Ledger watch.Ledger
}

// Run runs the daemon: the model gateway, the MCP gateway and the agents over A2A, with metrics and
// health, until ctx ends or a signal asks for the end (SIGINT, SIGTERM; a second one ends at once).
func Run(ctx context.Context, app *core.Core, o Options) (err error) {
	settings, err := app.Config.For("")
	if err != nil {
		return err
	}
	if err := forwardproxy.Check(); err != nil { // every request would end in it
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// What asks for configuration to be read again, and what a terminal sends that is closed: neither ends what others use. Certificates are
	// read again when they have changed.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)

	meters := metrics.New(metrics.FromEnvironment(os.Getenv))
	all, err := watch.Metrics(app)
	if err != nil {
		return err
	}
	defer all.Close()
	meters.Add(all)
	told := core.NewLog(o.Stderr)
	defer func() { _ = told.Close() }()
	observers := []journal.Observer{meters, told}
	if o.Log != nil {
		// Who reads the events may go: the requests under way are others'.
		broken := make(chan os.Signal, 1)
		signal.Notify(broken, syscall.SIGPIPE)
		defer signal.Stop(broken)
		log := core.NewEventLog(o.Log)
		defer func() {
			if err := log.Close(); err != nil {
				app.Warn(err.Error())
			}
		}()
		observers = append(observers, log)
	}
	// It ends after the record, whose last lines it sends too.
	sender := watch.SendTraces(app, settings, o.Version)
	defer func() {
		if err := sender.Close(); err != nil {
			app.Warn(err.Error())
		}
	}()
	watch.ShowTraces(all, sender)
	record := app.KeepRun(settings, runs.KindServe, journal.Report{Tool: "serve"})
	defer func() { record.End(err) }()
	defer app.AnnounceHost(settings, nil)()
	observers = append(observers, record.Observers()...)
	accounts, closeAccounts := mcp.Observers(app)
	defer closeAccounts()
	events := journal.New(journal.Options{Observers: append(observers, accounts...)})

	container := core.WatchContainer("each MCP server has its own (memory_max in [mcp])", events, app.Warn)
	defer func() { container.End(core.LastWords(err)) }()

	token, err := listen.Token(settings.Serve, os.Getenv)
	if err != nil {
		return err
	}
	remembered := remember.Open(app, settings, remember.Options{Journal: events, Namespace: remember.ServeNamespace, Inside: app.Fence().Inside(), Warn: app.Warn})
	defer remembered.Close()
	upstreams, err := window.Upstreams(ctx, settings.Upstream)
	if err != nil {
		return err
	}
	meter, err := budgetOf(app, settings)
	if err != nil {
		return err
	}
	logs, err := openReplicas(ctx, app, settings, token)
	if err != nil {
		return err
	}
	defer logs.Close()
	plane, err := window.Open(app, settings, window.Options{
		Spend: meter, Replicas: replicasOf(logs), Journal: events, Token: token, Upstreams: upstreams, Warn: app.Warn,
		Keeper: remembered.Keeper(), KeepTurns: remembered.Turns(), Recaller: remembered.Recaller(), RecallFor: remembered.Namespace(),
	})
	if err != nil {
		return err
	}
	defer plane.Close()
	if meter != nil {
		defer meter.Close()
	}

	configured, err := app.Config.Agents()
	if err != nil {
		return err
	}
	// What opens the daemon, and what it opens model providers with, is no server's business.
	servers, err := mcp.OpenDaemon(app, settings, events, token, o.Version, agents.SecretVariables(settings, configured))
	if err != nil {
		return err
	}
	var parts []listen.Part
	if servers != nil {
		parts = append(parts, servers.Routes)
		defer func() { err = errors.Join(err, servers.Close()) }()
	}
	fleet := watch.OpenHosts(app, settings, false)
	defer fleet.Close()
	if fleet != nil {
		all.ShowFleet(fleet.Now)
	}
	board, err := watch.NewDashboard(app, settings, token, o.Version, o.Ledger, fleet)
	if err != nil {
		return err
	}
	parts = append(parts, board)
	gone := func() {}
	defer func() { gone() }()
	quiet := func() {}
	if len(settings.Watch.Notify) > 0 {
		if quiet, err = watch.Notify(ctx, app, settings.Watch.Notify); err != nil { // requests are worth more than notices
			app.Warn("no notices of runs are given: " + err.Error())
			quiet = func() {}
		}
	}
	defer func() { quiet() }()
	learner, err := agents.OpenFacts(app, settings, events)
	if err != nil { // requests are worth more than facts
		app.Warn("no facts are drawn: " + err.Error())
	}
	defer func() { err = errors.Join(err, learner.Close()) }()
	meters.ShowMemory(func() metrics.Memory { return memoryNow(remembered, learner) })
	agents, err := agents.OpenDaemon(ctx, app, settings, events, servers, token, o.Version)
	if err != nil {
		return err
	}
	if agents != nil {
		meters.ShowAgents(agents.Now)
		parts = append(parts, agents)
		defer func() { err = errors.Join(err, agents.End(ctx)) }()
	}
	ready := make(chan struct{})
	return listen.Until(ctx, listen.Options{
		Serve: settings.Serve, Door: plane.Proxy, Handler: listen.Handler(plane.Proxy, ready, meters.Handler(), plane.Proxy, parts...),
		Taking: ready, ReadyFile: o.ReadyFile, Service: o.Service, Warn: app.Warn,
		Ready: func(url string) {
			gone = board.Announce("serve", url)
			if o.Ready != nil {
				o.Ready(url)
			}
			if o.Quiet {
				return
			}
			sayWhere(o.Stderr, url, plane)
			fmt.Fprintf(o.Stderr, "  %s/  the dashboard; plimsoll watch --url prints the address with its token\n", url)
			servers.Say(o.Stderr, url)
			agents.Say(o.Stderr, url)
		},
		End: func() error {
			stop() // a second signal ends the program at once
			if !o.Quiet {
				fmt.Fprintf(o.Stderr, "plimsoll: ending, requests under way have %s\n", listen.Drain)
			}
			// Tasks end before the tools that they use.
			for _, end := range []func() error{board.Close, func() error { return agents.End(ctx) }, servers.End} {
				if err := end(); err != nil {
					app.Warn(err.Error())
				}
			}
			return nil
		},
	})
}

// memoryNow returns what a scrape shows of the memory.
func memoryNow(kept *remember.Plane, learner *agents.Facts) metrics.Memory {
	s := kept.Stats()
	m := metrics.Memory{
		Records: s.Written, Failed: s.Failed, Dropped: s.Dropped, DroppedBytes: s.DroppedBytes, Waiting: s.Waiting, WaitingBytes: s.WaitingBytes,
	}
	if learner != nil {
		waits := learner.Now()
		m.Facts, m.FactsWaiting, m.FactsSpent, m.FactsTokensPerDay = true, waits.Waiting, waits.SpentToday, waits.TokensPerDay
	}
	return m
}

// sayWhere prints the base URLs as each provider's clients take them.
func sayWhere(w io.Writer, root string, plane *window.Plane) {
	fmt.Fprintf(w, "plimsoll: serving on %s\n", root)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	shown := ""
	if plane.Token {
		shown = "TOKEN" // never the token itself
	}
	for _, u := range plane.Upstreams {
		variable := baseVariables[u.Provider]
		fmt.Fprintf(t, "  %s=%s\tto %s\n", variable, proxy.BaseURL(root, shown, u), u.URL)
	}
	_ = t.Flush()
}

// baseVariables are the variables by which the providers' own libraries take a base URL.
var baseVariables = map[proxy.Provider]string{
	proxy.OpenAI: "OPENAI_BASE_URL", proxy.Anthropic: "ANTHROPIC_BASE_URL", proxy.Gemini: "GOOGLE_GEMINI_BASE_URL",
	proxy.Bedrock: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
}

// openReplicas opens what replicas share of conversations; nil without a fleet, and, with a warning, without a token to seal it with.
func openReplicas(ctx context.Context, app *core.Core, settings config.Settings, token string) (*windows.Logs, error) {
	f := app.OpenFleet(settings)
	if f == nil {
		return nil, nil
	}
	logs, err := windows.Open(ctx, f, windows.Options{Secret: token, Warn: app.Warn})
	if errors.Is(err, windows.ErrNoSecret) { // alone it needs none, and the fleet does more than this
		app.Warn(err.Error())
		return nil, nil
	}
	return logs, err
}

// replicasOf returns logs as the proxy takes them: nothing is not a nil *Logs.
func replicasOf(logs *windows.Logs) proxy.Replicas {
	if logs == nil {
		return nil
	}
	return logs
}

// budgetOf returns the meter that holds the budgets for what the daemon sends; nil where there are none. It is a project of its own.
func budgetOf(app *core.Core, settings config.Settings) (*spend.Meter, error) {
	book, err := app.OpenBook(settings, "serve")
	if err != nil || book == nil {
		return nil, err
	}
	return spend.New(spend.Options{Book: book, OnLine: func(l spend.Line) { app.Warn(l.Words()) }}), nil
}
