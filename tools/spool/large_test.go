package spool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A large item is looked at around the literals of a pattern, or read on the go; both find
// what the expression finds in all of it.
func TestSearchOfLargeItems(t *testing.T) {
	s := open(t, Options{})
	fill := func(word string) string { return strings.Repeat(word+" ", 3*scanBuffer/len(word)) }
	var items []string
	for i := range 4 {
		items = append(items, fmt.Sprintf(`{"id":%d,"a":"%s","key":"nödle-%d-Sack","z":"%s"}`, i, fill("größe straw"), i, fill("hay")))
	}
	items = append(items, `{"id":4,"key":"small-nödle-4-sack"}`, `"`+fill("é")+`needle"`)
	r := read(t, s, keep(t, s, Source{}, "["+strings.Join(items, ",")+"]", 1<<20))
	for _, pattern := range []string{
		`nödle-2-Sack`, `(?i)NÖDLE-[13]-sack`, `nödle-\d`, `"key":"n.dle-[0-2]`, `dle-3-(Sack|sock)"`, `small|dle-1`, `[^é]needle`, `[^x]needle`, ` needle`,
		`hay "}$`, `^\{"id":3`, `\bSack\b`, `id":[0-9]+,"a"`, `no such needle`, `straw größe nothing|nödle-3`,
	} {
		re := regexp.MustCompile("(?i:" + pattern + ")")
		var want, got []string
		for i, item := range items {
			if re.MatchString(item) {
				want = append(want, fmt.Sprint(i+1))
			}
		}
		for _, m := range everyMatch(t, r, SearchRequest{Pattern: pattern, IgnoreCase: true}) {
			if got = append(got, fmt.Sprint(m.Item)); !re.Match(m.Text) && !strings.ContainsAny(pattern, "^$\\") {
				t.Errorf("%s: what is shown of item %d does not match: %q", pattern, m.Item, m.Text)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: items %v match, want %v", pattern, got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Search(ctx, SearchRequest{Pattern: `(?:a?){300}[^ö]{3}b`}); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that nobody waits for: %v", err)
	}
}
