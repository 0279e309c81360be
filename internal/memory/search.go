package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/internal/memory/newest"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// shelf returns the index of a namespace, and makes it when it is missing.
func (s *Store) shelf(name string) (*shelf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	h := s.shelves[name]
	if h == nil {
		h = newShelf(name)
		s.shelves[name] = h
	}
	return h, nil
}

// Search finds the records whose words, or those around them in their conversations, have most in common with the query's. It opens an
// index of each namespace that is searched, on first use, and keeps it.
//
// Records that are superseded, expired, quarantined or of another scope are not found. Of equal scores the newer record is first, and what was said later
// of the same thing stands before what it has taken the place of ([Item.Replaced]). If the text names a time (in May 2022, last week), what was said
// then or up to three days later counts twice.
func (s *Store) Search(ctx context.Context, q Query) (Results, error) {
	if err := s.readForgotten(); err != nil {
		return Results{}, err
	}
	names, err := s.namespacesOrAll(q.Namespaces)
	if err != nil {
		return Results{}, err
	}
	m, wordsOnly := s.embedQuestion(ctx, names, limit.Clip(q.Text, MaxQuery))
	if s.embedding != nil {
		defer s.embedding.wake()
	}
	limitOf, offset := min(cmp.Or(max(q.Limit, 0), DefaultLimit), MaxLimit), max(q.Offset, 0)
	for tries := 1; ; tries++ {
		out, stale, err := s.searchOnce(ctx, &q, m, names, limitOf, offset)
		out.WordsOnly = wordsOnly
		if err != nil {
			return out, err
		}
		if !stale || tries > 3 {
			return out, s.markItems(out.Items)
		}
	}
}

// shelfHit is a record that a search has found, by its shelf and slot.
type shelfHit struct {
	h     *shelf
	n     int
	score float64
}

// searchOnce makes one attempt at a search. stale reports that a segment was rewritten before all found records could be read from it.
func (s *Store) searchOnce(ctx context.Context, q *Query, m *questionVector, names []string, wanted, offset int) (out Results, stale bool, err error) {
	now := s.o.Clock()
	var found, near []shelfHit
	depth := max(offset+wanted, newestWindow)
	if m != nil {
		depth = max(2*depth, fusionDepth)
	}
	text := limit.Clip(q.Text, MaxQuery)
	times := parseTimes(text, now)
	var shelves []*shelf
	held := map[string]int{}
	if q.Loose {
		out.StatementsWith = held
	}
	defer func() {
		for _, h := range shelves {
			h.mu.Unlock()
		}
	}()
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) { // in order, so that no two wait for each other
		if checkNamespace(name) != nil {
			return out, false, checkNamespace(name)
		}
		h, err := s.shelf(name)
		if err != nil {
			return out, false, err
		}
		h.mu.Lock()
		shelves = append(shelves, h)
		if err := h.catchUp(ctx, s); err != nil {
			return out, false, err
		}
		query := index.Query{Text: text, Favoured: h.saidIn(times), Favour: timeWeight, Limit: depth, Alone: q.Alone || q.Loose, Loose: q.Loose}
		f := h.newFilter(q, now, s.o.MaxAge)
		f.applyTo(&query)
		hits, total := h.x.Search(query)
		out.Total += total
		if q.Loose {
			some, of := h.x.CountStated(text)
			out.Statements += of
			for term, n := range some {
				held[term] += n
			}
		}
		for _, hit := range hits {
			found = append(found, shelfHit{h, hit.Doc, hit.Score})
		}
		if m != nil {
			some, err := h.nearestVectors(ctx, s, m, q, f.passes, depth)
			if err != nil && ctx.Err() != nil {
				return out, false, err
			}
			if err != nil { // words are found all the same
				s.reportService("file", err)
			}
			near = append(near, some...)
		}
	}
	best := func(a, b shelfHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.h.slots[b.n].said, a.h.slots[a.n].said))
	}
	sorting.StableBy(found, best)
	if len(near) > 0 {
		sorting.StableBy(near, best)
		found = fuseLists(found, near)
		out.Total = max(out.Total, len(found))
	}
	from := min(offset, len(found))
	out.Offset = from
	first, until := from, min(len(found), from+wanted)
	if from < newestWindow { // what takes the place of one of the best may stand further down
		first, until = 0, max(until, min(len(found), newestWindow))
	}
	fetchers := map[*shelf]*archive.Fetcher{}
	defer func() {
		for _, f := range fetchers {
			f.Close()
		}
	}()
	for _, p := range found[first:until] {
		f := fetchers[p.h]
		if f == nil {
			if f, err = s.archive.Fetcher(p.h.name); err != nil {
				return out, false, err
			}
			fetchers[p.h] = f
		}
		r, ok, err := p.h.readRecord(f, p.n)
		if err != nil {
			return out, false, err
		}
		if !ok {
			stale = true
			continue
		}
		out.Items = append(out.Items, Item{Record: r, Score: p.score})
	}
	if first == 0 {
		out.Items = newestFirst(out.Items)
	}
	from = min(from-first, len(out.Items))
	out.Items = out.Items[from:min(len(out.Items), from+wanted)]
	return out, stale, nil
}

// reportDamage counts, logs and journals the damaged lines that a pass over a namespace has found. A line counts each time that it is read.
func (s *Store) reportDamage(found archive.ReadReport) {
	if found.Damaged == 0 {
		return
	}
	s.mu.Lock()
	s.stats.Damaged += int64(found.Damaged)
	s.mu.Unlock()
	s.o.Journal.Append(journal.MemoryDamaged{Lines: found.Damaged})
	s.o.Log.Warn("lines of the memory are damaged and passed over", "lines", found.Damaged, "dir", s.o.Dir)
}

// newestWindow is the number of records, the best ones of a search, that are compared with each other, whatever page is asked for.
const newestWindow = 40

// newestFirst moves each record that was said later of the same thing before the older one that it replaces, and sets Replaced and
// ReplacedBy of both. A record never replaces one of a more trusted origin or of another namespace or scope, nor what different people said
// in one talk.
func newestFirst(items []Item) []Item {
	n := min(len(items), newestWindow)
	read := make([]newest.Text, n)
	for i := range n {
		if !items[i].Quarantined {
			read[i] = newest.Read(items[i].Text)
		}
	}
	by := make([]int, n) // 1 + the place of the newest record that takes the place of one
	for o := range n {
		for k := range n {
			if read[k] == nil || read[o] == nil || !mayReplace(&items[k].Record, &items[o].Record) || !read[k].Replaces(read[o]) {
				continue
			}
			if by[o] == 0 || items[k].Said.After(items[by[o]-1].Said) {
				by[o] = k + 1
			}
			if r := items[k].Replaced; r == nil || items[o].Said.After(r.Said) {
				items[k].Replaced = &Replaced{items[o].ID, items[o].Text, items[o].Said}
			}
		}
	}
	var out []Item
	done := make([]bool, n)
	for i := range n {
		// What counts now comes first, then what it has replaced. Said later is a strict order, so this ends.
		for at := i; !done[i]; at = i {
			for by[at] > 0 && !done[by[at]-1] {
				at = by[at] - 1
			}
			if by[at] > 0 {
				items[at].ReplacedBy = items[by[at]-1].ID
			}
			done[at] = true
			out = append(out, items[at])
		}
	}
	return append(out, items[n:]...)
}

// mayReplace reports whether a record may take the place of another one, whatever they say.
func mayReplace(k, o *Record) bool {
	spoken := k.Kind == KindEpisode && k.Origin != OriginUser || o.Kind == KindEpisode && o.Origin != OriginUser // answers of models, results
	return !spoken && k.Said.After(o.Said) && k.Origin.trust() >= o.Origin.trust() && k.Namespace == o.Namespace && k.Scope == o.Scope &&
		k.Source.Speaker == "" && o.Source.Speaker == "" && k.ID != o.ID && !slices.Contains(k.From, o.ID) && !slices.Contains(o.From, k.ID)
}
