package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/limit"
)

// Search finds the records whose words have most in common with those of a query.
func (s *Store) Search(ctx context.Context, q Query) (Results, error) {
	text := limit.Clip(q.Text, MaxQuery)
	f := Filter{Namespaces: q.Namespaces, Scope: q.Scope, AllScopes: q.AllScopes, Kinds: q.Kinds, Origins: q.Origins, Since: q.Since, Until: q.Until}
	all, err := s.matching(ctx, &f)
	if err != nil {
		return Results{}, err
	}
	now := s.o.Clock()
	all = slices.DeleteFunc(all, func(r Record) bool { return r.Quarantined || r.Fact != nil && !r.Fact.at(q.AsOf, now) })
	words := wordsOf(text)
	found := make([]Item, 0, len(all))
	df := map[string]int{}
	sets := make([]map[string]bool, len(all))
	for i := range all {
		sets[i] = map[string]bool{}
		for _, w := range wordsOf(all[i].Text) {
			sets[i][w] = true
		}
		for _, w := range words {
			if sets[i][w] {
				df[w]++
			}
		}
	}
	for i := range all {
		score := 0.0
		for _, w := range words {
			if sets[i][w] {
				score += math.Log(1 + float64(len(all))/float64(df[w]))
			}
		}
		if score > 0 {
			found = append(found, Item{all[i], score})
		}
	}
	slices.SortStableFunc(found, func(a, b Item) int { return cmp.Compare(b.Score, a.Score) })
	from, to := page(len(found), q.Limit, q.Offset)
	return Results{Items: found[from:to], Total: len(found), Offset: from}, nil
}

func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	return slices.Compact(words)
}
