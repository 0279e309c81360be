// Package daemon is the daemon, `plimsoll serve`: the model gateway, the MCP gateway and the agents over
// A2A behind one listener, with metrics and health.
//
//	err := daemon.Run(ctx, app, daemon.Options{Stderr: os.Stderr}) // until ctx ends
//
// It opens each plane with one journal, and closes them in reverse order: tasks end before the tools
// that they use, and streams before the listener. The package is tested by the tests of package app and by e2e.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
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
	d := &daemon{app: app, o: o, settings: settings}
	defer func() { err = d.closer.Close(err) }()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	d.closer.Do(stop)
	// What asks for configuration to be read again, and what a terminal sends that is closed: neither ends what others use. Certificates are
	// read again when they have changed.
	d.ignore(syscall.SIGHUP)
	if err := d.observe(); err != nil {
		return err
	}
	if d.token, err = listen.Token(settings.Serve, os.Getenv); err != nil {
		return err
	}
	for _, open := range []func(context.Context) error{d.openGateway, d.openServers, d.openBoard, d.openAgents} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	return d.serve(ctx, stop)
}

// daemon holds what `plimsoll serve` has opened, in the order in which it was.
type daemon struct {
	app      *core.Core
	o        Options
	settings config.Settings
	token    string // that clients must have; "" for none
	closer   core.Closer

	meters     *metrics.Metrics
	runs       *metrics.Runs
	events     *journal.Journal
	remembered *remember.Plane
	gateway    *window.Plane
	servers    *mcp.Daemon // nil without any
	board      *watch.Dashboard
	agents     *agents.Daemon // nil without any
	parts      []listen.Part  // that requests go to, beside the model gateway
}

// ignore keeps a signal from ending the daemon.
func (d *daemon) ignore(sig os.Signal) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, sig)
	d.closer.Do(func() { signal.Stop(heard) })
}

// warnOf has a failure to close something told: the daemon's work was done nevertheless.
func (d *daemon) warnOf(closing func() error) {
	d.closer.Do(func() {
		if err := closing(); err != nil {
			d.app.Warn(err.Error())
		}
	})
}

// observe opens the receivers of events (metrics, log, traces and the record of runs) and the journal that sends events to them.
func (d *daemon) observe() (err error) {
	d.meters = metrics.New(metrics.FromEnvironment(os.Getenv))
	if d.runs, err = watch.Metrics(d.app); err != nil {
		return err
	}
	d.closer.Do(func() { _ = d.runs.Close() })
	d.meters.Add(d.runs)
	told := core.NewLog(d.o.Stderr)
	d.closer.Do(func() { _ = told.Close() })
	observers := []journal.Observer{d.meters, told}
	if d.o.Log != nil {
		d.ignore(syscall.SIGPIPE) // who reads the events may go: the requests under way are others'
		log := core.NewEventLog(d.o.Log)
		d.warnOf(log.Close)
		observers = append(observers, log)
	}
	sender := watch.SendTraces(d.app, d.settings, d.o.Version)
	d.warnOf(sender.Close) // after the record, whose last lines it sends too
	watch.ShowTraces(d.runs, sender)
	record := d.app.KeepRun(d.settings, runs.KindServe, journal.Report{Tool: "serve"})
	d.closer.Tell(func(err error) error { record.End(err); return err })
	d.closer.Do(d.app.AnnounceHost(d.settings, nil))
	accounts, closeAccounts := mcp.Observers(d.app)
	d.closer.Do(closeAccounts)
	d.events = journal.New(journal.Options{Observers: slices.Concat(observers, record.Observers(), accounts)})
	container := core.WatchContainer("each MCP server has its own (memory_max in [mcp])", d.events, d.app.Warn)
	d.closer.Tell(func(err error) error { container.End(core.LastWords(err)); return err })
	return nil
}

// openGateway opens the gateway to models, with the memory, the budgets and what replicas share of conversations.
func (d *daemon) openGateway(ctx context.Context) error {
	d.remembered = remember.Open(d.app, d.settings, remember.Options{
		Journal: d.events, Namespace: remember.ServeNamespace, Inside: d.app.Fence().Inside(), Warn: d.app.Warn,
	})
	d.closer.Do(d.remembered.Close)
	upstreams, err := window.Upstreams(ctx, d.settings.Upstream)
	if err != nil {
		return err
	}
	o := window.Options{
		Journal: d.events, Token: d.token, Upstreams: upstreams, Warn: d.app.Warn,
		Keeper: d.remembered.Keeper(), KeepTurns: d.remembered.Turns(), Recaller: d.remembered.Recaller(), RecallFor: d.remembered.Namespace(),
	}
	if o.Spend, err = d.app.OpenMeter(d.settings, "serve"); err != nil { // a project of its own
		return err
	}
	logs, err := d.openReplicas(ctx)
	if err != nil {
		return err
	}
	if logs != nil {
		d.closer.Do(logs.Close)
		o.Replicas = logs
	}
	if d.gateway, err = window.Open(d.app, d.settings, o); err != nil {
		return err
	}
	d.closer.Do(d.gateway.Close)
	if o.Spend != nil {
		d.closer.Do(o.Spend.Close)
	}
	return nil
}

// openReplicas opens what replicas share of conversations; nil without a fleet, and, with a warning, without a token to seal it with.
func (d *daemon) openReplicas(ctx context.Context) (*windows.Logs, error) {
	f := d.app.OpenFleet(d.settings)
	if f == nil {
		return nil, nil
	}
	logs, err := windows.Open(ctx, f, windows.Options{Secret: d.token, Warn: d.app.Warn})
	if errors.Is(err, windows.ErrNoSecret) { // alone it needs none, and the fleet does more than this
		d.app.Warn(err.Error())
		return nil, nil
	}
	return logs, err
}

// openServers opens the gateway to MCP servers.
func (d *daemon) openServers(context.Context) error {
	configured, err := d.app.Config.Agents()
	if err != nil {
		return err
	}
	// What opens the daemon, and what it opens model providers with, is no server's business.
	hidden := agents.SecretVariables(d.settings, configured)
	if d.servers, err = mcp.OpenDaemon(d.app, d.settings, d.events, d.token, d.o.Version, hidden); err != nil {
		return err
	}
	if d.servers != nil {
		d.parts = append(d.parts, d.servers.Routes)
		d.closer.Add(d.servers.Close)
	}
	return nil
}

// openBoard opens what people look at and are told by: the dashboard, the other hosts of the fleet, and notices of runs.
func (d *daemon) openBoard(ctx context.Context) (err error) {
	fleet := watch.OpenHosts(d.app, d.settings, false)
	if fleet != nil {
		d.closer.Do(fleet.Close)
		d.runs.ShowFleet(fleet.Now)
	}
	if d.board, err = watch.NewDashboard(d.app, d.settings, d.token, d.o.Version, fleet); err != nil {
		return err
	}
	d.parts = append(d.parts, d.board)
	if len(d.settings.Watch.Notify) > 0 {
		quiet, err := watch.Notify(ctx, d.app, d.settings.Watch.Notify)
		if err != nil { // requests are worth more than notices
			d.app.Warn("no notices of runs are given: " + err.Error())
		} else {
			d.closer.Do(quiet)
		}
	}
	return nil
}

// openAgents opens the agents, and what learns facts from conversations.
func (d *daemon) openAgents(ctx context.Context) error {
	learner, err := agents.OpenFacts(d.app, d.settings, d.events)
	if err != nil { // requests are worth more than facts
		d.app.Warn("no facts are drawn: " + err.Error())
	}
	d.closer.Add(learner.Close)
	d.meters.ShowMemory(func() metrics.Memory { return memoryNow(d.remembered, learner) })
	if d.agents, err = agents.OpenDaemon(ctx, d.app, d.settings, d.events, d.servers, d.token, d.o.Version); err != nil {
		return err
	}
	if d.agents != nil {
		d.meters.ShowAgents(d.agents.Now)
		d.parts = append(d.parts, d.agents)
		d.closer.Add(func() error { return d.agents.End(ctx) })
	}
	return nil
}

// serve takes requests until ctx ends.
func (d *daemon) serve(ctx context.Context, stop func()) error {
	ready := make(chan struct{})
	door := d.gateway.Proxy
	return listen.Until(ctx, listen.Options{
		Serve: d.settings.Serve, Door: door, Handler: listen.Handler(door, ready, d.meters.Handler(), door, d.parts...),
		Taking: ready, ReadyFile: d.o.ReadyFile, Service: d.o.Service, Warn: d.app.Warn,
		Ready: d.sayReady,
		End: func() error {
			stop() // a second signal ends the program at once
			if !d.o.Quiet {
				fmt.Fprintf(d.o.Stderr, "plimsoll: ending, requests under way have %s\n", listen.Drain)
			}
			// Tasks end before the tools that they use.
			for _, end := range []func() error{d.board.Close, func() error { return d.agents.End(ctx) }, d.servers.End} {
				if err := end(); err != nil {
					d.app.Warn(err.Error())
				}
			}
			return nil
		},
	})
}

// sayReady announces the dashboard's address, calls o.Ready, and prints the addresses of everything that is served unless o.Quiet is set.
func (d *daemon) sayReady(url string) {
	d.closer.Do(d.board.Announce("serve", url))
	if d.o.Ready != nil {
		d.o.Ready(url)
	}
	if d.o.Quiet {
		return
	}
	sayWhere(d.o.Stderr, url, d.gateway)
	fmt.Fprintf(d.o.Stderr, "  %s/  the dashboard; plimsoll watch --url prints the address with its token\n", url)
	d.servers.Say(d.o.Stderr, url)
	d.agents.Say(d.o.Stderr, url)
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
