package proxy

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// journalBreaker journals changes of the working limits that the circuit breaker has made.
func (t *conversation) journalBreaker(changes []breaker.Change) {
	for _, c := range changes {
		limit := 0
		if c.Model != "" {
			limit = int(float64(t.p.o.Resolver.Window(c.Upstream, c.Model, t.betas).Context) * c.Factor)
		}
		name := c.Upstream
		if c.Upstream == t.upstream {
			name = t.rt.up.Name
		}
		t.p.journalEvent(journal.WindowBreaker{Upstream: name, Model: c.Model, State: c.State, LimitTokens: int64(limit), Reason: c.Reason})
	}
}

// journalRepairs journals the repairs of the request, one event for each kind.
func (t *conversation) journalRepairs() {
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
		t.p.journalEvent(journal.WindowRepaired{
			Upstream: t.rt.up.Name, Model: t.model, Conversation: t.name, What: a.Kind, Count: count, CallID: clip(a.CallID, 64),
		})
	}
}

// errorText returns at most 256 bytes of an error's text, "" for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return clip(err.Error(), 256)
}

// journalUnused journals what a model's summary cost that was not used, because the compaction freed too little. Without a cost or an error
// it does nothing.
func (t *conversation) journalUnused(res *compact.Result) {
	if res.SummaryError == nil && res.SummaryIn+res.SummaryOut == 0 {
		return
	}
	t.p.journalEvent(journal.WindowSummaryUnused{
		Upstream: t.rt.up.Name, Model: t.model, Conversation: t.name, Error: errorText(res.SummaryError),
		SummaryIn: int64(res.SummaryIn), SummaryOut: int64(res.SummaryOut),
	})
}

// journalChanges journals the changes that the provider says it made to the input, one event for each.
func (t *conversation) journalChanges(changes []wire.Change) {
	for _, c := range changes {
		t.p.journalEvent(journal.WindowTransformed{
			Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Request: t.rt.request, What: c.What, Reason: c.Reason, Blocks: c.Count,
		})
	}
}

// journalOverflow journals a refusal for length: its form, the limit it named or 0, the number of the try, and what was done about it.
func (t *conversation) journalOverflow(form string, limit, try int, action string) {
	t.p.journalEvent(journal.WindowOverflow{Upstream: t.rt.up.Name, Model: t.model, Request: t.rt.request, Form: form, LimitTokens: int64(limit), Try: try, Action: action})
}

// maxApproved bounds how many replays are remembered that broke no rule, by half. A conversation that goes on gets the
// same messages put in at the same place with every turn, and holding all of it to the
// rules costs more than all else that is done with it.
const maxApproved = 2048

// A replayed identifies a stored log as it was put into a conversation, so that the same edit need not be validated again. The zero value
// stands for any other edit, which is validated each time.
type replayed struct {
	chain      tokens.Digest // of the messages it covers and the one that follows
	generation int
	patches    int
	bytes      int
}

// identifyReplay returns the identity of the edits in v. It is equal for equal edits of one conversation, whose digests are chain.
func identifyReplay(v *compact.View, chain []tokens.Digest) replayed {
	r := replayed{chain: chain[min(v.Covers(), len(chain)-1)], generation: v.Generation(), patches: len(v.Patches)}
	for _, p := range v.Patches {
		for _, raw := range p.With {
			r.bytes += len(raw)
		}
	}
	return r
}
