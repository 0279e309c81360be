package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

func timeFromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Pins returns the pins of a namespace, the oldest first.
func (s *Store) Pins(ctx context.Context, namespace string) ([]Record, error) {
	return s.recordsMatching(ctx, &Filter{Namespaces: []string{namespace}, Kinds: []Kind{KindPin}, AllScopes: true})
}

// Pin copies a record of the user's into a new pin in the same namespace and returns that; a pin is returned as it is. A record of another
// origin, or a quarantined one, is an [ErrOrigin]. When the namespace's pins would be larger than Options.MaxPins, it returns an [ErrPins]
// that lists them.
func (s *Store) Pin(ctx context.Context, id string) (Record, error) {
	found, err := s.Get(ctx, id, 0)
	if err != nil {
		return Record{}, err
	}
	r := found[0]
	if r.Kind == KindPin {
		return r, nil
	}
	if r.Origin != OriginUser || r.Quarantined {
		return Record{}, fmt.Errorf("%w: %s is %s", ErrOrigin, id, r.Origin.Phrase())
	}
	pins, err := s.Pins(ctx, r.Namespace)
	if err != nil {
		return Record{}, err
	}
	if err := s.checkPinRoom(pins, r.Text); err != nil {
		return Record{}, err
	}
	pin := Record{
		Kind: KindPin, Origin: r.Origin, Namespace: r.Namespace, Scope: r.Scope, Text: r.Text, Source: r.Source, Said: r.Said, From: []string{r.ID},
	}
	added, err := s.Add(ctx, pin)
	if err != nil {
		return Record{}, err
	}
	if added.IDs[0] == "" {
		return Record{}, fmt.Errorf("%s cannot be pinned: %w", id, ErrForgotten)
	}
	found, err = s.Get(ctx, added.IDs[0], 0)
	if err != nil {
		return Record{}, err
	}
	return found[0], nil
}

// checkPinRoom returns an [ErrPins] that lists the pins if one more with this text would exceed Options.MaxPins. A text that is pinned
// already needs no room.
func (s *Store) checkPinRoom(pins []Record, text string) error {
	total := len(text)
	var names []string
	for _, p := range pins {
		if p.Text == text {
			return nil
		}
		total += len(p.Text)
		names = append(names, fmt.Sprintf("%s (%s)", p.ID, limit.Short(p.Text, 30)))
	}
	if int64(total) <= int64(s.o.MaxPins) {
		return nil
	}
	return fmt.Errorf("%w: it has %d bytes and they may have %d together; unpin one of %s", ErrPins, len(text), int64(s.o.MaxPins), strings.Join(names, ", "))
}

// Unpin removes the pin with an id, or the pins that were made from the record with it; that record stays. None is an [ErrNotFound].
func (s *Store) Unpin(ctx context.Context, id string) error {
	if _, err := parseID(id); err != nil {
		return err
	}
	pins, err := s.recordsMatching(ctx, &Filter{Kinds: []Kind{KindPin}, AllScopes: true})
	if err != nil {
		return err
	}
	found := false
	for i := range pins {
		p := &pins[i]
		if p.ID != id && !slices.Contains(p.From, id) {
			continue
		}
		found = true
		if err := s.dropRecord(ctx, p); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%w: %s is no pin, and none is made from it", ErrNotFound, id)
	}
	return nil
}

// dropRecord appends a line that removes a record from now on. Its bytes leave the disk when the segment is rewritten.
func (s *Store) dropRecord(ctx context.Context, r *Record) error {
	body, err := marshalPlain(entryBody{Drop: []string{r.ID}})
	if err != nil {
		return err
	}
	n, err := s.namespace(r.Namespace)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return s.archive.Append(ctx, r.Namespace, true, archive.Line{Key: s.passageKey(r), Body: body})
}

// Standing returns the standing instructions that count, the latest first: of those about one thing, whatever namespace they are in, the one that was
// said last, and none that was taken back. Of the query Namespaces, Scope and AllScopes are used. It opens the index of each namespace, as a search does.
func (s *Store) Standing(ctx context.Context, q Query) ([]Record, error) {
	if err := s.readForgotten(); err != nil {
		return nil, err
	}
	names, err := s.namespacesOrAll(q.Namespaces)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if err := checkNamespace(name); err != nil {
			return nil, err
		}
		some, err := s.standingIn(ctx, name, q)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if err := s.markRecords(all); err != nil {
		return nil, err
	}
	sorting.StableBy(all, func(a, b Record) int { return b.Said.Compare(a.Said) })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(r Record) bool {
		again := seen[r.Fact.Attribute]
		seen[r.Fact.Attribute] = true
		return again || r.Withheld
	}), nil
}

// standingIn returns the standing instructions of one namespace. If other processes keep rewriting it, it gives up after three tries and
// returns none.
func (s *Store) standingIn(ctx context.Context, name string, q Query) ([]Record, error) {
	h, err := s.shelf(name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for range 3 { // a segment that is written anew meanwhile is read again
		if err := h.catchUp(ctx, s); err != nil {
			return nil, err
		}
		if len(h.standing) == 0 {
			return nil, nil
		}
		from, err := s.archive.Fetcher(name)
		if err != nil {
			return nil, err
		}
		all, complete, err := h.readStanding(s, from, q)
		from.Close()
		if err != nil || complete {
			return all, err
		}
	}
	return nil, nil
}

// readStanding reads the standing instructions of the shelf from the disk; complete is false if one is no longer where the index has it. The caller
// holds h.mu.
func (h *shelf) readStanding(s *Store, from *archive.Fetcher, q Query) (all []Record, complete bool, err error) {
	f := h.newFilter(&Query{Scope: q.Scope, AllScopes: q.AllScopes}, s.o.Clock(), s.o.MaxAge)
	complete = true
	for _, n := range h.standing {
		if !f.passes(int(n)) {
			continue
		}
		r, ok, err := h.readRecord(from, int(n))
		if err != nil {
			return nil, false, err
		}
		if ok && r.Standing() && !s.isIDForgotten(r.ID) {
			all = append(all, r)
		}
		complete = complete && ok
	}
	return all, complete, nil
}
