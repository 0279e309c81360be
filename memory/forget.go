package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/memory/archive"
)

// Elsewhere is another store that may hold the words of what is forgotten: kept cuts of the window plane, conversations of agents, spooled
// results, the files of runs.
type Elsewhere interface {
	// Forget removes what holds the words of a match from the disk and returns how many things went. It is called after the memory
	// itself has forgotten, and may be called again with the same match.
	Forget(ctx context.Context, m Match) (n int, err error)
}

// Match is what was forgotten, for other stores.
type Match struct {
	IDs           []string
	Texts         []string // of the records, word for word
	Conversations []string // that they stood in
}

// In reports that some text holds the words of a match, as they are or as JSON strings have them.
func (m Match) In(text []byte) bool {
	for _, t := range m.Texts {
		if bytes.Contains(text, []byte(t)) {
			return true
		}
		quoted := rawjson.Quote(nil, t)
		if inner := quoted[1 : len(quoted)-1]; bytes.Contains(text, inner) {
			return true
		}
		if escaped, err := marshalHTML(t); err == nil && bytes.Contains(text, escaped) {
			return true
		}
	}
	return false
}

// Forgotten is what [Store.Forget] did.
type Forgotten struct {
	Records   []string `json:"records"` // ids: those that were meant, and what is derived from them
	Elsewhere int      `json:"elsewhere"`
	Bytes     int64    `json:"bytes"` // that became free in the memory
	// StillIn are other records whose text holds one that was forgotten, word for word: what was said in them was not meant.
	StillIn []string `json:"still_in,omitempty"`
}

// forgottenNamespace holds the tombstones. No record can be in it.
const forgottenNamespace = "forgotten"

// forgotten are the tombstones that this process has read.
type forgotten struct {
	mu   sync.Mutex
	at   archive.Cursor
	ids  map[string]time.Time
	keys map[archive.Key]struct{}
}

// readForgotten reads the tombstones that this process does not know yet.
func (s *Store) readForgotten() error {
	s.mu.Lock()
	err := s.isOpen()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	f := &s.forgotten
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids == nil {
		f.ids, f.keys = map[string]time.Time{}, map[archive.Key]struct{}{}
	}
	_, err = s.archive.Read(forgottenNamespace, &f.at, func(_ archive.Place, l archive.Line) error {
		b, err := decodeBody(l.Body)
		if err == nil && b.ID != "" {
			f.ids[b.ID] = timeOf(b.Recalled)
			f.keys[l.Key] = struct{}{}
		}
		return nil
	})
	return err
}

// isForgotten says that the words of a record were forgotten once.
func (s *Store) isForgotten(r *Record) bool {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	if len(s.forgotten.keys) == 0 {
		return false
	}
	_, ok := s.forgotten.keys[s.forgottenKey(r.Text)]
	return ok
}

func (s *Store) wasForgotten(id string) bool {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	_, ok := s.forgotten.ids[id]
	return ok
}

func (s *Store) notFound(id string) error {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	if at, ok := s.forgotten.ids[id]; ok {
		return fmt.Errorf("%w: %s: %w on %s", ErrNotFound, id, ErrForgotten, at.Format(time.DateOnly))
	}
	return fmt.Errorf("%w: %s", ErrNotFound, limit.Short(id, 40))
}

// WouldForget returns the records that Forget would remove.
func (s *Store) WouldForget(ctx context.Context, f Filter) ([]Record, error) {
	if !f.narrow() && !f.All {
		return nil, errors.New("nothing says what is to be forgotten; set a condition of the filter, or All")
	}
	meant, err := s.matching(ctx, &f)
	if err != nil || len(meant) == 0 {
		return meant, err
	}
	// What is derived from it holds its words too, and so does the same passage somewhere else.
	all, err := s.matching(ctx, &Filter{AllScopes: true})
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
// namespaces, and then from all stores of Options.Elsewhere. What stays is an id and a keyed digest of each text, by which [Store.Add]
// refuses it when it comes again. A Forget that ends early is finished by the next one with the same filter, or by [Store.GC].
func (s *Store) Forget(ctx context.Context, f Filter) (Forgotten, error) {
	var out Forgotten
	gone, err := s.WouldForget(ctx, f)
	if err != nil || len(gone) == 0 {
		return out, err
	}
	var match Match
	now := s.o.Clock().UnixMilli()
	var tombs []archive.Line
	for _, r := range gone {
		body, err := marshal(entryBody{ID: r.ID, Recalled: now})
		if err != nil {
			return out, err
		}
		tombs = append(tombs, archive.Line{Key: s.forgottenKey(r.Text), Body: body})
		out.Records = append(out.Records, r.ID)
		match.IDs = append(match.IDs, r.ID)
		match.Texts = append(match.Texts, r.Text)
		if c := r.Source.Conversation; c != "" && !slices.Contains(match.Conversations, c) {
			match.Conversations = append(match.Conversations, c)
		}
	}
	earlier, err := s.earlierWords(gone)
	if err != nil {
		return Forgotten{}, err
	}
	for id, texts := range earlier {
		for _, text := range texts {
			body, err := marshal(entryBody{ID: id, Recalled: now})
			if err != nil {
				return Forgotten{}, err
			}
			tombs = append(tombs, archive.Line{Key: s.forgottenKey(text), Body: body})
			match.Texts = append(match.Texts, text)
		}
	}
	if err := s.archive.Append(ctx, forgottenNamespace, true, tombs...); err != nil {
		return Forgotten{}, err
	}
	if err := s.readForgotten(); err != nil {
		return out, err
	}
	names, err := s.Namespaces()
	if err != nil {
		return out, err
	}
	var errs []error
	for _, name := range names { // all, for what is damaged elsewhere may hold the words too
		freed, err := s.purge(ctx, name)
		out.Bytes += freed
		errs = append(errs, err)
	}
	left, err := s.matching(ctx, &Filter{AllScopes: true})
	errs = append(errs, err, s.boundForgotten(ctx))
	for _, r := range left {
		if match.holds(&r) {
			out.StillIn = append(out.StillIn, r.ID)
		}
	}
	for _, e := range s.o.Elsewhere {
		n, err := e.Forget(ctx, match)
		out.Elsewhere += n
		errs = append(errs, err)
	}
	s.o.Journal.Append(journal.MemoryForgotten{Records: len(out.Records), Elsewhere: out.Elsewhere, Bytes: out.Bytes})
	return out, errors.Join(errs...)
}

// earlierWords are what older versions of records said, by their ids, as far as they are still on the disk.
func (s *Store) earlierWords(records []Record) (map[string][]string, error) {
	now := map[string]string{}
	names := map[string]bool{}
	for _, r := range records {
		now[r.ID] = r.Text
		names[r.Namespace] = true
	}
	out := map[string][]string{}
	for name := range names {
		var at archive.Cursor
		_, err := s.archive.Read(name, &at, func(_ archive.Place, l archive.Line) error {
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

// holds reports that a record's words hold those of a match. Very short texts stand in many others by chance.
func (m Match) holds(r *Record) bool {
	return slices.ContainsFunc(m.Texts, func(text string) bool {
		return len(text) >= 16 && (strings.Contains(r.Text, text) || r.Fact != nil && strings.Contains(r.Fact.Quote, text))
	})
}

// maxForgotten bounds the tombstones. Beyond it the oldest half goes; the words of those could be remembered again.
const maxForgotten = 100_000

func (s *Store) boundForgotten(ctx context.Context) error {
	f := &s.forgotten
	f.mu.Lock()
	var times []time.Time
	if len(f.ids) > maxForgotten {
		times = slices.SortedFunc(maps.Values(f.ids), time.Time.Compare)
	}
	f.mu.Unlock()
	if times == nil {
		return nil
	}
	oldest := times[len(times)/2].UnixMilli()
	_, err := s.archive.Rewrite(ctx, forgottenNamespace, true, func(l archive.Line) ([]byte, bool) {
		if b, err := decodeBody(l.Body); err == nil && b.ID != "" && b.Recalled < oldest {
			return nil, true
		}
		return l.Body, false
	})
	return err
}

// purge removes the lines of forgotten records from the disk, and damaged ones, which may hold their words.
func (s *Store) purge(ctx context.Context, name string) (freed int64, err error) {
	done, err := s.archive.Rewrite(ctx, name, true, func(l archive.Line) ([]byte, bool) {
		b, err := decodeBody(l.Body)
		if err == nil && b.ID != "" && s.wasForgotten(b.ID) {
			return nil, true
		}
		return l.Body, false
	})
	return done.Bytes, errors.Join(err, s.archive.Sweep(name), s.pruneVectors(ctx, name))
}

// marshalHTML is the inside of a JSON string in which <, > and & are escaped, as many encoders have it.
func marshalHTML(text string) ([]byte, error) {
	quoted := rawjson.Quote(nil, text)
	return []byte(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(string(quoted[1 : len(quoted)-1]))), nil
}
