package memories

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/facts"
)

// FactsDir returns the directory of the queue and the budget for drawing facts.
func (m *Memory) FactsDir() string { return filepath.Join(m.state, "facts") }

// Unread returns the ids of the episodes that a query matches and that were not read for facts yet, the oldest first, at most [facts.MaxQueue].
func (m *Memory) Unread(ctx context.Context, q Query) ([]string, error) {
	q.Kind = string(memory.KindEpisode)
	f, err := q.filter()
	if err != nil {
		return nil, err
	}
	read, err := m.readEpisodes(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	err = m.eachRecord(ctx, f, func(r memory.Record) error {
		if !read(r.ID) && len(ids) < facts.MaxQueue {
			ids = append(ids, r.ID)
		}
		return nil
	})
	return ids, err
}

// readEpisodes returns a function that reports whether an episode was read for facts: it is noted as read, or a fact was drawn from it.
func (m *Memory) readEpisodes(ctx context.Context) (func(id string) bool, error) {
	seen, _, err := facts.NewReadSet(m.FactsDir(), 0).Load()
	if err != nil {
		return nil, err
	}
	stand := map[string]bool{}
	err = m.eachRecord(ctx, memory.Filter{AllScopes: true, Kinds: []memory.Kind{memory.KindFact}}, func(r memory.Record) error {
		stand[r.Fact.Episode] = true
		return nil
	})
	return func(id string) bool { return stand[id] || seen(id) }, err
}

// FactStore returns the memory as a [facts.Store].
func (m *Memory) FactStore() facts.Store { return factStore{m.Store} }

type factStore struct{ store *memory.Store }

// Episode implements [facts.Store].
func (s factStore) Episode(ctx context.Context, id string) (memory.Record, bool, error) {
	page, err := s.store.List(ctx, memory.Filter{IDs: []string{id}, AllScopes: true})
	if err != nil || len(page.Records) == 0 {
		return memory.Record{}, false, err
	}
	return page.Records[0], true, nil
}

// Facts implements [facts.Store]. It returns the facts of all subjects: which names are one subject is for package facts to decide.
func (s factStore) Facts(ctx context.Context, namespace, scope, _ string) (out []memory.Record, err error) {
	f := memory.Filter{Namespaces: []string{namespace}, Scope: scope, Kinds: []memory.Kind{memory.KindFact}, Limit: memory.MaxLimit}
	for ; ; f.Offset += memory.MaxLimit {
		page, err := s.store.List(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Records...)
		if len(page.Records) < memory.MaxLimit {
			return out, nil
		}
	}
}

// Put implements [facts.Store].
func (s factStore) Put(ctx context.Context, fact memory.Record) error {
	added, err := s.store.Add(ctx, fact)
	if err == nil && added.Refused > 0 {
		return memory.ErrForgotten
	}
	return err
}

// End implements [facts.Store].
func (s factStore) End(ctx context.Context, id string, until time.Time) error {
	found, err := s.store.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	r := found[0]
	if r.Fact == nil {
		return fmt.Errorf("the record %s is no fact, so it has no end", id)
	}
	f := *r.Fact
	f.ValidUntil = until
	r.Fact = &f
	return s.store.Update(ctx, r)
}
