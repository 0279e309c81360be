package remember

import (
	"context"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/standing"
)

// learn keeps the standing instructions that a person has typed in records that were just added with ids: "always answer in German". A later one
// about the same thing takes the place of the earlier one, which stays as what held before.
func learn(ctx context.Context, store *memory.Store, records []memory.Record, ids []string) error {
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

// learnOne keeps one instruction that the episode id says.
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
		if counts && (sameWords(old.Text, i.Sentence) || known[0].Count > 1 && old.Source.Conversation == r.Source.Conversation) || again && slices.Contains(old.From, id) {
			return nil
		}
	}
	said := r.Said
	if said.IsZero() {
		said = known[0].Recorded
	}
	for _, old := range have {
		switch {
		case sameWords(old.Text, i.Sentence): // it held once and does again: it stands there once
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

func sameWords(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}
