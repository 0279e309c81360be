// Package window wires the window plane, for the proxy of a run and for the daemon, and is the
// commands that show what was cut: `plimsoll runs --cuts`.
//
//	plane, err := window.Open(app, settings, window.Options{Journal: events, Upstreams: upstreams, Warn: app.Warn})
//	defer plane.Close()
//	server, err := plane.Proxy.Listen(proxy.ListenOptions{Addr: "127.0.0.1:0"})
//
// A part that can't be opened (a state directory that is not ours) is said and left out: the proxy
// works without it. A [Plane] is safe for concurrent use; it is closed once. The package is tested by
// its own tests, through daemon.Run and by e2e.
package window

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/rates"
	"github.com/plimsoll/plimsoll/internal/footprint"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/internal/window/rate"
	"github.com/plimsoll/plimsoll/internal/window/served"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
)

// Plane is the proxy with all that it is wired to.
type Plane struct {
	Proxy     *proxy.Proxy
	Upstreams []proxy.Upstream
	Token     bool
	rate      *rate.Share
	trusting  *http.Transport // the proxy's, when it is not its own
	end       chan struct{}   // closed by Close
	swept     sync.WaitGroup
}

// sweepEvery is the interval at which a breaker is asked for steps of recovery, so that one shows also when no request comes.
const sweepEvery = time.Minute

// Options hold what differs between a run and the daemon.
type Options struct {
	Journal   *journal.Journal
	Run       string // see [proxy.Rate]
	People    bool
	Token     string
	PeerPath  string // see [proxy.Options.PeerPath]
	Upstreams []proxy.Upstream
	Own       bool // the client compacts by itself
	// Models holds what the client's own settings say that models take, by the name of their upstream.
	Models map[string][]models.Listing
	// Keeper, KeepTurns, Recaller and RecallFor join the memory; see [proxy.Options].
	Keeper    proxy.Keeper
	KeepTurns bool
	Recaller  proxy.Recaller
	RecallFor string
	// Replicas shares decisions about conversations with other daemons; see [proxy.Options].
	Replicas proxy.Replicas
	// Spend counts and bounds what requests cost; nil does neither.
	Spend *spend.Meter
	// Exhausted says that the agent itself died of memory a moment ago.
	Exhausted bool
	Warn      func(string)
}

// heapBeside is the part that the soft limit of the Go memory allows beside the bodies of requests: a quarter of them for what the
// collector has not taken yet, and all else that a daemon holds.
const heapBeside = 32 * limit.MiB

// boundHeap keeps the collector from leaving as much garbage as there are bodies.
func boundHeap(bodies limit.Bytes) { footprint.Bound(int64(bodies + bodies/4 + heapBeside)) }

// Narrowed is told to the user where the agent died of memory a moment ago.
const Narrowed = "the last run was killed for lack of memory: half of the context window is used for now, and all of it again after 20 quiet minutes"

// Open wires the window plane from a configuration. A part that can't be opened (a state directory that is not ours) is said and left out: the
// proxy works without it. The error is about settings that contradict themselves or name no summarizer.
func Open(app *core.Core, s config.Settings, o Options) (*Plane, error) {
	w := s.Window
	boundHeap(w.BodyMemory)
	po := proxy.Options{
		Upstreams: o.Upstreams, Mode: proxy.Mode(w.Mode), Token: o.Token, PeerPath: o.PeerPath,
		Hosts: s.Serve.Hosts, Origins: s.Serve.Origins, AnyPeer: s.Serve.AnyUser,
		MemoryBudget:  int64(w.BodyMemory),
		OwnCompaction: o.Own, Summaries: native.ParseUse(w.Summarizer),
		NoPreflight: !w.Compact, NoRepair: !w.Repair, OnLoop: proxy.LoopAction(w.OnLoop),
		Breaker: breaker.New(breaker.Options{}), Journal: o.Journal,
		Spend: o.Spend, Replicas: o.Replicas, Keeper: o.Keeper, KeepTurns: o.KeepTurns, Recaller: o.Recaller, RecallFor: o.RecallFor,
	}
	if o.Spend != nil && po.Mode == proxy.Off { // what passes unseen costs too
		po.Mode = proxy.Observe
	}
	// A client that compacts by itself gets the chance, unless somebody said otherwise.
	trigger := w.Trigger
	if s.Source("window.trigger").Origin != config.OriginDefault {
		po.Trigger = trigger
	} else if o.Own {
		trigger = proxy.OwnTrigger
	}
	po.Target = targetOf(s, trigger)
	trusting := listen.Transport(os.Getenv, o.Warn)
	if trusting != nil {
		po.Transport = trusting
	}
	var err error
	if po.Compactor, err = compactorOf(w, o); err != nil {
		return nil, err
	}
	if po.Store, err = openStore(app, w, o.Journal); err != nil {
		o.Warn("compactions are kept in memory only, and lost at the end: " + err.Error())
	}
	po.Resolver = Resolver(app, w, o.Warn)
	if w.RateQueue {
		po.Rate = proxy.Rate{Share: openRate(app, s, o), Run: o.Run, People: o.People}
	}
	po.Price = core.Prices(app.Config)
	if o.Exhausted {
		tellMoves(o.Journal, po.Breaker.OutOfMemory())
		o.Warn(Narrowed)
	}
	plane := &Plane{rate: po.Rate.Share, Upstreams: o.Upstreams, Token: o.Token != "", trusting: trusting, end: make(chan struct{})}
	if plane.Proxy, err = proxy.New(po); err != nil {
		return nil, err
	}
	for upstream, listed := range o.Models {
		plane.Proxy.Tell(upstream, listed)
	}
	plane.swept.Go(func() {
		every := time.NewTicker(sweepEvery)
		defer every.Stop()
		for {
			select {
			case <-plane.end:
				return
			case <-every.C:
				tellMoves(o.Journal, po.Breaker.Sweep())
			}
		}
	})
	return plane, nil
}

// targetOf returns the target for a trigger, 0 for the proxy's default. Where a project's file had a hand in it, a target that is not below is the
// default: a repository must not be able to switch the proxy off. What the user has set to contradict itself is left to proxy.New, which says so.
func targetOf(s config.Settings, trigger float64) float64 {
	project := s.Source("window.target").Origin == config.OriginProject || s.Source("window.trigger").Origin == config.OriginProject
	if s.Window.Target >= trigger && project {
		return 0
	}
	return max(s.Window.Target, 0)
}

// Close ends what the plane holds open. It must be called once only.
func (w *Plane) Close() {
	close(w.end)
	w.swept.Wait()
	w.Proxy.Close()
	if w.rate != nil {
		w.rate.Close()
	}
	if w.trusting != nil {
		w.trusting.CloseIdleConnections()
	}
}

// tellMoves writes down moves of a breaker that no request made. One of all models has no limit of its own.
func tellMoves(j *journal.Journal, moves []breaker.Change) {
	for _, c := range moves {
		j.Append(journal.WindowBreaker{Upstream: c.Upstream, Model: c.Model, State: c.State, Reason: c.Reason})
	}
}

// openRate opens what the runs of this host, and of its fleet, know together of their providers' rate limits.
func openRate(app *core.Core, s config.Settings, o Options) *rate.Share {
	dir := ""
	if state, err := app.Dirs.State(); err == nil {
		dir = filepath.Join(state, "window", "rate")
	}
	share := rate.Open(dir, func(err error) { o.Warn("window.rate_queue: " + err.Error()) })
	if hosts := app.OpenFleet(s); hosts != nil {
		share.Join(rates.NewTeam(hosts.Bucket(fleet.Rates)))
	}
	return share
}

// limitsDir returns where limits that providers taught are kept, "" when nothing can be.
func limitsDir(app *core.Core) string {
	state, err := app.Dirs.State()
	if err != nil {
		return ""
	}
	return filepath.Join(state, "window", "limits")
}

// Resolver returns the resolver of models' windows: by the settings, what providers taught earlier runs, what a local server says, and the
// catalogue.
func Resolver(app *core.Core, w config.WindowSettings, warn func(string)) *models.Resolver {
	return models.NewResolver(models.Options{Dir: limitsDir(app), Overrides: core.Overrides(w), Warn: warn, Ask: served.New(nil).Window})
}

// summaryBudget bounds the tokens that summaries by a model cost in one run; after that they are picked out without a model.
const summaryBudget = 200_000

// compactorOf returns the compactor that the settings describe. It is an error if the summarizer is unknown, or its model cannot be used.
func compactorOf(w config.WindowSettings, told Options) (*compact.Compactor, error) {
	o := compact.Options{
		MinMessages: w.MinMessages, ResultBytes: max(w.MaxToolOutput, 0), WholeResults: !w.CutResults, SummaryBudget: summaryBudget,
	}
	// Where the provider's own compaction is not to be had, lines are chosen.
	if o.Style = compact.Extractive; native.ParseUse(w.Summarizer) == native.Never {
		var known bool
		if o.Style, known = compact.ParseStyle(w.Summarizer); !known {
			return nil, fmt.Errorf("[window] summarizer is %q; use auto, provider, extractive, model or off", w.Summarizer)
		}
	}
	if o.Style == compact.Model {
		writer, err := newSummarizer(w)
		if err != nil {
			return nil, err
		}
		o.Summarizer = writer
		o.Summaries = func(s compact.Summary) { tellSummary(told, s) }
	}
	return compact.New(o), nil
}

// tellSummary writes to the journal whether a model wrote a summary. If it failed so that the model will not be asked for a while, it also warns.
func tellSummary(o Options, s compact.Summary) {
	e := journal.WindowSummary{Outcome: s.Outcome, Took: s.Took, Rest: s.Rest}
	if s.Err != nil {
		e.Error = limit.Clip(strings.TrimPrefix(s.Err.Error(), "compact: "), 200)
	}
	o.Journal.Append(e)
	if s.Rest > 0 {
		o.Warn(fmt.Sprintf("summaries are made without the model for the next %v: %s", s.Rest, e.Error))
	}
}

// Upstreams returns the providers of [upstream], with the keys that are to be added.
func Upstreams(ctx context.Context, u config.UpstreamSettings) ([]proxy.Upstream, error) {
	list := []proxy.Upstream{
		{Name: "openai", Provider: proxy.OpenAI, URL: u.OpenAI, KeyEnv: u.OpenAIKey},
		{Name: "anthropic", Provider: proxy.Anthropic, URL: u.Anthropic, KeyEnv: u.AnthropicKey},
		{Name: "gemini", Provider: proxy.Gemini, URL: u.Gemini, KeyEnv: u.GeminiKey},
	}
	if u.Bedrock == "" {
		return list, nil
	}
	bedrock := proxy.Upstream{Name: "bedrock", Provider: proxy.Bedrock, URL: u.Bedrock}
	if os.Getenv(bedrockKey) != "" { // which AWS's own tools prefer
		bedrock.KeyEnv = bedrockKey
		return append(list, bedrock), nil
	}
	signer, err := signerFor(ctx, u.Bedrock)
	if err != nil {
		return nil, err
	}
	bedrock.AWS = signer
	return append(list, bedrock), nil
}
