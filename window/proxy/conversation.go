package proxy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/breaker"
	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// prepare makes of what came what is sent: calls and results paired, the conversation's
// checkpoint put back in, counted, and brought under the line where it is over. The error
// is the answer when it cannot be made to fit.
func (t *turn) prepare() error {
	t.upTo(t.received)
	enforce := t.p.o.Mode == Enforce && t.received.Aside == wire.AsideNone
	if t.received.Aside != wire.AsideNone {
		t.p.passed(t.rt, "aside", t.received.Aside.String())
	}
	client := t.received
	if t.p.o.Mode == Enforce && !t.p.o.NoRepair {
		client = t.repair() // it knows for itself when to stand aside
	}
	if err := t.replay(client, enforce); err != nil {
		return err
	}
	t.measure()
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
		Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Conversation: t.talk,
		Messages: len(t.request.Messages), Tokens: int64(t.in.Best), Low: int64(t.in.Low), High: int64(t.in.High), Counted: string(t.how),
		LimitTokens: int64(t.window.Context), LimitSource: t.window.Source,
		ReceivedBytes: int64(len(t.body.bytes)), ForwardedBytes: int64(len(t.content)),
		Replayed: t.view.Replayed(), Overhead: time.Since(t.readAt),
	})
	return nil
}

// upTo finds out who and what a request belongs to.
func (t *turn) upTo(r *wire.Request) {
	who := t.rt.up.Name + "\x00" + credential(t.r.Header, t.r.URL.RawQuery)
	t.scope = t.p.scope(who)
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

// breaker journals the moves of the working limit.
func (t *turn) breaker(changes []breaker.Change) {
	for _, c := range changes {
		limit := 0
		if c.Model != "" {
			limit = int(float64(t.p.o.Resolver.Window(c.Upstream, c.Model, t.betas).Context) * c.Factor)
		}
		name := c.Upstream
		if c.Upstream == t.upstream {
			name = t.rt.up.Name
		}
		t.p.event(journal.WindowBreaker{Upstream: name, Model: c.Model, State: c.State, LimitTokens: int64(limit), Reason: c.Reason})
	}
}

// repair pairs calls and results. What goes wrong leaves the request as it is.
func (t *turn) repair() *wire.Request {
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

// repaired journals what was repaired, by kind.
func (t *turn) repaired() {
	for i, a := range t.repairs {
		same := func(b repair.Action) bool { return b.Kind == a.Kind }
		if slices.ContainsFunc(t.repairs[:i], same) {
			continue
		}
		count := 0
		for _, b := range t.repairs[i:] {
			if same(b) {
				count++
			}
		}
		t.p.event(journal.WindowRepaired{
			Upstream: t.rt.up.Name, Model: t.model, Conversation: t.talk, What: a.Kind, Count: count, CallID: clip(a.CallID, 64),
		})
	}
}

// replay puts the conversation's checkpoint in.
func (t *turn) replay(client *wire.Request, enforce bool) error {
	t.body.pooled = t.body.pooled && client == t.received
	t.tally = t.p.o.Counter.Tally(client, t.family)
	t.chain = t.tally.Chain
	t.talk = compact.Conversation(client, t.chain)
	var c *checkpoint.Checkpoint
	if enforce {
		c = checkpoint.Lookup(t.p.o.Store, t.scope, t.chain)
	}
	view, err := compact.Replay(client, c)
	if err != nil { // a checkpoint that does not fit its own chain is damaged: go on without
		if view, err = compact.Replay(client, nil); err != nil {
			return err
		}
	}
	t.use(view, view.Request)
	if view.Replayed() {
		t.generation = c.Generation
		if client == t.received {
			t.replayed = nameReplay(c, t.chain)
		}
		t.tally = t.p.o.Counter.Tally(t.request, t.family)
		t.actions = append(t.actions, "replayed")
	}
	return nil
}

// use makes request, which comes of view, what is sent.
func (t *turn) use(view *compact.View, request *wire.Request) {
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
func (t *turn) measure() {
	in := t.p.o.Usage.Input(t.ledger, t.tally)
	t.in, t.how = in.Estimate, in.Counted
}

// recount is measure after an edit. What is new in the request is measured against what
// was found for the one before it: an exact count is not lost to a wide band.
func (t *turn) recount() {
	before, total := t.in, t.tally.Total.Best
	t.tally = t.p.o.Counter.Tally(t.request, t.family)
	t.measure()
	if t.how == tokens.CountedEstimate && total > 0 {
		part := float64(t.tally.Total.Best) / float64(total)
		scaled := func(n int) int { return int(float64(n)*part + 0.5) }
		t.in = tokens.Estimate{Low: scaled(before.Low), Best: scaled(before.Best), High: scaled(before.High)}
	}
}

// pack makes the bytes to send. After an edit they are validated against what came: when
// the edit broke a rule, what came goes on and the journal says so. A replay that broke none
// before is not validated again.
func (t *turn) pack() error {
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
		if err := wire.ValidateEdit(t.rt.dialect, t.received.Body, body); err != nil {
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
func (t *turn) unedited(why string) {
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
