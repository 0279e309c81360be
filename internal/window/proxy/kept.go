package proxy

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
)

// useNewerCut applies a newer cut that another request has stored while this one waited, if there is one. It returns true if the request
// then is at most at the trigger; if not, the cut stays applied all the same.
func (t *conversation) useNewerCut(goal compact.Goal) bool {
	c := checkpoint.Lookup(t.p.o.Store, t.log, t.chain)
	if c == nil || c.Generation <= t.generation {
		return false
	}
	view, err := compact.Replay(t.received, checkpoint.Log(t.p.o.Store, t.log, t.chain, 0)...)
	if err != nil {
		return false
	}
	t.generation = c.Generation
	t.setRequest(view, view.Request)
	t.recountTokens()
	if t.In.High > goal.Trigger {
		return false
	}
	t.actions = append(t.actions, "replayed")
	return true
}

// storeResult stores c, the cut that was just made, and shares it with other replicas. If another request or replica has stored one for the
// same step first, that one becomes what is sent, and it returns true. accepted means that the provider has accepted c already.
func (t *conversation) storeResult(c *checkpoint.Checkpoint, accepted bool) bool {
	res := t.result
	cut := checkpoint.Cut{Text: res.Cut, Entry: checkpoint.Entry{
		Conversation: t.name, Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Rungs: res.Rungs,
		Before: res.Before, After: res.After, Messages: res.Messages, CutBytes: res.CutBytes,
	}}
	got, _ := t.p.o.Store.Put(t.log, c, cut) // the store journals what went wrong
	log := []*checkpoint.Checkpoint{got}
	var mine *checkpoint.Checkpoint
	if accepted {
		mine = got
	}
	if t.publishLog(mine) {
		log = checkpoint.Log(t.p.o.Store, t.log, t.chain, 0)
	}
	if len(log) == 0 || log[0] == c || log[0] == nil {
		return false
	}
	view, err := compact.Replay(t.received, log...)
	if err != nil {
		return false
	}
	t.setRequest(view, view.Request)
	return true
}

// storeRecovered stores the cut that the provider accepted after it had refused the request before it.
func (t *conversation) storeRecovered() {
	if t.result == nil {
		return
	}
	if c := compact.Checkpoint(t.View, t.result, t.chain); c != nil {
		ctx := context.WithoutCancel(t.r.Context())
		if unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.name); err == nil {
			sent := t.request
			t.storeResult(c, true)
			t.request = sent // it is on its way already
			unlock()
		}
	}
}

// publishLog shares the conversation's log with other replicas. It returns true if another replica has decided about the same messages
// first; the Store then has its decisions. Without replicas it does nothing, and a log that cannot be shared now is shared with a later
// request. accepted, unless nil, is a cut that the provider accepted after it had refused the earlier decision.
func (t *conversation) publishLog(accepted *checkpoint.Checkpoint) (overtaken bool) {
	th := t.thread
	if th == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.r.Context()), replicaWait)
	defer cancel()
	known, _ := t.p.threads.Get(th.log)
	known.behind = true
	defer func() { t.p.threads.Put(th.log, known) }()
	revision := known.revision
	for try := range sharedTries {
		var theirs []*checkpoint.Checkpoint
		if try == 0 && revision > 0 && revision == th.at {
			theirs = th.theirs
		} else if revision > 0 {
			var value []byte
			var err error
			if value, revision, err = t.p.o.Replicas.Get(ctx, th.log); err != nil {
				return overtaken
			}
			theirs, _ = checkpoint.Unpack(value) // one that cannot be read is replaced
			overtaken = t.p.o.Store.Adopt(t.log, theirs, accepted) || overtaken
		}
		mine := checkpoint.Log(t.p.o.Store, t.log, t.chain, 0)
		list, left := t.mergeLogs(theirs, mine)
		value, cut := checkpoint.Pack(list, maxShared)
		if left += cut; left > 0 {
			t.p.journalEvent(journal.WindowStore{Evicted: left, Reason: "fleet"})
		}
		if len(value) == 0 && revision == 0 {
			known = knownLog{}
			return overtaken
		}
		next, err := t.p.o.Replicas.Put(ctx, th.log, value, revision)
		if err != nil {
			return overtaken
		}
		if next > 0 {
			known = knownLog{revision: next, at: t.p.now()}
			th.theirs, th.at = list, next
			return overtaken
		}
		revision = 1 // there is one
	}
	return overtaken
}

// maxOthers bounds the checkpoints of other branches of a conversation that a shared log keeps.
const maxOthers = 64

// mergeLogs returns the log to share: of theirs the entries about other branches of the conversation, at most maxOthers, then mine. omitted
// is the number of entries beyond that. The cut comes last, because the end of the list is kept longest.
func (t *conversation) mergeLogs(theirs, mine []*checkpoint.Checkpoint) (list []*checkpoint.Checkpoint, omitted int) {
	packed := map[checkpoint.Digest]*checkpoint.Checkpoint{}
	for _, c := range theirs {
		if c.Covers > len(t.chain) || checkpoint.Digest(t.chain[c.Covers-1]) != c.Chain {
			list = append(list, c)
		} else if c.Generation == 0 {
			packed[c.Chain] = c
		}
	}
	if omitted = max(0, len(list)-maxOthers); omitted > 0 {
		list = list[omitted:]
	}
	if len(mine) > 0 && mine[0].Generation > 0 {
		mine = append(slices.Clone(mine[1:]), mine[0])
	}
	for _, c := range mine {
		if have := packed[c.Chain]; have != nil && c.Generation == 0 { // they are the same by now, and this one is packed
			c = have
		}
		list = append(list, c)
	}
	return list, omitted
}

// publishView shares the decisions of view with other replicas. It returns view, or one with the decisions of a replica that was first.
func (t *conversation) publishView(view *compact.View) *compact.View {
	if !t.publishLog(nil) {
		return view
	}
	if theirs, err := compact.Replay(t.received, checkpoint.Log(t.p.o.Store, t.log, t.chain, 0)...); err == nil {
		return theirs
	}
	return view
}

// shareSent tells the other replicas how the request was sent, so that they send its messages alike. It is called before the client has the
// answer, with input 0, and again with the input tokens that the provider counted.
func (t *conversation) shareSent(input int) {
	th := t.thread
	if th == nil {
		return
	}
	client := t.chain[len(t.chain)-1]
	s, ok := t.p.sent.Get(conversationPrefix{t.log, client})
	if !ok {
		return
	}
	known, _ := t.p.threads.Get(th.log)
	if known.behind || known.revision > 0 && t.p.now().Sub(known.at) > renewAfter {
		t.publishLog(nil)
		known, _ = t.p.threads.Get(th.log)
	}
	mine := report{
		Client: client, Clients: len(t.chain), Sent: s.digest, Head: s.head, Messages: s.messages, Edited: s.edited, At: s.at, Tokens: s.tokens, Cached: s.cached,
		Log: known.revision, Model: t.model, Input: input, HeadTokens: t.Tally.Head, ExtraTokens: t.Tally.Extra,
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.r.Context()), replicaWait)
	defer cancel()
	for range sharedTries {
		list := slices.DeleteFunc(slices.Clone(th.reports), func(r report) bool { return r.Client == client })
		list = append(list[max(0, len(list)+1-maxReports):], mine)
		value, err := json.Marshal(list)
		if err != nil {
			return
		}
		next, err := t.p.o.Replicas.Put(ctx, th.sent, value, th.revision)
		if err != nil {
			return
		}
		if next > 0 {
			th.reports, th.revision = list, next
			return
		}
		if value, th.revision, err = t.p.o.Replicas.Get(ctx, th.sent); err != nil {
			return
		}
		th.reports = parseReports(value)
	}
}
