package memory

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// withheldNamespace is the namespace of what a person took back. No record can be in it.
const withheldNamespace = "withheld"

// MaxWithheld bounds the records that are taken back at once.
const MaxWithheld = 1000

// maxTerms bounds the terms by which a subject is known.
const maxTerms = 32

// Withheld is a record that a person took back: neither it nor what is about the same is put before a model by itself.
type Withheld struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// withheldLine is a line about a record that was taken back, or is given again. Of those about one record the latest counts: they may lie in several
// segments, which are read in no order.
type withheldLine struct {
	ID    string      `json:"id"`
	At    int64       `json:"r"`           // milliseconds since 1970
	Terms []byte      `json:"t,omitempty"` // eight bytes of a keyed digest each
	Fact  archive.Key `json:"f,omitzero"`  // of subject and attribute
	Again bool        `json:"again,omitempty"`
}

// withheld holds as much of it as this process has read.
type withheld struct {
	mu    sync.Mutex
	at    archive.Cursor
	marks map[string]subject
	again map[string]int64 // when they were given again
}

// subject tells whether two records are about the same, without giving away their words.
type subject struct {
	at    int64
	terms []uint64 // sorted
	fact  archive.Key
}

// Withhold takes a record back: from now on neither it nor what is nearly the same or about the same subject is given by itself. Searches still find it.
// It is known to all processes with the store by their next question. It returns an [ErrNotFound] for an unknown id.
func (s *Store) Withhold(ctx context.Context, id string) error {
	found, err := s.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	if err := s.readWithheld(); err != nil {
		return err
	}
	s.withheld.mu.Lock()
	_, known := s.withheld.marks[id]
	n, again := len(s.withheld.marks), s.withheld.again[id]
	s.withheld.mu.Unlock()
	switch {
	case known:
		return nil
	case n >= MaxWithheld:
		return fmt.Errorf("%d records are taken back already, which is the most: forget some of them, or give some again", n)
	}
	about := s.subjectOf(&found[0])
	terms := make([]byte, 0, 8*len(about.terms))
	for _, t := range about.terms {
		terms = binary.LittleEndian.AppendUint64(terms, t)
	}
	return s.appendWithheld(ctx, withheldLine{ID: id, At: max(s.o.Clock().UnixMilli(), again+1), Terms: terms, Fact: about.fact})
}

// GiveAgain undoes [Store.Withhold]. A record that was not taken back is an [ErrNotFound].
func (s *Store) GiveAgain(ctx context.Context, id string) error {
	if err := s.readWithheld(); err != nil {
		return err
	}
	s.withheld.mu.Lock()
	mark, known := s.withheld.marks[id]
	s.withheld.mu.Unlock()
	if !known {
		return fmt.Errorf("%w that was taken back: %s", ErrNotFound, id)
	}
	return s.appendWithheld(ctx, withheldLine{ID: id, At: max(s.o.Clock().UnixMilli(), mark.at), Again: true})
}

// appendWithheld writes an entry about a record that was taken back or given again, and reads it back. It is on the disk when this returns.
func (s *Store) appendWithheld(ctx context.Context, b withheldLine) error {
	body, err := marshalPlain(b)
	if err != nil {
		return err
	}
	if err := s.archive.Append(ctx, withheldNamespace, true, archive.Line{Key: s.digest("withheld", b.ID), Body: body}); err != nil {
		return err
	}
	return s.readWithheld()
}

// Withheld returns the records that were taken back, the latest first.
func (s *Store) Withheld() ([]Withheld, error) {
	if err := s.readWithheld(); err != nil {
		return nil, err
	}
	s.withheld.mu.Lock()
	defer s.withheld.mu.Unlock()
	out := []Withheld{}
	for id, about := range s.withheld.marks {
		out = append(out, Withheld{id, timeFromMillis(about.at)})
	}
	sorting.By(out, func(a, b Withheld) int { return b.At.Compare(a.At) })
	return out, nil
}

// WithheldBy returns the id of the record that was taken back and that r is, or is about the same as; "" if there is none. It knows what this
// process has read; every search, list and [Store.Get] reads what is new.
func (s *Store) WithheldBy(r *Record) string {
	s.withheld.mu.Lock()
	marks := s.withheld.marks
	s.withheld.mu.Unlock()
	if len(marks) == 0 {
		return ""
	}
	if _, ok := marks[r.ID]; ok {
		return r.ID
	}
	about := s.subjectOf(r)
	for _, id := range slices.Sorted(maps.Keys(marks)) {
		mark := marks[id]
		switch {
		case r.Standing() && r.Said.UnixMilli() > mark.at && !equalTerms(mark.terms, about.terms):
			// Said since, in other words: the newest word of the person counts.
		case mark.fact != (archive.Key{}) && mark.fact == about.fact, sameSubject(mark.terms, about.terms):
			return id
		}
	}
	return ""
}

// readWithheld reads what this process does not know yet of what was taken back. The map is never changed once it is in its place.
func (s *Store) readWithheld() error {
	w := &s.withheld
	w.mu.Lock()
	defer w.mu.Unlock()
	for range 2 {
		marks, again, fresh := w.marks, w.again, false
		seen, err := s.archive.Read(withheldNamespace, &w.at, func(_ archive.Position, l archive.Line) error {
			var b withheldLine
			if json.Unmarshal(l.Body, &b) != nil || b.ID == "" {
				return nil // of a newer version
			}
			if !fresh {
				marks, again, fresh = maps.Clone(marks), maps.Clone(again), true
				if marks == nil {
					marks, again = map[string]subject{}, map[string]int64{}
				}
			}
			if b.Again {
				again[b.ID] = max(again[b.ID], b.At)
				if mark, ok := marks[b.ID]; ok && mark.at <= b.At {
					delete(marks, b.ID)
				}
				return nil
			}
			if b.At <= again[b.ID] || b.At < marks[b.ID].at || len(marks) >= 2*MaxWithheld {
				return nil
			}
			about := subject{at: b.At, fact: b.Fact}
			for t := b.Terms; len(t) >= 8 && len(about.terms) < maxTerms; t = t[8:] {
				about.terms = append(about.terms, binary.LittleEndian.Uint64(t))
			}
			marks[b.ID] = about
			return nil
		})
		w.marks, w.again = marks, again // also with an error: the cursor stands behind what was read
		if err != nil || len(seen.Gone) == 0 {
			return err
		}
		w.at, w.marks, w.again = archive.Cursor{}, nil, nil // it was written anew
	}
	return nil
}

// pruneWithheld removes from the disk what was taken back and then forgotten, or is given again.
func (s *Store) pruneWithheld(ctx context.Context) error {
	if err := s.readWithheld(); err != nil {
		return err
	}
	s.withheld.mu.Lock()
	marks := s.withheld.marks
	s.withheld.mu.Unlock()
	stale := map[string]bool{} // whose lines go now; what undid them stays until the next time, because a crash may leave some of them
	_, err := s.archive.Rewrite(ctx, withheldNamespace, true, func(l archive.Line) ([]byte, bool) {
		var b withheldLine
		if json.Unmarshal(l.Body, &b) != nil || b.ID == "" {
			return l.Body, false
		}
		mark, counts := marks[b.ID]
		switch {
		case b.Again && (counts || stale[b.ID]):
			return l.Body, false
		case !counts || mark.at != b.At || s.isIDForgotten(b.ID):
			stale[b.ID] = true
			return nil, true
		}
		return l.Body, false
	})
	return err
}

// calendar are the words for days and months, stemmed: a statement about another day is about the same subject.
var calendar = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	var words index.Words
	words.Each(`monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
		january february march april june july august september october november december
		montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags freitags samstags sonntags
		januar februar märz mai juni juli oktober dezember lunes martes miércoles jueves viernes sábado domingo
		enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre today tomorrow heute morgen hoy mañana`,
		func(term []byte) { set[string(term)] = true })
	return set
})

// subjectOf returns what a record is about, as keyed digests: its terms without numbers and dates, and a fact's subject and attribute.
func (s *Store) subjectOf(r *Record) subject {
	var out subject
	var words index.Words
	seen := map[string]bool{}
	words.Each(r.Text, func(term []byte) {
		if len(seen) >= maxTerms || seen[string(term)] || calendar()[string(term)] || strings.Trim(string(term), "0123456789.:-/") == "" {
			return
		}
		seen[string(term)] = true
		key := s.digest("term", string(term))
		out.terms = append(out.terms, binary.LittleEndian.Uint64(key[:]))
	})
	slices.Sort(out.terms)
	if r.Fact != nil {
		plain := func(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
		out.fact = s.digest("subject", plain(r.Fact.Subject), plain(r.Fact.Attribute))
	}
	return out
}

// equalTerms reports whether a and b have the same terms, at least one.
func equalTerms(a, b []uint64) bool { return len(a) > 0 && slices.Equal(a, b) }

// sameSubject reports whether two texts are nearly the same, or about the same subject: at least half of all their terms are in both, or all of one
// that has three or more are in the other.
func sameSubject(a, b []uint64) bool {
	if equalTerms(a, b) {
		return true
	}
	both := 0
	for _, t := range a {
		if _, ok := slices.BinarySearch(b, t); ok {
			both++
		}
	}
	if both < 2 {
		return false
	}
	least := min(len(a), len(b))
	return 2*both >= len(a)+len(b)-both || both == least && least >= 3
}

// markItems sets Withheld of what a search found.
func (s *Store) markItems(items []Item) error {
	if err := s.readWithheld(); err != nil {
		return err
	}
	for i := range items {
		items[i].Withheld = s.WithheldBy(&items[i].Record) != ""
	}
	return nil
}

// markRecords sets Withheld of records that were taken back or are about the same as one that was.
func (s *Store) markRecords(records []Record) error {
	if err := s.readWithheld(); err != nil {
		return err
	}
	for i := range records {
		records[i].Withheld = s.WithheldBy(&records[i]) != ""
	}
	return nil
}
