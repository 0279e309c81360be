package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/systemd"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// Dashboard is the dashboard of a daemon, or of `plimsoll watch`: a [listen.Part] with a token of its own.
type Dashboard struct {
	*dashboard.Server
	core *core.Core
}

// NewDashboard returns the dashboard. token is that of the listener, "" makes one for this start; a nil fleet leaves its page out.
func NewDashboard(c *core.Core, s config.Settings, token, version string, fleet *hosts.View) (*Dashboard, error) {
	dir, err := c.Dirs.State()
	if err != nil {
		return nil, fmt.Errorf("the dashboard shows what is kept of runs: %w", err)
	}
	ask := submit.Asker(c)
	host := func() (dashboard.Host, bool) { // asked for as long as somebody looks
		ask()
		return hostNow()
	}
	o := dashboard.Options{
		StateDir: dir, Token: token, Version: version, Secure: s.Serve.TLSCert != "", Host: host, Pages: pages(source{c, fleet}),
		Cost: Cost(c.Config), Spent: spentToday(c),
		Help: func(r *runs.Run) (string, []string) {
			return run.Again(r.Report, r.Header.Decision), detailsOf(c, r).Next
		},
		Cut: func(id string) (any, error) { return cutOf(c, id) },
	}
	if fleet != nil {
		o.Alerts = func(at time.Time) []dashboard.Alert { return alertsOf(fleet.Now(), at) }
	}
	d, err := dashboard.New(o)
	return &Dashboard{d, c}, err
}

// spentToday returns a function that sums what the runs which began today have spent, by tool, and reads the budgets over all projects: a daemon
// belongs to none.
func spentToday(c *core.Core) func(context.Context, []runs.Entry) dashboard.Spending {
	price := priceNow(c.Config)
	return func(ctx context.Context, list []runs.Entry) (s dashboard.Spending) {
		y, m, d := time.Now().Local().Date()
		midnight := time.Date(y, m, d, 0, 0, 0, 0, time.Local)
		began := slices.DeleteFunc(slices.Clone(list), func(e runs.Entry) bool { return e.Started.Before(midnight) })
		for _, r := range spentBy(began, "tool", price) {
			s.Rows = append(s.Rows, dashboard.Spender{Name: r.Key, Runs: r.Runs, Tokens: r.Input + r.Output, Unpriced: r.Unpriced, Cost: r.Cost, Plan: r.Plan})
		}
		budgets, err := Budgets(ctx, c)
		if err != nil {
			s.Problem = err.Error()
		}
		s.Budgets = slices.DeleteFunc(budgets, func(b Budget) bool { return b.Name != spend.BudgetDay && b.Name != spend.BudgetMonth })
		return s
	}
}

// OwnToken marks that the dashboard checks its token itself: a browser sends it as a cookie. See [listen.Handler].
func (d *Dashboard) OwnToken() {}

// Announce stores the address for `plimsoll watch --url`, until end is called. An error is a warning only.
func (d *Dashboard) Announce(kind, base string) (end func()) {
	end, err := announce(d.core, address{Kind: kind, URL: d.URL(base), PID: os.Getpid()})
	if err != nil {
		d.core.Warn("plimsoll watch --url will not find this dashboard: " + err.Error())
	}
	return end
}

// maxCutText bounds the text in one answer, in bytes.
const maxCutText = 1 << 20

// cutOf returns, for the dashboard, an entry of what was cut from a conversation with its text, of at most maxCutText bytes.
func cutOf(c *core.Core, id string) (any, error) {
	cut, err := window.ReadCut(c, id)
	if err != nil {
		return nil, err
	}
	text := cut.Text
	if len(text) > maxCutText {
		text, cut.Incomplete = text[:maxCutText], true
	}
	return struct {
		window.Entry
		Text string `json:"text"`
	}{cut.Entry, string(text)}, nil
}

// Options are the flags of `plimsoll watch` that are not keys of the configuration.
type Options struct {
	// Listen is the address to listen on; "" means a free port of loopback.
	Listen string
	// Notify also sends notices about all runs, by the way in [watch] notify.
	Notify bool
	// Version of this program.
	Version string
	// Service has the sockets and notifications of the service manager; nil without one.
	Service *systemd.Service
	// Stdout receives the address, Stderr all other messages.
	Stdout, Stderr io.Writer
}

// Serve serves the dashboard until ctx ends or a signal asks for the end.
func Serve(ctx context.Context, c *core.Core, o Options) (err error) {
	settings, err := c.Config.For("")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	token, err := listen.Token(settings.Serve, os.Getenv)
	if err != nil {
		return err
	}
	sender := SendTraces(c, settings, o.Version)
	defer func() { err = errors.Join(err, sender.Close()) }()
	fleet := OpenHosts(c, settings, false)
	defer fleet.Close()
	d, err := NewDashboard(c, settings, token, o.Version, fleet)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	door, err := listen.Door(settings, token, proxy.Options{})
	if err != nil {
		return err
	}
	defer door.Close()
	settings.Serve.Listen = o.Listen
	if o.Listen == "" {
		settings.Serve.Listen = "127.0.0.1:0"
	}
	all, err := Metrics(c)
	if err != nil {
		return err
	}
	defer all.Close()
	ShowTraces(all, sender)
	if fleet != nil {
		all.ShowFleet(fleet.Now)
	}
	taking := make(chan struct{})
	quiet := func() {}
	if o.Notify {
		if quiet, err = Notify(ctx, c, settings.Watch.Notify); err != nil {
			return err
		}
	}
	defer quiet()
	gone := func() {}
	defer func() { gone() }()
	return listen.Until(ctx, listen.Options{
		Serve: settings.Serve, Door: door, Handler: listen.Handler(door, taking, metrics.Handler(all), http.NotFoundHandler(), d), Taking: taking,
		Service: o.Service, Warn: c.Warn,
		Ready: func(base string) {
			gone = d.Announce("watch", base)
			fmt.Fprintln(o.Stdout, d.URL(base))
			fmt.Fprintln(o.Stderr, "plimsoll: the dashboard is there; the address holds its token, so keep it to yourself. Ctrl-C ends it.")
			if o.Notify {
				fmt.Fprintf(o.Stderr, "plimsoll: notices of all runs go to %s\n", printable.Name(settings.Watch.Notify.String()))
			}
		},
		End: func() error {
			stop() // a second signal ends the program at once
			return d.Close()
		},
	})
}
