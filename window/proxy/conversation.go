package proxy

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/client"
	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/fit"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A conversation is what is sent of a model request: at first what came; then repaired, with its kept compaction put back in,
// counted, and brought under the line where it is over. When an edit breaks a rule of the provider, it is what came again.
type conversation struct {
	*modelRequest

	family tokens.Family
	who    string // upstream and credential, only ever hashed
	scope  checkpoint.Scope
	ledger string // scope, upstream and model in one
	name   string // names the conversation
	chain  []tokens.Digest

	view    *compact.View // repaired, with the checkpoint put in
	request *wire.Request // what view became: it is sent
	content []byte        // request's body, packed as the client packed it
	packed  *wire.Request // that content was made of, when it was edited
	edited  bool

	tally  tokens.Tally
	in     tokens.Estimate // input of request, in the provider's tokens
	how    tokens.Counted
	window models.Window // in force
	whole  models.Window // before the breaker
	strict bool

	result    *compact.Result // of the newest compaction, until it is kept
	plain     *wire.Request   // what came, repaired, before anything was added to it
	client    *tokens.Tally   // of plain, where it was asked what is to be added; else nil
	recalled  []string        // what was added to its prompts
	added     additions       // names that; else zero
	addedTo   []int           // the messages that it stands in
	speaker   *client.Speaker
	cutKept   []int // messages that the Keeper has as cut
	turnsKept bool  // it has all of them

	idle     time.Duration // for which the conversation was quiet before; 0 where that is not known
	standing topic.Sign    // of the boundary that the request stands at

	generation int      // of the checkpoint that was put in
	replayed   replayed // names it where the client's calls were in order; else zero
	repairs    []repair.Action
	actions    []string
}

// prepare makes of what came what is sent: calls and results paired, the conversation's
// checkpoint put back in, counted, and brought under the line where it is over. The error
// is the answer when it cannot be made to fit.
func (t *conversation) prepare() error {
	t.upTo(t.received)
	enforce := t.p.o.Mode == Enforce && t.received.Bypass == wire.BypassNone
	if t.received.Bypass != wire.BypassNone {
		t.p.passed(t.rt, "aside", t.received.Bypass.String())
	}
	request := t.received
	if t.p.o.Mode == Enforce && !t.p.o.NoRepair {
		request = t.repair() // it knows for itself when to stand aside
	}
	t.plain = request
	if enforce {
		request = t.recall(request)
	}
	if err := t.replay(request, enforce); err != nil {
		return err
	}
	t.keepTurn()
	t.measure()
	t.look()
	if err := t.r.Context().Err(); err != nil {
		return err // nobody waits for the answer: no room is made for it
	}
	t.repaired()
	if enforce {
		if err := t.fit(); err != nil {
			return err
		}
	}
	if err := t.pack(); err != nil {
		return err
	}
	t.p.event(journal.WindowRequest{
		Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Request: t.rt.request, Conversation: t.name,
		Messages: len(t.request.Messages), Tokens: int64(t.in.Best), Low: int64(t.in.Low), High: int64(t.in.High), Counted: string(t.how),
		LimitTokens: int64(t.window.Context), LimitSource: t.window.Source,
		ReceivedBytes: int64(len(t.body.bytes)), ForwardedBytes: int64(len(t.content)),
		Replayed: t.view.Replayed(), Overhead: time.Since(t.readAt),
	})
	return nil
}

// upTo finds out who and what a request belongs to.
func (t *conversation) upTo(r *wire.Request) {
	t.who = t.rt.up.Name + "\x00" + credential(t.r.Header, t.r.URL.RawQuery)
	t.scope = t.p.scope(t.who)
	t.ledger = t.scope.String() + t.upstream + "\x00" + t.model
	t.family = tokens.FamilyOf(string(t.rt.up.Provider), t.model)
	state, changes := t.p.o.Breaker.State(t.upstream, t.model)
	t.breaker(changes)
	t.whole, t.strict = t.p.o.Resolver.Window(t.upstream, t.model, t.betas), state.Strict
	t.window = t.whole
	if state.Factor < 1 {
		t.window.Context = int(float64(t.window.Context) * state.Factor)
		t.window.Input = int(float64(t.window.Input) * state.Factor)
		t.window.Source = "breaker"
	}
}

// repair pairs calls and results. What goes wrong leaves the request as it is.
func (t *conversation) repair() *wire.Request {
	o := repair.Options{}
	if t.rt.up.Provider == Bedrock {
		o.MaxID = repair.BedrockMaxID
	}
	next, done, err := repair.Repair(t.received, o)
	if err != nil || next == t.received {
		return t.received
	}
	t.repairs = done
	t.actions = append(t.actions, fmt.Sprintf("repaired:%d", len(done)))
	return next
}

// replay puts the conversation's checkpoint in.
func (t *conversation) replay(request *wire.Request, enforce bool) error {
	t.body.pooled = t.body.pooled && request == t.received
	switch {
	case t.client == nil:
		t.tally = t.p.o.Counter.Tally(request, t.family)
	case request == t.plain:
		t.tally = *t.client
	default:
		t.tally = t.p.o.Counter.TallyEdited(*t.client, request, t.addedTo)
	}
	t.chain = t.tally.Chain
	if t.name == "" {
		t.name = compact.Conversation(request, t.chain)
	}
	var c *checkpoint.Checkpoint
	if enforce {
		c = checkpoint.Lookup(t.p.o.Store, t.scope, t.chain)
	}
	if c != nil && t.fitsWhole() && !t.p.o.Compactor.Oversized(request) {
		c = nil
	}
	view, err := compact.Replay(request, c)
	if err != nil { // a checkpoint that does not fit its own chain is damaged: go on without
		if view, err = compact.Replay(request, nil); err != nil {
			return err
		}
	}
	t.use(view, view.Request)
	if view.Replayed() {
		t.generation = c.Generation
		if t.plain == t.received {
			t.replayed = nameReplay(c, t.chain)
			t.replayed.added = t.added
		}
		t.tally = t.p.o.Counter.Tally(t.request, t.family)
		t.actions = append(t.actions, "replayed")
	} else if t.plain == t.received {
		t.replayed = replayed{added: t.added}
	}
	return nil
}

// fitsWhole reports that the conversation needs no compaction any more: its window was raised, or learned to be larger, since one
// was kept. What it had cut is sent again.
func (t *conversation) fitsWhole() bool {
	in := t.p.o.Usage.Input(t.ledger, t.tally)
	return !t.window.Guessed() && t.lines().Fits(in.Estimate)
}

// use makes request, which comes of view, what is sent.
func (t *conversation) use(view *compact.View, request *wire.Request) {
	if view != t.view {
		t.replayed = replayed{}
	}
	t.view, t.request = view, request
	t.edited = request != t.received
	if t.edited {
		t.body.pooled = false // stored patches may share the body's memory
	}
}

// measure counts what is to be sent.
func (t *conversation) measure() {
	in := t.p.o.Usage.Input(t.ledger, t.tally)
	t.in, t.how = in.Estimate, in.Counted
}

// recount is measure after an edit. What is new in the request is measured against what
// was found for the one before it: an exact count is not lost to a wide band.
func (t *conversation) recount() {
	before, total := t.in, t.tally.Total.Best
	t.tally = t.p.o.Counter.Tally(t.request, t.family)
	t.measure()
	if t.how == tokens.CountedEstimate && total > 0 {
		part := float64(t.tally.Total.Best) / float64(total)
		scaled := func(n int) int { return int(float64(n)*part + 0.5) }
		t.in = tokens.Estimate{Low: scaled(before.Low), Best: scaled(before.Best), High: scaled(before.High)}
	}
}

// room is how many tokens of input fit beside the reserve.
func (t *conversation) room() int {
	return t.window.ForInput(fit.Reserve(t.received.MaxOutput, t.p.o.Reserve, t.window))
}

// fit brings a request that is over the trigger to the target. Where it is only the
// requested output that does not fit, that is lowered.
func (t *conversation) fit() error {
	if err := t.boundResults(); err != nil {
		return err
	}
	room := t.room()
	if room <= 0 || !t.enforced() {
		return nil
	}
	trigger := t.lines().TriggerTokens()
	// Under the trigger nothing is touched, over the room nothing is sent. Only a band that
	// spans both lines leaves no answer that keeps both.
	over, sure := t.in.Over(trigger, room)
	if over && (!sure || t.cleared()) {
		t.ask()
		over, _ = t.in.Over(trigger, room)
	}
	boundary, found := t.boundary(over)
	if !over && !found || t.p.o.NoPreflight {
		t.fitOutput()
		return nil
	}
	goal, reason := t.goal(), t.reasonFor(room)
	if found {
		goal, reason = t.lines().BoundaryGoal(t.in, boundary.At, over), reasonTopic
		goal.Strict = t.strict
	}
	err := t.compact(goal, reason)
	if tooLarge, ok := errors.AsType[*compact.DoesNotFit](err); ok {
		err = t.bestEffort(tooLarge)
	}
	if err != nil && !errors.Is(err, errNoGain) {
		return err
	}
	t.fitOutput()
	return nil
}

// boundResults cuts the results of tools that are larger than the user allows, whether room is needed or not.
func (t *conversation) boundResults() error {
	if !t.p.o.Compactor.Oversized(t.request) {
		return nil
	}
	const enough = math.MaxInt32 // tokens: no room is to be made
	if err := t.compact(compact.Goal{Target: enough, Limit: enough}, "result_size"); !errors.Is(err, errNoGain) {
		return err
	}
	return nil
}

// enforced reports that somebody has said what the window is, or that the provider has refused something lately.
func (t *conversation) enforced() bool {
	return fit.Enforced(t.window, models.CutsSilently(t.upstream, t.model))
}

func (t *conversation) reasonFor(room int) string {
	if t.in.High > room {
		return "limit"
	}
	return "trigger"
}

// lines are those of the request in hand.
func (t *conversation) lines() fit.Lines {
	return fit.Lines{Room: t.room(), Trigger: t.p.o.Trigger, Target: t.p.o.Target, Topic: t.p.o.Topic}
}

// goal is where a compaction goes.
func (t *conversation) goal() compact.Goal {
	goal := t.lines().Goal(t.in)
	goal.Strict = t.strict
	return goal
}

// bestEffort decides about a request whose sacred part is over the limit. When even the
// lower estimate is over the whole window, it is answered here; else it goes out as small
// as it gets, and the provider decides. A window that is only a default, or that the
// breaker has made smaller, is no reason to refuse.
func (t *conversation) bestEffort(e *compact.DoesNotFit) error {
	if fit.MustRefuse(e, t.in, t.whole) {
		return tooLong(t.rt.dialect, e.Total, t.whole.Context, e.Error())
	}
	goal := t.goal()
	goal.Limit = e.Total
	err := t.compact(goal, "limit")
	if _, again := errors.AsType[*compact.DoesNotFit](err); again {
		return errNoGain
	}
	return err
}

// compact makes room, one request of a conversation at a time: a second one of the same
// conversation waits and finds what the first has stored.
func (t *conversation) compact(goal compact.Goal, reason string) error {
	ctx := t.r.Context()
	t.body.room.endTurn() // others look while this one waits for its conversation, or a model's summary
	unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.name)
	if err != nil {
		return err
	}
	defer unlock()
	if reason != "overflow" && t.adopt(goal) {
		return nil
	}
	room := &t.body.room
	size := giantSize(int64(len(t.request.Body)), lookCost(t.request.Body))
	alone := goal.NoModel || !t.p.o.Compactor.AsksModel()
	if !room.grow(ctx, room.n+2*int64(len(t.request.Body))) || alone && !room.takeTurn(ctx, size) {
		err := t.p.noRoom(ctx, size)
		if errors.Is(err, errGiants) { // it goes on as large as it is
			t.p.passed(t.rt, "giants", "no memory to make room in it")
			return errNoGain
		}
		return err
	}
	defer room.endTurn()
	began := time.Now()
	res, err := t.p.o.Compactor.Compact(ctx, t.view, fit.Sizes(t.p.o.Counter, t.family, t.in, t.tally), goal)
	gained := err == nil && res.Changed() && len(res.Request.Body) < len(t.request.Body)
	if !gained {
		t.unused(&res)
	}
	switch _, tooLarge := errors.AsType[*compact.DoesNotFit](err); {
	case tooLarge || ctx.Err() != nil:
		return err
	case err != nil: // an edit that cannot be made is our fault: the request goes on without it
		t.p.passed(t.rt, "invalid", "an edit could not be made")
		return errNoGain
	case !gained:
		return errNoGain
	}
	t.result = &res
	c := compact.Checkpoint(t.view, &res, t.chain)
	t.use(t.view, res.Request)
	if err := t.pack(); err != nil {
		return err
	}
	if t.result == nil { // taken back: what breaks a rule must not come again with every turn
		return errNoGain
	}
	if c != nil && reason != "overflow" && t.keep(c) {
		if err := t.pack(); err != nil {
			return err
		}
	}
	t.keepCut(&res)
	t.recount()
	t.actions = append(t.actions, "compacted:"+strings.Join(res.Rungs, "+"))
	id := ""
	if c != nil {
		id = checkpoint.EntryID(c)
	}
	t.p.event(journal.WindowCompacted{
		Upstream: t.rt.up.Name, Model: t.model, Request: t.rt.request, Conversation: t.name, Checkpoint: id, Reason: reason, Boundary: t.sign(reason), Rungs: res.Rungs,
		Before: int64(res.Before), After: int64(res.After), Messages: res.Messages, CutBytes: res.CutBytes, Took: time.Since(began),
		SummaryIn: int64(res.SummaryIn), SummaryOut: int64(res.SummaryOut), SummaryError: errorText(res.SummaryError),
	})
	return nil
}

// pack makes the bytes to send. After an edit they are validated against what came: when
// the edit broke a rule, what came goes on and the journal says so. A replay that broke none
// before is not validated again.
func (t *conversation) pack() error {
	switch {
	case !t.edited:
		t.content = t.body.bytes
		return nil
	case t.packed == t.request:
		return nil
	}
	body := withoutChecksum(t.request)
	replay := t.replayed
	if t.request != t.view.Request {
		replay = replayed{} // and something else
	}
	if !t.p.approved.has(replay) {
		before, after := t.received.Body, body
		if replay.generation == 0 && replay.added != (additions{}) && t.plain == t.received {
			// Nothing but words behind prompts, and each such message keeps the rules by itself: the rest is what came.
			before, after = t.received.Excerpt(t.addedTo), t.request.Excerpt(t.addedTo)
		}
		if err := wire.ValidateEdit(t.rt.dialect, before, after); err != nil {
			rule := "unknown"
			if invalid, ok := errors.AsType[*wire.Invalid](err); ok {
				rule = invalid.Rule
			}
			t.unedited(fmt.Sprintf("an edit broke the rule %s and was taken back", rule))
			return nil
		}
		t.p.approved.add(replay)
	}
	encoding := t.r.Header.Get("Content-Encoding")
	packed, err := wire.Encode(encoding, body)
	if err != nil {
		t.unedited("the edited body could not be packed")
		return nil
	}
	t.content, t.packed = packed, t.request
	return nil
}

// unedited goes back to what the client sent.
func (t *conversation) unedited(why string) {
	view, err := compact.Replay(t.received, nil)
	if err != nil {
		return // without a checkpoint there is nothing that can fail
	}
	t.use(view, t.received)
	t.result = nil
	t.actions = []string{"taken-back"}
	t.tally = t.p.o.Counter.Tally(t.received, t.family)
	t.measure()
	t.content = t.body.bytes
	t.p.passed(t.rt, "invalid", why)
}
