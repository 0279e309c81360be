package remember

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
)

// recaller implements [proxy.Recaller].
type recaller struct{ *Plane }

const (
	// bytesPerToken is the least number of bytes of text that a token is taken to have: English has four, Chinese three.
	bytesPerToken = 3
	// lineBytes bounds one line of what is added.
	lineBytes = 600
	// candidates is the number of records looked at for one that is added: some were added before, some have another origin.
	candidates = 4
	// recallItems and recallTokens bound what is added to one prompt.
	recallItems  = 3
	recallTokens = 1000
)

// warm opens the store, has its index read and the pins. Until it is done nothing is recalled.
func (p *Plane) warm(ctx context.Context) {
	if !p.exists() {
		all := p.standing() // nothing else was ever kept
		p.pins.Store(&all)
		p.ready.Store(len(all) > 0)
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

func (p *Plane) readPins(ctx context.Context, store *memory.Store) bool {
	var all []memory.Record
	for _, namespace := range p.namespaces() {
		pins, err := store.Pins(ctx, namespace)
		if err != nil {
			if ctx.Err() == nil {
				p.o.Warn("what is pinned could not be read: " + err.Error())
			}
			return false
		}
		all = append(all, pins...)
	}
	standing := p.standing()
	for i, e := range standing { // its record, where there is one, is told to whom it was given
		if n := slices.IndexFunc(all, func(r memory.Record) bool {
			return r.Text == e.Text && r.Namespace == e.Namespace && r.Origin == e.Origin
		}); n >= 0 {
			standing[i] = all[n]
		}
	}
	all = append(standing, all...)
	p.pins.Store(&all)
	return true
}

// standing returns the standing instructions of the profile that a person has confirmed.
func (p *Plane) standing() (all []memory.Record) {
	profile, err := memories.ProfileOf(p.app)
	if err != nil {
		return nil
	}
	text, err := profile.InForce()
	if err != nil {
		p.o.Warn("the profile could not be read: " + err.Error())
		return nil
	}
	at, _ := profile.ConfirmedAt()
	for _, e := range notes.Entries(text) {
		all = append(all, memory.Record{ID: e.ID, Kind: memory.KindPin, Origin: memory.OriginUser, Namespace: UserNamespace, Text: e.Text, Said: at})
	}
	return all
}

func (p *Plane) namespaces() []string {
	if p.o.Namespace == UserNamespace || p.o.Namespace == "" {
		return []string{UserNamespace}
	}
	return []string{UserNamespace, p.o.Namespace}
}

// Recall implements [proxy.Recaller]. The first prompt of a conversation gets what is pinned, and each what the user said about it
// before. Only the user's own words are added; what was added to the conversation before is not
// added again.
func (r recaller) Recall(ctx context.Context, q proxy.Prompt) string {
	if !r.ready.Load() {
		return ""
	}
	answer := make(chan string, 1)
	go func() { answer <- r.recall(context.WithoutCancel(ctx), q) }()
	select {
	case text := <-answer:
		return text
	case <-ctx.Done():
		return "" // too late: a prompt without it is better than one that waits
	}
}

func (p *Plane) recall(ctx context.Context, q proxy.Prompt) string {
	store, err := p.opened()
	if err != nil {
		return ""
	}
	var found []memory.Record
	if pins := p.pins.Load(); q.First && pins != nil {
		found = append(found, *pins...)
	}
	res, err := store.Search(ctx, memory.Query{
		Text: q.Text, Namespaces: p.namespaces(), Scope: q.Scope, AllScopes: p.o.Own, Origins: []memory.Origin{memory.OriginUser},
		Limit: candidates * recallItems,
	})
	if err != nil {
		return ""
	}
	for _, item := range res.Items {
		// What was said in this conversation stands in it, unless a compaction took it out, and then its summary does.
		if item.Source.Conversation == "" || item.Source.Conversation != q.Conversation {
			found = append(found, item.Record)
		}
	}
	found = slices.DeleteFunc(found, func(r memory.Record) bool { return !trusted(ctx, store, &r) })
	text, added := render(found, q)
	if len(added) == 0 {
		return ""
	}
	ids := make([]string, len(added))
	for i := range added {
		ids[i] = added[i].ID
	}
	p.note(journal.MemoryRecalled{Conversation: q.Conversation, Records: ids, Bytes: int64(len(text))})
	added = slices.DeleteFunc(added, func(r memory.Record) bool { return r.Recorded.IsZero() }) // the profile's are no records
	use := memory.Use{How: memory.UsePrompt, Client: cmp.Or(q.Speaker.Client, p.o.Client), Run: p.o.Run, Conversation: q.Conversation}
	p.queue.Put(int64(len(text)), func() []memory.Record {
		if err := store.Recalled(ctx, use, added...); err == nil && q.First {
			p.readPins(ctx, store) // for the next conversation
		}
		return nil
	})
	return text
}

// trusted reports whether a record is the user's, as is all that it is derived from, as far as that is still there. What wrote it may
// have claimed more than it could.
func trusted(ctx context.Context, store *memory.Store, r *memory.Record) bool {
	if r.Origin != memory.OriginUser || r.Quarantined {
		return false
	}
	for _, id := range r.From {
		sources, err := store.Get(ctx, id, 0)
		if err == nil && slices.ContainsFunc(sources, func(s memory.Record) bool { return s.ID == id && s.Origin != memory.OriginUser }) {
			return false
		}
	}
	return true
}

// render writes lines of records, within the bounds of one prompt, and returns which. All that is pinned is given first, and is not
// counted as recalled: its own bound is that of the profile.
func render(found []memory.Record, q proxy.Prompt) (string, []memory.Record) {
	before := strings.Join(q.Recalled, "\n")
	room := bytesPerToken*recallTokens - len(capture.Wrap([]string{"-"}))
	var lines []string
	var added []memory.Record
	recalled := 0
	for _, r := range found {
		if r.Kind != memory.KindPin && recalled >= recallItems {
			continue
		}
		// Whatever a search returns, only what a person said goes into a prompt.
		if r.Origin != memory.OriginUser || r.Quarantined || slices.ContainsFunc(added, func(a memory.Record) bool { return a.ID == r.ID || a.Text == r.Text }) {
			continue
		}
		line := capture.Line(r, lineBytes)
		_, words, _ := strings.Cut(line, "]: ")
		if len(line)+1 > room || words == "" || strings.Contains(before, words) || strings.Contains(q.Text, words) {
			continue
		}
		if r.Kind != memory.KindPin {
			recalled++
		}
		room -= len(line) + 1
		lines = append(lines, line)
		added = append(added, r)
	}
	return capture.Wrap(lines), added
}
