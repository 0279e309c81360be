package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/journal"
)

// Elsewhere is another store that may hold the words of what is forgotten: kept cuts of the window plane, conversations of agents, spooled
// results, the files of runs.
type Elsewhere struct {
	// Name describes the store's contents for people: "kept compactions".
	Name string
	// Forget takes the words of a match off the disk, by removing what holds them or by writing over them, and returns where they were. It is
	// called when no search finds the words any more and [Store.Add] refuses them, and may be called again with the same match. On an error, also
	// one about words that somebody is writing at this moment, the next Forget or [Store.GC] calls it again. With dry it changes nothing.
	Forget func(ctx context.Context, m Match, dry bool) ([]Place, error)
}

// Place is something in another store that holds words of what is forgotten.
type Place struct {
	Store string `json:"store"` // the name of its Elsewhere
	Name  string `json:"name"`  // of a file, session, result or run
	// Action is Removed or Blotted.
	Action string `json:"what"`
}

// Values of [Place.Action].
const (
	Removed = "removed"
	Blotted = "blotted"
)

// Forgotten reports the outcome of [Store.Forget].
type Forgotten struct {
	Records   []string `json:"records"` // ids: those that were meant, and what is derived from them
	Elsewhere int      `json:"elsewhere"`
	// Places lists the other places that held the words, the first MaxPlaces of them.
	Places []Place `json:"places,omitempty"`
	Bytes  int64   `json:"bytes"` // that became free in the memory
	// StillIn are other records whose text holds one that was forgotten, word for word: what was said in them was not meant.
	StillIn []string `json:"still_in,omitempty"`
}

// MaxPlaces bounds the places that [Store.Forget] lists.
const MaxPlaces = 1000

// WouldForget returns the records that Forget would remove, also those derived from a match and the same passages elsewhere. A filter
// without any condition is an error unless All is set.
func (s *Store) WouldForget(ctx context.Context, f Filter) ([]Record, error) {
	if !f.hasCondition() && !f.All {
		return nil, errors.New("nothing says what is to be forgotten; set a condition of the filter, or All")
	}
	meant, err := s.recordsMatching(ctx, &f)
	if err != nil || len(meant) == 0 {
		return meant, err
	}
	// What is derived from it holds its words too, and so does the same passage somewhere else.
	all, err := s.recordsMatching(ctx, &Filter{AllScopes: true})
	if err != nil {
		return nil, err
	}
	ids, keys := map[string]bool{}, map[archive.Key]bool{}
	for _, r := range meant {
		ids[r.ID], keys[s.forgottenKey(r.Text)] = true, true
	}
	for grown := true; grown; {
		grown = false
		for i := range all {
			r := &all[i]
			derived := slices.ContainsFunc(r.From, func(id string) bool { return ids[id] }) || r.Fact != nil && ids[r.Fact.Episode]
			if !ids[r.ID] && (derived || keys[s.forgottenKey(r.Text)]) {
				ids[r.ID], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(r Record) bool { return !ids[r.ID] }), nil
}

// Forget removes the records that a filter matches from the disk, with all that is derived from them and the same passages in other
// namespaces, and their words from all stores of Options.Elsewhere. What stays is an id and a keyed digest of each text, by which [Store.Add]
// refuses it when it comes again, also when another process is adding it at this moment. A Forget that fails
// without Records in its result may have removed nothing and has to be called again; one that fails later, or could not reach all other
// stores, is finished by the next one or by [Store.GC], and the records are found no longer.
func (s *Store) Forget(ctx context.Context, f Filter) (Forgotten, error) {
	gone, err := s.WouldForget(ctx, f)
	if err != nil {
		return Forgotten{}, err
	}
	if err := s.writeTombstones(ctx, gone); err != nil {
		return Forgotten{}, err
	}
	return s.finishForgetting(ctx, gone)
}

// writeTombstones appends the tombstones of records and reads them back. From then on no search finds the records.
func (s *Store) writeTombstones(ctx context.Context, gone []Record) error {
	now := s.o.Clock().UnixMilli()
	var tombs []archive.Line
	for i := range gone {
		body, err := marshalPlain(entryBody{ID: gone[i].ID, Recalled: now})
		if err != nil {
			return err
		}
		tombs = append(tombs, archive.Line{Key: s.forgottenKey(gone[i].Text), Body: body})
	}
	if len(tombs) == 0 {
		return s.readForgotten()
	}
	if err := s.archive.Append(ctx, forgottenNamespace, true, tombs...); err != nil {
		return err
	}
	return s.readForgotten()
}

// maxRounds bounds the passes of finishForgetting over the lines. Each later pass finds only records derived meanwhile from the last.
const maxRounds = 8

// finishForgetting removes the lines of all records with a tombstone from the disk, here and in other stores. gone are those whose tombstones the
// caller has just written. It waits for processes that are adding records, so that none of their lines is missed.
func (s *Store) finishForgetting(ctx context.Context, gone []Record) (Forgotten, error) {
	var out Forgotten
	meant := map[string]bool{}
	for _, r := range gone {
		meant[r.ID] = true
		out.Records = append(out.Records, r.ID)
	}
	// Who read the tombstones before these were written has written its lines when this returns: they are among the remains.
	release, err := s.lockAdding(ctx, filelock.Exclusive)
	if err != nil {
		return out, fmt.Errorf("somebody who adds to the memory does not end; plimsoll memory gc takes the words off the disk: %w", err)
	}
	release()
	var rest remains
	for range maxRounds {
		if rest, err = s.findRemains(ctx); err != nil {
			return out, err
		}
		if len(rest.unmarked) == 0 {
			break
		}
		for _, r := range rest.unmarked {
			if !meant[r.ID] {
				meant[r.ID] = true
				out.Records = append(out.Records, r.ID)
			}
		}
		if err := s.writeTombstones(ctx, rest.unmarked); err != nil {
			return out, err
		}
	}
	if len(rest.match.Texts) == 0 && len(gone) == 0 {
		return out, s.pruneTombstones(ctx)
	}
	places, err := s.forgetElsewhere(ctx, rest.match, false)
	out.Elsewhere, out.Places = len(places), places[:min(len(places), MaxPlaces)]
	errs := []error{err, s.pruneTombstones(ctx), s.pruneWithheld(ctx)}
	if err == nil { // what could not be reached is known by the lines that stay until then
		for _, name := range rest.names { // all, for what is damaged elsewhere may hold the words too
			freed, err := s.purgeForgotten(ctx, name, rest.match.Finder())
			out.Bytes += freed
			errs = append(errs, err)
		}
	}
	left, err := s.recordsMatching(ctx, &Filter{AllScopes: true})
	errs = append(errs, err)
	for i := range left {
		if rest.match.holds(&left[i]) {
			out.StillIn = append(out.StillIn, left[i].ID)
		}
	}
	s.o.Journal.Append(journal.MemoryForgotten{Records: len(out.Records), Elsewhere: out.Elsewhere, Bytes: out.Bytes})
	return out, errors.Join(errs...)
}

// forgetElsewhere calls Forget of all other stores, and returns the places that they report. One that fails stops no other.
func (s *Store) forgetElsewhere(ctx context.Context, m Match, dry bool) (places []Place, err error) {
	for _, e := range s.o.Elsewhere {
		some, one := e.Forget(ctx, m, dry)
		for _, p := range some {
			p.Store = e.Name
			places = append(places, p)
		}
		if one != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", e.Name, one))
		}
	}
	if err != nil && !dry {
		err = fmt.Errorf("%w; what is left of it is forgotten by plimsoll memory gc", err)
	}
	return places, err
}

// WouldForgetElsewhere returns the places in other stores, at most [MaxPlaces], that a Forget of these records would clear.
func (s *Store) WouldForgetElsewhere(ctx context.Context, records []Record) ([]Place, error) {
	earlier, err := s.earlierTexts(records)
	if err != nil {
		return nil, err
	}
	var m Match
	for i := range records {
		m.add(records[i].ID, records[i].Text, records[i].Source.Conversation)
	}
	for id, texts := range earlier {
		for _, text := range texts {
			m.add(id, text, "")
		}
	}
	m.finder = newFinder(m.Texts)
	places, err := s.forgetElsewhere(ctx, m, true)
	return places[:min(len(places), MaxPlaces)], err
}

// add adds an id, a text and a conversation, each unless it is "" or there already.
func (m *Match) add(id, text, conversation string) {
	for _, one := range []struct {
		value string
		to    *[]string
	}{{id, &m.IDs}, {text, &m.Texts}, {conversation, &m.Conversations}} {
		if one.value != "" && !slices.Contains(*one.to, one.value) {
			*one.to = append(*one.to, one.value)
		}
	}
}

// earlierTexts returns, by id, the texts of older versions of records that are still on the disk.
func (s *Store) earlierTexts(records []Record) (map[string][]string, error) {
	now := map[string]string{}
	names := map[string]bool{}
	for _, r := range records {
		now[r.ID] = r.Text
		names[r.Namespace] = true
	}
	out := map[string][]string{}
	for name := range names {
		var at archive.Cursor
		_, err := s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
			b, err := decodeBody(l.Body)
			if text, meant := now[b.ID]; err == nil && meant && b.Text != text && !slices.Contains(out[b.ID], b.Text) {
				out[b.ID] = append(out[b.ID], b.Text)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// remains describes the lines on the disk that belong to records with a tombstone.
type remains struct {
	match    Match
	unmarked []Record // those that have no tombstone for their id and their words yet: ids and texts
	names    []string // all namespaces
}

// findRemains reads all namespaces for lines of forgotten records that are still on the disk, and for records that were added while they
// were forgotten.
func (s *Store) findRemains(ctx context.Context) (remains, error) {
	out := remains{}
	var err error
	if out.names, err = s.Namespaces(); err != nil {
		return out, err
	}
	seen := map[string]bool{}
	for _, name := range out.names {
		var at archive.Cursor
		_, err := s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b, err := decodeBody(l.Body)
			if err != nil || b.ID == "" || !s.isLineForgotten(&b) {
				return nil
			}
			if s.lacksTombstone(&b) {
				out.unmarked = append(out.unmarked, Record{ID: b.ID, Text: b.Text})
			}
			if seen[b.ID+b.Text] {
				return nil
			}
			seen[b.ID+b.Text] = true
			shared, _ := decodeShared(l.Shared)
			if !seen["id "+b.ID] {
				seen["id "+b.ID] = true
				out.match.IDs = append(out.match.IDs, b.ID)
			}
			out.match.Texts = append(out.match.Texts, b.Text)
			if c := shared.Conversation; c != "" && !seen["conversation "+c] {
				seen["conversation "+c] = true
				out.match.Conversations = append(out.match.Conversations, c)
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	out.match.finder = newFinder(out.match.Texts)
	return out, nil
}

// purgeForgotten rewrites a namespace without the lines of forgotten records and without notes of whom they were given to. Damaged lines go too,
// because they may hold their words. It returns the number of bytes freed.
func (s *Store) purgeForgotten(ctx context.Context, name string, words *Finder) (freed int64, err error) {
	done, err := s.archive.Rewrite(ctx, name, true, func(l archive.Line) ([]byte, bool) {
		b, err := decodeBody(l.Body)
		if err != nil {
			return l.Body, false
		}
		if b.ID != "" && s.isLineForgotten(&b) {
			return nil, true
		}
		changed, keep := s.removeForgotten(&b, words)
		if !keep {
			return nil, true
		}
		if !changed {
			return l.Body, false
		}
		body, err := marshalPlain(b)
		return body, err == nil
	})
	return done.Bytes, errors.Join(err, s.archive.Sweep(name), s.pruneVectors(ctx, name))
}
