package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/client"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/internal/window/loops"
	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A conversation is one model request on its way to the provider. It starts as the client sent it; then the stored log of its conversation
// is put in, decisions about new messages are made, it is counted, and cut if it is over the trigger. If an edit breaks a rule of the
// provider, it is again as the client sent it.
type conversation struct {
	*modelRequest
	fit.Pass // of the client's request and what was decided about it

	who   string // upstream and credential, only ever hashed
	scope checkpoint.Scope
	log   checkpoint.Scope // of what is stored: scope, or with a Recaller one for RecallFor too, so that no project gets what was recalled for another
	logOf string           // what log is made of
	name  string           // names the conversation
	noted noted
	chain []tokens.Digest // chain[i] is the digest of the client's messages 0..i

	request *wire.Request // what the view became: it is sent
	content []byte        // request's body, packed as the client packed it
	packed  *wire.Request // the edited request that content was made of
	edited  bool
	header  http.Header // of what is sent only Anthropic-Beta is taken from it; nil: as the client has it

	before     sentAs // the last request of the conversation; zero where none is known
	cut        bool   // messages that were sent before were changed
	sentBefore int    // number of the client's messages that were sent before
	frozen     int    // number of the view's messages that stand for those
	guessed    bool   // no log and no request of it is known: only the answers in it say that those were sent
	lost       bool   // what was decided about those is gone
	strange    int    // index of the first of the client's messages with reasoning made behind other messages; 0 for none
	rehead     bool   // system prompt or tools differ from the last request's, and the provider binds reasoning to them
	fresh      bool   // a decision about this request was made now

	result    *compact.Result // of the newest compaction, until it is kept
	speaker   *client.Speaker
	cutKept   []int // the client's messages that the Keeper was given as cut
	turnsKept bool  // the Keeper was given all messages

	idle     time.Duration // for which the conversation was quiet before; 0 where that is not known
	standing topic.Sign    // of the topic boundary that the request stands at

	names *tokens.Names // of the messages that came, until they are counted

	thread     *thread    // nil where nothing is shared with replicas
	generation int        // of the cut that was put in
	replayed   replayed   // names the log that was put in, where nothing was decided now; else zero
	loop       loops.Loop // that the newest messages close; of no Kind where they close none
	repairs    []repair.Action
	actions    []string
}

// newConversation returns the state for handling a model request as the next of its conversation: nothing decided yet, and the client's
// body as what is sent.
func newConversation(m *modelRequest) *conversation {
	o := &m.p.o
	provider := string(m.rt.up.Provider)
	if at := models.Provider(m.upstream); models.OwnModels(at) { // whatever protocol it speaks
		provider = at
	}
	return &conversation{modelRequest: m, content: m.body.bytes, Pass: fit.Pass{Model: fit.Model{
		Provider: provider, Upstream: m.upstream, Name: m.model, Betas: m.betas, Family: tokens.FamilyOf(provider, m.model),
		Counter: o.Counter, Usage: o.Usage, Windows: o.Resolver, Breaker: o.Breaker,
	}}}
}

// key returns the conversation's key in the tables of the Proxy: the scope of its log and its name.
func (t *conversation) key() string { return t.log.String() + t.name }

// prepareRequest turns what the client sent into what is sent: it puts the conversation's log in, decides about new messages, counts, and cuts a
// request over the trigger. The error is what to answer: a *refusal for a request that cannot be made to fit or found no memory, else the
// context's.
func (t *conversation) prepareRequest() error {
	t.identifyConversation()
	enforce := t.p.o.Mode == Enforce && t.received.Bypass.Room() != wire.RoomNever
	if t.received.Bypass.Room() == wire.RoomNever {
		t.p.journalPassed(t.rt, "aside", t.received.Bypass.String())
	}
	t.fetchShared()
	if err := t.replayLog(); err != nil {
		return err
	}
	if err := t.lookForLoop(); err != nil {
		return err
	}
	if t.p.o.Mode == Enforce {
		t.decideNewMessages()
	}
	if t.fresh {
		t.recountTokens()
	}
	t.keepTurn()
	if err := t.r.Context().Err(); err != nil {
		return err // nobody waits for the answer: no room is made for it
	}
	t.journalRepairs()
	if enforce {
		if err := t.fitIntoWindow(); err != nil {
			return err
		}
	}
	t.packContent()
	t.p.journalEvent(journal.WindowRequest{
		Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Request: t.rt.request, Conversation: t.name,
		Messages: len(t.request.Messages), Tokens: int64(t.In.Best), Low: int64(t.In.Low), High: int64(t.In.High), Counted: string(t.How),
		LimitTokens: int64(t.Window.Context), LimitSource: t.Window.Source,
		ReceivedBytes: int64(len(t.body.bytes)), ForwardedBytes: int64(len(t.content)),
		Replayed: t.View.Replayed(), Overhead: time.Since(t.readAt),
	})
	return nil
}

// identifyConversation sets who asks, the scopes, the model's window in force, the digests of the messages and the name of the conversation.
func (t *conversation) identifyConversation() {
	t.who = t.rt.up.Name + "\x00" + credential(t.r.Header, t.r.URL.RawQuery)
	t.scope = t.p.scope(t.who)
	t.log, t.logOf = t.scope, t.who
	if t.p.o.Recaller != nil {
		t.logOf = "recall\x00" + t.p.o.RecallFor + "\x00" + t.who
		t.log = t.p.scope(t.logOf)
	}
	t.Ledger = t.scope.String() + t.upstream + "\x00" + t.model
	t.journalBreaker(t.Limit())
	t.Trigger, t.Target = t.p.o.Trigger, t.p.o.Target
	if t.p.ownLine && t.compactsItself() {
		t.Trigger, t.Late = OwnTrigger, true
	}
	t.Reserve(t.received.MaxOutput, t.p.o.Reserve)
	note, same := t.received.Before()
	before, ok := note.(*noted)
	if !ok {
		before, same = &noted{}, 0
	}
	t.names = t.p.o.Counter.NameAfter(t.received, t.Family, &before.tally, same)
	t.chain = t.names.Chain()
	if t.noted.task, t.noted.name = before.task, before.name; before.task >= same || before.tally.Family != t.Family {
		t.noted.name, t.noted.task = compact.Conversation(t.received, t.chain)
	}
	t.name = t.noted.name
	t.noted.tally = tokens.Tally{Family: t.Family, Chain: t.chain}
}

// noted holds what one request leaves for the next of its conversation to reuse, see [wire.Request.Note].
type noted struct {
	tally tokens.Tally // of what came; only Family and Chain where that was not counted
	name  string
	task  int // index of the message that names it
}

// replayLog puts the conversation's stored log into the request, counts it, and finds out which of its messages were sent before and whether
// they still can be sent as they were (lost, strange, rehead). A damaged log is left out; the error is an edit that cannot be made.
func (t *conversation) replayLog() error {
	before, known := t.p.lastSent(t.log, t.chain)
	t.before = before
	if known > 0 {
		t.idle = max(0, t.p.now().Sub(before.at))
	}
	var log []*checkpoint.Checkpoint
	if t.p.o.Mode == Enforce {
		untouched := 0
		if !before.edited {
			untouched = known
		}
		log = checkpoint.Log(t.p.o.Store, t.log, t.chain, untouched)
	}
	view, err := fit.Replay(t.received, log...)
	if err != nil {
		return err
	}
	t.setRequest(view, view.Request)
	t.generation = view.Generation()
	t.recountTokens()
	t.learnReports()
	kept := t.noted // by itself: t holds the body
	t.received.Note(&kept)
	t.sentBefore = max(known, view.Covers())
	if known == 0 && t.p.o.Mode == Enforce { // as after a kill
		t.sentBefore = max(t.sentBefore, countAnswered(t.received))
		t.guessed = !view.Replayed()
	}
	t.frozen = view.Frozen(t.sentBefore)
	if known > 0 && t.p.o.Mode == Enforce {
		n := int(before.messages)
		t.lost = n > len(t.Tally.Chain) || t.Tally.Chain[n-1] != before.digest
		if t.lost && t.refetchLog() {
			return t.replayLog()
		} else if t.lost {
			t.sentBefore, t.frozen = 0, 0
		} else {
			t.strange = t.foreignReasoning()
			t.rehead = t.changedHead()
		}
	}
	if view.Replayed() {
		t.replayed = identifyReplay(view, t.chain)
		t.actions = append(t.actions, "replayed")
	}
	return nil
}

// changedHead reports whether the system prompt or the tools differ from the last request's, in a conversation in which the provider has
// refused reasoning because it is bound to them. Before the first refusal it returns false: tools that are loaded on demand may change, and
// only the provider knows which those are. It also returns false for a client that writes a checksum into the system prompt, which differs
// in each request.
func (t *conversation) changedHead() bool {
	if t.before.head == t.Tally.HeadDigest || hasChecksum(t.received) || !t.boundReasoning() {
		return false
	}
	_, refused := t.p.refusing.Get(t.key())
	return refused
}

// setRequest makes request, which was built from view, the request to send. Its tokens are not counted again.
func (t *conversation) setRequest(view *compact.View, request *wire.Request) {
	if view != t.View {
		t.replayed = replayed{}
	}
	t.View, t.request = view, request
	t.edited = request != t.received
	if t.edited {
		t.body.pooled = false // stored patches may share the body's memory
	}
}

// recountTokens tallies and measures the request to send. It counts exactly only as far as the nearest limit makes it necessary.
func (t *conversation) recountTokens() {
	if t.request == t.received && t.names != nil {
		t.noted.tally = t.names.TallyBelow(t.nearestLimit())
		t.Recount(t.noted.tally)
	} else {
		t.Recount(t.Counter.TallyBelow(t.request, t.Family, t.nearestLimit()))
	}
	t.names.Done()
	t.names = nil
}

// nearestLimit returns the number of tokens from which the proxy acts: a request that is surely below needs no exact count. It returns 0 if
// the window is unknown or only assumed; then all is counted.
func (t *conversation) nearestLimit() int {
	if t.Room <= 0 || !t.Enforced() {
		return 0
	}
	return t.TriggerTokens()
}

// packContent sets content, the bytes to send. After an edit they are validated against what the client sent: if the edit broke a rule, the
// client's bytes are sent and the journal says so. A replay that was valid before is not validated again.
func (t *conversation) packContent() {
	t.mendParameters()
	switch {
	case !t.edited:
		t.content = t.body.bytes
		return
	case t.packed == t.request:
		return
	}
	body := t.request.Alternating()
	if hasChecksum(t.request) {
		body = withoutChecksum(t.request)
	}
	replay := t.replayed
	if t.fresh || t.request != t.View.Request {
		replay = replayed{} // something else was done too
	}
	if _, known := t.p.approved.Get(replay); !known || replay == (replayed{}) {
		before, after := t.received.Body, body
		if at, ok := t.View.Replaced(); ok && len(at) == len(t.View.Recalled) && t.request == t.View.Request {
			// Nothing but words behind prompts, and each such message keeps the rules by itself: the rest is as it came.
			before, after = t.received.Excerpt(at), t.request.Excerpt(at)
		}
		if err := wire.ValidateEdit(t.rt.dialect, before, after); err != nil {
			rule := "unknown"
			if invalid, ok := errors.AsType[*wire.Invalid](err); ok {
				rule = invalid.Rule
			}
			t.revertEdits(fmt.Sprintf("an edit broke the rule %s and was taken back", rule))
			return
		}
		t.p.approved.Put(replay, struct{}{})
	}
	t.header, body = t.withSummaryForm(body)
	packed, err := wire.Encode(wire.EditedEncoding(t.r.Header.Get("Content-Encoding")), body)
	if err != nil {
		t.revertEdits("the edited body could not be packed")
		return
	}
	t.content, t.packed = packed, t.request
}

// revertEdits makes the client's own request the one to send, and journals why the edits were not used.
func (t *conversation) revertEdits(why string) {
	view, err := compact.Replay(t.received)
	if err != nil {
		return // without a log there is nothing that can fail
	}
	t.setRequest(view, t.received)
	t.result = nil
	t.actions = []string{"taken-back"}
	t.recountTokens()
	t.content = t.body.bytes
	t.p.journalPassed(t.rt, "invalid", why)
}
