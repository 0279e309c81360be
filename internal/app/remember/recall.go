package remember

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/internal/memory/standing"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// recaller implements [proxy.Recaller].
type recaller struct{ *Plane }

// prepare reads the pins, opens the store and loads its index. Nothing is recalled before it has ended, and nothing at all if it fails.
func (p *Plane) prepare(ctx context.Context) {
	if !p.exists() {
		p.readPins(ctx, nil) // nothing else was ever kept
		p.ready.Store(true)
		return
	}
	store, err := p.opened()
	if err != nil {
		return
	}
	if !p.readPins(ctx, store) {
		return
	}
	if _, err := store.Search(ctx, memory.Query{Text: "memory", Namespaces: p.namespaces(), Limit: 1}); err != nil {
		if ctx.Err() == nil {
			p.o.Warn("nothing is recalled: " + err.Error())
		}
		return
	}
	p.ready.Store(true)
}

// readPins reads what is pinned, for the next conversations. It returns false, after a warning, if that fails.
func (p *Plane) readPins(ctx context.Context, store *memory.Store) bool {
	all, err := memories.Pinned(ctx, p.app, store, p.namespaces())
	if err != nil {
		if ctx.Err() == nil {
			p.o.Warn("what is pinned could not be read: " + err.Error())
		}
		return false
	}
	p.pins.Store(&all)
	return true
}

// namespaces returns the namespaces that are searched for a prompt.
func (p *Plane) namespaces() []string { return memories.Namespaces(p.o.Namespace) }

// Recall implements [proxy.Recaller]. The first prompt of a conversation gets what is pinned and the standing instructions, and each what the user
// said about it before, as [memories.Choose] decides. Until the memory is ready, or if ctx ends first, it is nothing.
func (r recaller) Recall(ctx context.Context, q proxy.Prompt) string {
	if !r.ready.Load() {
		return ""
	}
	answer := make(chan chosen, 1)
	go func() { answer <- r.choose(context.WithoutCancel(ctx), q) }()
	select {
	case c := <-answer:
		return r.recordGiven(context.WithoutCancel(ctx), q, c)
	case <-ctx.Done():
		return "" // too late: a prompt without it is better than one that waits. Nothing was given then
	}
}

// chosen are the gifts for a prompt, out of a store; nil for none.
type chosen struct {
	store *memory.Store
	memories.Gifts
}

// choose decides what to add to a prompt. After an error it returns nothing to add. It does not create a memory that does not exist.
func (p *Plane) choose(ctx context.Context, q proxy.Prompt) chosen {
	var store *memory.Store
	if p.tried.Load() || p.exists() { // a memory that nothing was kept in is not made for a question
		var err error
		if store, err = p.opened(); err != nil {
			return chosen{}
		}
	}
	asked := memories.Prompt{
		Text: q.Text, First: q.First, Conversation: q.Conversation, Recalled: q.Recalled, Namespaces: p.namespaces(), Scope: q.Scope, AllScopes: p.o.Own,
	}
	if pins := p.pins.Load(); pins != nil {
		asked.Pins = *pins
	}
	gifts, err := memories.Choose(ctx, store, asked, time.Now())
	if err != nil {
		return chosen{}
	}
	return chosen{store, gifts}
}

// recordGiven returns the text to add to a prompt, "" for none, and records which records were given and to whom.
func (p *Plane) recordGiven(ctx context.Context, q proxy.Prompt, c chosen) string {
	text := c.Text()
	if text == "" {
		return ""
	}
	ids := make([]string, len(c.Given))
	for i := range c.Given {
		ids[i] = c.Given[i].ID
	}
	p.appendEvent(journal.MemoryRecalled{Conversation: q.Conversation, Records: ids, Bytes: int64(len(text))})
	p.queue.Put(int64(len(text)), func() []memory.Record {
		if c.store != nil {
			p.storeUses(ctx, c.store, q, c.Given)
		}
		return nil
	})
	return text
}

// storeUses stores to whom records were given and for which words. After the first prompt of a conversation it also reads the pins again.
func (p *Plane) storeUses(ctx context.Context, store *memory.Store, q proxy.Prompt, given []memories.Gift) {
	given = slices.DeleteFunc(slices.Clone(given), func(g memories.Gift) bool { return g.Recorded.IsZero() }) // the profile's are no records
	for i := range given {
		g := &given[i]
		use := memory.Use{
			How: memory.UsePrompt, Client: cmp.Or(q.Speaker.Client, p.o.Client), Run: p.o.Run, Conversation: q.Conversation, Words: strings.Join(g.Words, " "), Score: g.Score,
		}
		if store.RecordUse(ctx, use, g.Record) != nil {
			return
		}
	}
	if q.First {
		p.readPins(ctx, store)
	}
}

// learnStanding stores the standing instructions that a person has typed, such as "always answer in German", found in records that were just
// added; ids are the records' ids. A later instruction about the same thing replaces the earlier one, which stays in the history.
func learnStanding(ctx context.Context, store *memory.Store, records []memory.Record, ids []string) error {
	for i := range records {
		r := &records[i]
		if r.Origin != memory.OriginUser || r.Kind != memory.KindEpisode || r.Quarantined || i >= len(ids) || ids[i] == "" {
			continue
		}
		for _, found := range standing.Find(r.Text) {
			if err := learnOne(ctx, store, r, ids[i], found); err != nil {
				return err
			}
		}
	}
	return nil
}

// learnOne stores one instruction that was said in the episode id, unless it is known already. An earlier one about the same topic expires.
func learnOne(ctx context.Context, store *memory.Store, r *memory.Record, id string, i standing.Instruction) error {
	namespace := r.Namespace
	if i.Everywhere {
		namespace = UserNamespace
	}
	var have []memory.Record
	err := store.Each(ctx, memory.Filter{Namespaces: []string{namespace}, Kinds: []memory.Kind{memory.KindFact}, Scope: r.Scope}, func(old memory.Record) error {
		if old.Standing() && old.Scope == r.Scope && old.Fact.Attribute == i.Topic {
			have = append(have, old)
		}
		return nil
	})
	if err != nil {
		return err
	}
	known, err := store.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	// Clients send their history again. What was said here already is nothing new, and a word of this conversation that came later counts.
	again := known[0].Count > 1 && known[0].Source.Conversation == r.Source.Conversation
	for _, old := range have {
		counts := old.Fact.Expired.IsZero()
		if counts && (equalFold(old.Text, i.Sentence) || known[0].Count > 1 && old.Source.Conversation == r.Source.Conversation) || again && slices.Contains(old.From, id) {
			return nil
		}
	}
	said := r.Said
	if said.IsZero() {
		said = known[0].Recorded
	}
	for _, old := range have {
		switch {
		case equalFold(old.Text, i.Sentence): // it held once and does again: it stands there once
			if err := store.Remove(ctx, old.ID); err != nil {
				return err
			}
		case old.Fact.Expired.IsZero():
			f := *old.Fact
			f.ValidUntil, f.Expired = said, said
			old.Fact = &f
			if err := store.Update(ctx, old); err != nil {
				return err
			}
		}
	}
	_, err = store.Add(ctx, memory.Record{
		Kind: memory.KindFact, Origin: memory.OriginUser, Namespace: namespace, Scope: r.Scope, Text: i.Sentence, Source: r.Source, Said: said, From: []string{id},
		Fact: &memory.Fact{Subject: "user", Attribute: i.Topic, Value: i.Sentence, Quote: i.Sentence, Episode: id, ValidFrom: said, Standing: true},
	})
	return err
}

// equalFold reports whether two texts are the same but for case and white space.
func equalFold(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// keeper implements [proxy.Keeper].
type keeper struct{ *Plane }

// Keep implements [proxy.Keeper]. It only queues: the excerpt is looked into later.
func (k keeper) Keep(e proxy.Excerpt) {
	k.parts.Add(1)
	k.queue.Put(int64(len(e.Body)), func() []memory.Record { return k.episodes(&e) })
}

// episodes returns the records to keep of an excerpt of a conversation, none if it cannot be parsed.
func (p *Plane) episodes(e *proxy.Excerpt) []memory.Record {
	r, err := wire.Parse(e.Dialect, e.Body)
	if err != nil || len(r.Messages) != len(e.Places) {
		return nil // it was read before: only a bug comes here
	}
	of := capture.Conversation{
		Namespace: p.o.Namespace, Scope: e.Scope, Client: e.Speaker.Client, Run: p.o.Run, Name: e.Conversation,
	}
	of.Client = cmp.Or(of.Client, p.o.Client)
	for _, text := range e.Recalled {
		of.Recalled = append(of.Recalled, capture.Unwrap(text)...)
	}
	var said []capture.Said
	for i := range r.Messages {
		said = append(said, p.splitMessage(e, r, i)...)
	}
	return capture.Episodes(of, said)
}

// splitMessage returns what message i of an excerpt says, each part with its origin: only text that a person typed is the user's. A system message
// says nothing.
func (p *Plane) splitMessage(e *proxy.Excerpt, r *wire.Request, i int) (all []capture.Said) {
	m := &r.Messages[i]
	if m.Role == wire.RoleSystem {
		return nil
	}
	var typed []int
	if !p.o.Inside {
		typed = e.Speaker.Typed(r, i)
	}
	for j := range m.Parts {
		part := &m.Parts[j]
		s := capture.Said{Role: m.Role.String(), Tool: part.Name, Turn: e.Places[i] + 1, At: e.SeenAt, Origin: memory.OriginTool, Text: r.Words(part)}
		switch part.Kind {
		case wire.Text:
			switch {
			case m.Role == wire.RoleAssistant:
				s.Origin = memory.OriginAgent
			case slices.Contains(typed, j):
				s.Origin = memory.OriginUser
			}
		case wire.Call:
			s.Kind, s.Origin = capture.Call, memory.OriginAgent
		case wire.Result:
			call := e.Call(r, i, j)
			s.Kind, s.Command = capture.Result, call.Command
			s.Tool = cmp.Or(s.Tool, call.Tool)
		default:
			continue // thoughts led to what was said; media has no words
		}
		if s.Text == "" && !part.Raw.IsZero() {
			s.Text = string(r.Raw(part.Raw))
		}
		all = append(all, s)
	}
	return all
}
