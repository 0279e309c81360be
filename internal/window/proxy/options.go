// Package proxy is the HTTP proxy between agents and their model providers: it counts, repairs and makes room before a request is sent,
// recovers when a provider refuses one as too long, and is byte-transparent otherwise. docs/window.md tells all that it does.
//
// A path is [/TOKEN]/UPSTREAM/REST. Model requests are POSTs at the providers' known paths (see routes); all else streams through untouched.
// A model request is held, viewed ([wire.Parse]) and becomes a [conversation]: its log is put in again, new messages are repaired and
// mended, the input is counted, and over the trigger room is made (package fit). After each edit the body is validated against what came; an
// edit that breaks a rule is taken back. Then an exchange sends it, and makes it smaller when the provider refuses its length. Answers go
// down as they come. What cannot be read or held goes on as it came.
//
// Bodies, and the memory to look into them, are charged to a budget; larger ones take turns, and what is above MaxHeld (64 MiB) streams
// through in constant memory. Host, Origin, peer and token are checked before anything else; neither keys nor text enter an event, an error
// or a file. A Proxy may be used from any goroutine. `go run ./bench proxy` measures what it costs.
package proxy

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/recent"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/background"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/internal/window/promptcache"
	"github.com/plimsoll/plimsoll/internal/window/rate"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Mode is the extent to which the proxy acts on a model request.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce" // count, repair, make room, recover
	Observe Mode = "observe" // count and report, change nothing
	Off     Mode = "off"     // relay only
)

// The defaults of [Options].
const (
	DefaultMemoryBudget = 256 << 20
	DefaultMaxHeld      = 64 << 20
	DefaultMaxBody      = 1 << 30
	DefaultBudgetWait   = 2 * time.Second

	DefaultTrigger     = fit.DefaultTrigger
	OwnTrigger         = 0.95
	DefaultRetryTarget = 0.60
	DefaultReserve     = fit.DefaultReserve
)

// Options configure a [Proxy]. Zero values mean the defaults.
type Options struct {
	// Upstreams are the providers ([DefaultUpstreams]). Names must differ.
	Upstreams []Upstream
	// Mode is Enforce when empty.
	Mode Mode

	// Token is demanded as the first element of every path (or in the Plimsoll-Token
	// header, or in place of the key where one is injected). It may be empty only when no
	// upstream injects a key and nobody listens beyond loopback.
	Token string
	// Hosts are names, with or without a port, that a Host header may hold besides
	// localhost and loopback addresses with the port of the listener.
	Hosts []string
	// Origins are web origins ("https://host:port") whose pages may use the proxy.
	Origins []string
	// PeerPath is a path element that does in place of the token, on connections that are known to be of this user
	// ([PeerKnown]): for tools that take their address on the command line, which everybody may read. "" is none.
	PeerPath string
	// AnyPeer lets other users of this machine in. The token then is all that keeps them out.
	AnyPeer bool

	// MemoryBudget bounds the bytes of request bodies held at one time, over all requests, with what looking into them takes.
	// A request that gets no room within BudgetWait is answered 503; a giant goes on without a look.
	MemoryBudget int64
	BudgetWait   time.Duration
	// MaxHeld bounds the body that is looked into, decoded. A larger one streams through
	// untouched and is counted: the provider answers it in its own words.
	MaxHeld int64
	// MaxBody bounds a body of any kind; a larger one is answered 413.
	MaxBody int64

	// Trigger is the part of (window − reserve) above which room is made, Target what it is brought down to, RetryTarget what a second try
	// aims at. OwnCompaction says that the client compacts by itself: Trigger then is OwnTrigger or later ([fit.Lines]) by default, so that
	// the client gets the chance. That default also holds for requests whose headers name such a client. The default of Target is
	// [fit.AutoTarget].
	Trigger, Target, RetryTarget float64
	OwnCompaction                bool
	// Reserve caps how many tokens of the requested output are kept free.
	Reserve int
	// NoPreflight makes room only after a provider refused a request. NoRepair leaves calls, results and contents as they are.
	NoPreflight, NoRepair bool

	// OnLoop says what is done about an agent that repeats itself; [LoopWarn] when empty.
	OnLoop LoopAction

	// Counter, Usage, Resolver, Breaker and Compactor do the work; nil makes one with the
	// defaults, in memory. Several proxies of one program may share them.
	Counter   *tokens.Counter
	Usage     *tokens.Usage
	Resolver  *models.Resolver
	Breaker   *breaker.Breaker
	Compactor *compact.Compactor
	// Store keeps what compactions made, so that a conversation that comes again gets the
	// same bytes again. Nil keeps nothing: every turn over the line is compacted anew.
	Store *checkpoint.Store
	// Replicas shares the Store's decisions with other proxies that the same clients ask; nil shares nothing.
	Replicas Replicas

	// Keeper is given what compactions take out of conversations, and with KeepTurns every turn of them. Nil keeps nothing.
	Keeper    Keeper
	KeepTurns bool
	// Recaller returns texts to add to a prompt; nil adds nothing, and requests under the trigger stay as they are to the byte.
	// It needs a Store, in which what was added is kept for the requests that follow.
	Recaller Recaller
	// RecallFor names the owner of the Recaller's memory, a project: what was added there is put into no conversation elsewhere, even one
	// of the same words.
	RecallFor string

	// Summaries decides when a provider is asked to compact a conversation itself, in the background (package native).
	Summaries native.Use

	// Price returns the price of a model at an upstream, false where it is not known; nil knows none.
	Price func(upstream, model string) (models.Price, bool)

	// Rate joins the queue for what providers let through.
	Rate Rate
	// Spend bounds what requests may cost; nil sets no limit.
	Spend *spend.Meter

	// Transport reaches the upstreams; nil makes one ([NewTransport]).
	Transport http.RoundTripper

	// Journal takes the events; nil drops them.
	Journal *journal.Journal
}

// Proxy stands between agents and their model providers. It is an [http.Handler], safe for
// concurrent use. Close it when nobody uses it any more.
type Proxy struct {
	o          Options
	upstreams  map[string]*upstream
	token      *[sha256.Size]byte
	budget     *budget
	transport  http.RoundTripper
	secret     [32]byte // key of scopes where there is no store
	counts     counts
	approved   *recent.Shared[replayed, struct{}] // replays that broke no rule
	views      *wire.Views
	sent       *recent.Shared[conversationPrefix, sentAs] // requests that were taken, by their client's messages
	kept       knownPrefixes                              // of conversations whose turns the Keeper has
	unrecalled knownPrefixes                              // of prompts for which nothing was recalled
	looped     knownPrefixes                              // of requests whose loop was told
	bound      *recent.Shared[string, struct{}]           // upstreams and models that have refused reasoning behind another beginning
	refusing   *recent.Shared[string, struct{}]           // conversations in which reasoning was refused
	lessons    *recent.Shared[string, mend.Options]       // what providers have taught of contents, by conversation
	threads    *recent.Shared[string, knownLog]           // of shared logs, by name
	caches     promptcache.Lifetimes                      // of the providers
	plans      *recent.Shared[string, rate.Plan]          // as they were told last, by login and window
	sizes      expectations
	waits      waits
	standing   atomic.Int64 // bytes of bodies that wait for their provider
	summaries  *background.Jobs
	ownLine    bool // no trigger was set: that of clients that compact by themselves is OwnTrigger
	now        func() time.Time
	requests   atomic.Uint64 // to models, so far
	skew       atomic.Int64  // by which the clock of AWS is ahead of ours, in nanoseconds
	pauses     pauses        // lengths of pauses in answers
	bodyIdle   time.Duration
}

// New returns a Proxy, or an error that names the option that is wrong.
func New(o Options) (*Proxy, error) {
	if o.Upstreams == nil {
		o.Upstreams = DefaultUpstreams()
	}
	switch o.Mode {
	case "":
		o.Mode = Enforce
	case Enforce, Observe, Off:
	default:
		return nil, fmt.Errorf("the mode of the window plane is %q; use enforce, observe or off", o.Mode)
	}
	switch o.OnLoop {
	case "":
		o.OnLoop = LoopWarn
	case LoopWarn, LoopHint, LoopStop:
	default:
		return nil, fmt.Errorf("on_loop of the window plane is %q; use warn, hint or stop", o.OnLoop)
	}
	ownLine := o.Trigger == 0
	setDefaults(&o)
	if err := checkFractions(o); err != nil {
		return nil, err
	}
	p := &Proxy{
		approved: recent.NewShared[replayed, struct{}](maxApproved, nil), sent: recent.NewShared[conversationPrefix, sentAs](maxPrefixes, conversationPrefix.sum),
		kept: newKnownPrefixes(), unrecalled: newKnownPrefixes(), looped: newKnownPrefixes(), bound: recent.NewShared[string, struct{}](maxBound, nil),
		refusing: recent.NewShared[string, struct{}](maxBound, nil), lessons: recent.NewShared[string, mend.Options](maxBound, nil),
		plans: recent.NewShared[string, rate.Plan](maxPlans, nil), threads: recent.NewShared[string, knownLog](maxPrefixes, nil),
		o: o, upstreams: map[string]*upstream{}, budget: newBudget(o.MemoryBudget, o.BudgetWait), transport: o.Transport, views: wire.NewViews(0), bodyIdle: bodyIdle, now: time.Now, ownLine: ownLine,
	}
	for _, u := range o.Upstreams {
		up, err := newUpstream(u)
		if err != nil {
			return nil, err
		}
		if p.upstreams[u.Name] != nil {
			return nil, fmt.Errorf("upstream %s is given twice", u.Name)
		}
		if (up.key != "" || up.AWS != nil) && o.Token == "" {
			return nil, fmt.Errorf("upstream %s: a proxy that adds a key or signs for its clients needs a token, or everyone on this machine could use the key", u.Name)
		}
		p.upstreams[u.Name] = up
	}
	if o.Token != "" {
		if len(o.Token) < 16 {
			return nil, errors.New("the token of the proxy is shorter than 16 characters and could be guessed; leave it to plimsoll to make one")
		}
		sum := sha256.Sum256([]byte(o.Token))
		p.token, p.o.Token = &sum, ""
	}
	_, _ = rand.Read(p.secret[:]) // never fails
	p.summaries = background.New(background.Options{Memory: budgeted{p.budget}})
	if p.transport == nil {
		p.transport = NewTransport()
	}
	return p, nil
}

// setDefaults fills in the options that are not set, and lowers MaxHeld to what can ever get room.
func setDefaults(o *Options) {
	set := func(v *int64, standard int64) {
		if *v <= 0 {
			*v = standard
		}
	}
	set(&o.MemoryBudget, DefaultMemoryBudget)
	set(&o.MaxBody, DefaultMaxBody)
	set(&o.MaxHeld, DefaultMaxHeld)
	// What can never get room is better streamed through than refused.
	o.MaxHeld = min(o.MaxHeld, o.MemoryBudget, o.MaxBody)
	if o.BudgetWait <= 0 {
		o.BudgetWait = DefaultBudgetWait
	}
	if o.Trigger == 0 {
		o.Trigger = DefaultTrigger
		if o.OwnCompaction {
			o.Trigger = OwnTrigger
		}
	}
	if o.Target == 0 {
		o.Target = fit.AutoTarget(o.Trigger)
	}
	o.RetryTarget = cmp.Or(o.RetryTarget, max(DefaultRetryTarget, o.Target))
	o.Reserve = cmp.Or(max(o.Reserve, 0), DefaultReserve)
	if o.Counter == nil {
		o.Counter = tokens.NewCounter(tokens.Options{})
	}
	if o.Usage == nil {
		o.Usage = tokens.NewUsage(tokens.UsageOptions{})
	}
	if o.Resolver == nil {
		o.Resolver = models.NewResolver(models.Options{})
	}
	if o.Breaker == nil {
		o.Breaker = breaker.New(breaker.Options{})
	}
	if o.Compactor == nil {
		o.Compactor = compact.New(compact.Options{})
	}
}

// checkFractions returns an error if trigger, target or retry target is out of range.
func checkFractions(o Options) error {
	switch {
	case !(o.Trigger > 0 && o.Trigger <= 1):
		return fmt.Errorf("trigger is %g; it is a part of the window, above 0 and at most 1", o.Trigger)
	case !(o.Target > 0 && o.Target < o.Trigger):
		return fmt.Errorf("target is %g; it must be above 0 and below trigger (%g), or every request would be cut again", o.Target, o.Trigger)
	case !(o.RetryTarget > 0 && o.RetryTarget <= 1):
		return fmt.Errorf("retry_target is %g; it is a part of the window, above 0 and at most 1", o.RetryTarget)
	}
	return nil
}

// Close ends summaries in the background and idle connections to upstreams.
func (p *Proxy) Close() {
	p.summaries.Close()
	p.waits.close(p)
	if t, ok := p.transport.(interface{ CloseIdleConnections() }); ok && p.o.Transport == nil {
		t.CloseIdleConnections()
	}
}

// journalEvent appends an event to the journal, if there is one.
func (p *Proxy) journalEvent(e journal.Event) {
	if p.o.Journal != nil {
		p.o.Journal.Append(e)
	}
}
