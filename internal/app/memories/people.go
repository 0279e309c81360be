package memories

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/limit"
)

// Query is a person's search: in all scopes and, without Namespace, in all namespaces.
type Query struct {
	Text                string
	Namespace           string
	Kind, Origin        string
	Since, Until, AsOf  time.Time
	Limit, Offset       int
	Conversation, Run   string
	Quarantined, Oldest bool
}

// kindFilter returns the one kind of the query, nil for all. A word that is not in [Kinds] is an error.
func (q Query) kindFilter() ([]memory.Kind, error) {
	if q.Kind == "" {
		return nil, nil
	}
	if !slices.Contains(Kinds, q.Kind) {
		return nil, fmt.Errorf("--kind %s: there is no such kind; write one of: %s", limit.Short(q.Kind, 40), strings.Join(Kinds, ", "))
	}
	return []memory.Kind{memory.Kind(q.Kind)}, nil
}

// originFilter returns the one origin of the query, nil for all. A word that is not in [Origins] is an error.
func (q Query) originFilter() ([]memory.Origin, error) {
	if q.Origin == "" {
		return nil, nil
	}
	if !slices.Contains(Origins, q.Origin) {
		return nil, fmt.Errorf("--origin %s: there is no such origin; write one of: %s", limit.Short(q.Origin, 40), strings.Join(Origins, ", "))
	}
	return []memory.Origin{memory.Origin(q.Origin)}, nil
}

// Kinds and Origins are the words that the command line takes.
var (
	Kinds   = []string{string(memory.KindEpisode), string(memory.KindFact), string(memory.KindNote), string(memory.KindPin)}
	Origins = []string{string(memory.OriginUser), string(memory.OriginAgent), string(memory.OriginTool)}
)

// namespaceFilter returns the one namespace of the query, nil for all. "project" is that of the working directory's project.
func (q Query) namespaceFilter() []string {
	switch q.Namespace {
	case "":
		return nil
	case "project":
		return []string{ProjectNamespace("")}
	}
	return []string{q.Namespace}
}

// Search returns the records that match the words, the best first. An empty text is an error. If only words could be compared, there is a warning.
func (m *Memory) Search(ctx context.Context, q Query) (memory.Results, error) {
	if strings.TrimSpace(q.Text) == "" {
		return memory.Results{}, errors.New(`nothing to search for; write it as in: plimsoll memory search "which database"`)
	}
	kinds, err := q.kindFilter()
	if err != nil {
		return memory.Results{}, err
	}
	origins, err := q.originFilter()
	if err != nil {
		return memory.Results{}, err
	}
	m.fillVectors(ctx, q.namespaceFilter())
	found, err := m.Store.Search(ctx, memory.Query{
		Text: q.Text, Namespaces: q.namespaceFilter(), AllScopes: true, Kinds: kinds, Origins: origins, Since: q.Since, Until: q.Until, AsOf: q.AsOf,
		Limit: q.Limit, Offset: q.Offset,
	})
	if found.Items == nil {
		found.Items = []memory.Item{}
	}
	if found.WordsOnly != "" {
		m.core.Warn(found.WordsOnly)
	}
	return found, err
}

// filter returns the query as a filter, without its words and AsOf.
func (q Query) filter() (memory.Filter, error) {
	kinds, err := q.kindFilter()
	if err != nil {
		return memory.Filter{}, err
	}
	origins, err := q.originFilter()
	if err != nil {
		return memory.Filter{}, err
	}
	f := memory.Filter{
		Namespaces: q.namespaceFilter(), AllScopes: true, Kinds: kinds, Origins: origins, Conversation: q.Conversation, Run: q.Run,
		Since: q.Since, Until: q.Until, Limit: q.Limit, Offset: q.Offset, Oldest: q.Oldest,
	}
	if q.Quarantined {
		f.Quarantined = new(true)
	}
	return f, nil
}

// List returns a page of records, the newest first unless q.Oldest is set.
func (m *Memory) List(ctx context.Context, q Query) (memory.Page, error) {
	f, err := q.filter()
	if err != nil {
		return memory.Page{}, err
	}
	p, err := m.Store.List(ctx, f)
	if p.Records == nil {
		p.Records = []memory.Record{}
	}
	return p, err
}

// Show returns a record and, from the same conversation, up to around records before and after it. An unknown id is an error that wraps
// [memory.ErrNotFound].
func (m *Memory) Show(ctx context.Context, id string, around int) ([]memory.Record, error) {
	found, err := m.Store.Get(ctx, id, around)
	if err != nil {
		return nil, fmt.Errorf("%w; plimsoll memory search and plimsoll memory list show the ids", err)
	}
	return found, nil
}

// Why describes the origin of a record, and what became of it.
type Why struct {
	Record memory.Record `json:"record"`
	// From lists the records that it is derived from, Derived those that are derived from it, and Gone the ids that exist no longer.
	From    []memory.Record `json:"from"`
	Derived []memory.Record `json:"derived"`
	Gone    []string        `json:"gone,omitempty"`
	// Pinned reports whether the profile has its words.
	Pinned bool `json:"pinned"`
	// Recalled is the time when it was last put into a prompt or found by an agent; nil means never.
	Recalled *time.Time `json:"recalled,omitempty"`
	// Uses lists the conversations that it was given to, the newest first: at most memory.MaxUses.
	Uses []memory.Use `json:"uses"`
	// WithheldBy is the id of the record that a person took back and that this one is, or is about the same as; "" for none.
	WithheldBy string `json:"withheld_by,omitempty"`
}

// Why returns the origin of a record and what became of it. The id may also be that of an entry of the profile.
func (m *Memory) Why(ctx context.Context, id string) (Why, error) {
	id, err := m.findPinRecord(ctx, id)
	if err != nil {
		return Why{}, err
	}
	found, err := m.Show(ctx, id, 0)
	if err != nil {
		return Why{}, err
	}
	w := Why{Record: found[0], From: []memory.Record{}, Derived: []memory.Record{}}
	w.WithheldBy = m.Store.WithheldBy(&w.Record)
	if w.Uses, err = m.Store.Uses(ctx, id); err != nil {
		return Why{}, err
	}
	if !w.Record.Recalled.IsZero() {
		w.Recalled = &w.Record.Recalled
	}
	from := slices.Clone(w.Record.From)
	if f := w.Record.Fact; f != nil && f.Episode != "" && !slices.Contains(from, f.Episode) {
		from = append(from, f.Episode)
	}
	for _, id := range from {
		r, err := m.Store.Get(ctx, id, 0)
		switch {
		case errors.Is(err, memory.ErrNotFound):
			w.Gone = append(w.Gone, id)
		case err != nil:
			return w, err
		default:
			w.From = append(w.From, r[0])
		}
	}
	err = m.eachRecord(ctx, memory.Filter{AllScopes: true, Kinds: []memory.Kind{memory.KindFact, memory.KindNote, memory.KindPin}}, func(r memory.Record) error {
		if slices.Contains(r.From, w.Record.ID) || r.Fact != nil && r.Fact.Episode == w.Record.ID {
			w.Derived = append(w.Derived, r)
		}
		return nil
	})
	if err != nil {
		return w, err
	}
	text, err := m.Profile.InForce()
	if err != nil {
		return w, err
	}
	for _, e := range notes.Entries(text) {
		w.Pinned = w.Pinned || e.Text == strings.Join(strings.Fields(w.Record.Text), " ")
	}
	return w, nil
}

// findPinRecord returns the id of the record of the profile's entry with an id, which plimsoll memory pin lists under an id of its own. Any other id
// is returned as it is.
func (m *Memory) findPinRecord(ctx context.Context, id string) (string, error) {
	text, err := m.Profile.InForce()
	if err != nil {
		return "", err
	}
	entries := notes.Entries(text)
	i := slices.IndexFunc(entries, func(e notes.Entry) bool { return e.ID == id })
	if i < 0 {
		return id, nil
	}
	pins, err := m.Store.Pins(ctx, UserNamespace)
	for _, p := range pins {
		if p.Text == entries[i].Text {
			return p.ID, nil
		}
	}
	return id, err
}

// eachRecord calls give with each record that a filter matches, the oldest first. An error of give ends it.
func (m *Memory) eachRecord(ctx context.Context, f memory.Filter, give func(memory.Record) error) error {
	return m.Store.Each(ctx, f, give)
}

// Add stores a note and returns its record. namespace "" is the user's, "project" that of the working directory's project. Words that were
// forgotten once are an error.
func (m *Memory) Add(ctx context.Context, namespace, text string) (memory.Record, error) {
	switch namespace {
	case "":
		namespace = UserNamespace
	case "project":
		namespace = ProjectNamespace("")
	}
	added, err := m.Store.Add(ctx, memory.Record{
		Kind: memory.KindNote, Origin: m.Origin(), Namespace: namespace, Text: strings.TrimSpace(text),
		Source: memory.Source{Client: "plimsoll", Run: m.fence.Run, File: ""},
	})
	if err != nil {
		return memory.Record{}, err
	}
	if added.Refused > 0 {
		return memory.Record{}, errors.New("exactly this was forgotten once, and is not kept again; say it in other words")
	}
	found, err := m.Store.Get(ctx, added.IDs[0], 0)
	if err != nil {
		return memory.Record{}, err
	}
	return found[0], nil
}

// Edit replaces the words of a note and returns the record. Its origin becomes the lower one of its own and the editor's. See
// [Memory.Editable] for the errors.
func (m *Memory) Edit(ctx context.Context, id, text string) (memory.Record, error) {
	r, err := m.Editable(ctx, id)
	if err != nil {
		return r, err
	}
	r.Text = strings.TrimSpace(text)
	r.Origin = memory.Lowest(r.Origin, m.Origin())
	return r, m.Store.Update(ctx, r)
}

// Editable returns a record whose words may be replaced. It is an error for everything but a note: an episode or fact is kept as it was
// said, a pin and a note in a file are edited there. Inside a run so is a note in the user's own words.
func (m *Memory) Editable(ctx context.Context, id string) (memory.Record, error) {
	found, err := m.Show(ctx, id, 0)
	if err != nil {
		return memory.Record{}, err
	}
	switch r := found[0]; {
	case r.Kind == memory.KindPin:
		return r, fmt.Errorf("%s is a pin: edit the profile with plimsoll memory edit", id)
	case r.Kind == memory.KindNote && notes.IsPath(r.Source.File):
		return r, fmt.Errorf("%s is the file %s of an agent's notes: edit %s", id, r.Source.File, m.notesPath(r.Namespace)+strings.TrimPrefix(r.Source.File, "/memories"))
	case r.Kind != memory.KindNote:
		return r, fmt.Errorf("%s is %s, which is kept as it was said: add a note with plimsoll memory add, or remove it with plimsoll memory forget", id, r.Kind)
	case m.fence.Inside() && r.Origin == memory.OriginUser:
		return r, fmt.Errorf("%s is of the user's own words: %w", id, m.requirePerson())
	default:
		return r, nil
	}
}
