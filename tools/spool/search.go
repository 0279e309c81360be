package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Bounds of a search.
const (
	MaxPattern       = 1024 // bytes of a pattern
	MaxContext       = 10   // lines before and after a match
	DefaultMatches   = 20   // matches on a page
	MaxPageMatches   = 100
	maxInstructions  = 10_000 // of a compiled pattern: the time a byte takes grows with them
	snippetSize      = 400    // bytes shown of an item that is not small
	contextSize      = 256    // bytes shown of a line before or after
	keptSearches     = 4      // searches of the spool whose matches are remembered
	breakdownTexts   = 10
	breakdownTracked = 256 // different matched texts that are counted
	breakdownText    = 60  // bytes of each that are compared
)

// SearchRequest asks for the items of a document that match.
type SearchRequest struct {
	// Pattern is a regular expression in RE2 syntax, at most MaxPattern bytes. It is matched against one item, or line without its end, at
	// a time: ^ and $ match its beginning and end. Items are matched as the JSON text that is stored.
	Pattern    string
	IgnoreCase bool
	// Page counts from 1 (0 means 1); Size is the most matches on it (DefaultMatches, at most MaxPageMatches). A page may have fewer: it
	// also fits into Source.PageBytes.
	Page, Size int
	// Context is the number of lines before and after each match that are returned (at most MaxContext). For other shapes than lines it is
	// ignored.
	Context int
	// Most is the number of matches beyond which the search is *TooMany; 0 means MaxMatches, which is also the most.
	Most int
}

// Match is one item that matches.
type Match struct {
	Item          int64 // its number, from 1
	Offset, Bytes int64 // of the item in what is stored
	At            int64 // offset of the item's first match, in what is stored
	// Text is the item, or what is around the match when Whole is not set.
	Text  []byte
	Whole bool
	// Before and After are the lines around the item, each cut to 256 bytes.
	Before, After []string
}

// Matches is a page of matches.
type Matches struct {
	Matches []Match
	// Number, Size, TotalPages, From and To are as those of a Page, in matches.
	Number, Size          int
	TotalPages            int64
	Total, From, To       int64
	Searched              int64 // items
	Shape                 Shape
	Cut                   string // why the result broke off, "" if it did not; what came was searched
	DocumentBytes, Offset int64
}

// Count is the number of times that a text was found.
type Count struct {
	Text string
	N    int64
}

// TooMany reports that more items match than an agent can look at.
type TooMany struct {
	Total int64 // exact
	Max   int64
	Noun  string
	// Texts are the most frequent matched texts; empty if all matches have the same. Tenths counts the matches in
	// each tenth of the document.
	Texts      []Count
	Tenths     [10]int64
	Suggestion string
}

// Error tells how many items match, the most frequent matched texts, and where in the document the matches lie.
func (e *TooMany) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s match, more than the %d that a search gives. %s", e.Total, e.Noun, e.Max, e.Suggestion)
	if len(e.Texts) > 0 {
		b.WriteString(" Most frequent:")
		for i, c := range e.Texts {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %q %d times", c.Text, c.N)
		}
		b.WriteByte('.')
	}
	fmt.Fprintf(&b, " Matches in each tenth of the result: %s.", strings.Trim(fmt.Sprint(e.Tenths), "[]"))
	return b.String()
}

// BadPattern is the error for a pattern that cannot be compiled or is too large.
type BadPattern struct{ Why string }

func (e *BadPattern) Error() string {
	return "the pattern is not a regular expression that can be searched: " + e.Why + "; the syntax is RE2 (no look-around, no back-references)"
}

// hit is a match: the number and place of the item, and the place of its first match.
type hit struct{ item, start, end, from, to int64 }

// searchResult is the result of a search of a whole document.
type searchResult struct {
	id         id
	pattern    string
	ignoreCase bool
	hits       []hit // at most MaxMatches
	total      int64
	texts      map[string]int64
	tenths     [10]int64
}

// Search waits for the end of the result and returns a page of the items that match, in order. The matches are kept for the next pages of
// the same pattern. If more than q.Most or MaxMatches match the error is *TooMany, for an invalid pattern *BadPattern, for a page out of
// range *NoPage.
func (r *Result) Search(ctx context.Context, q SearchRequest) (Matches, error) {
	p, err := compile(q.Pattern, q.IgnoreCase)
	if err != nil {
		return Matches{}, err
	}
	v, err := r.waitForEnd(ctx)
	if err != nil {
		return Matches{}, err
	}
	found := r.s.findSearched(r.id, q)
	if found == nil {
		if found, err = r.search(ctx, v, p); err != nil {
			if damaged := (*errDamaged)(nil); errors.As(err, &damaged) {
				return Matches{}, r.markDamaged()
			}
			return Matches{}, err
		}
		found.id, found.pattern, found.ignoreCase = r.id, q.Pattern, q.IgnoreCase
		r.s.rememberSearch(found)
	}
	maxBytes := int64(MaxMatches)
	if q.Most > 0 {
		maxBytes = min(maxBytes, int64(q.Most))
	}
	if found.total > maxBytes {
		return Matches{}, found.tooMany(v.m.Shape, maxBytes)
	}
	return r.pageOfMatches(ctx, v, q, found)
}

// tooMany returns the error for a search with too many matches, with the most frequent texts.
func (s *searchResult) tooMany(shape Shape, maxBytes int64) error {
	e := &TooMany{
		Total: s.total, Max: maxBytes, Noun: shape.Noun(), Tenths: s.tenths,
		Suggestion: "Make the pattern narrower: a longer text, a field with its value, or an anchor.",
	}
	if len(s.texts) > 1 {
		for text, n := range s.texts {
			e.Texts = append(e.Texts, Count{text, n})
		}
		sorting.By(e.Texts, func(a, b Count) int {
			if a.N != b.N {
				return int(b.N - a.N)
			}
			return strings.Compare(a.Text, b.Text)
		})
		e.Texts = e.Texts[:min(len(e.Texts), breakdownTexts)]
	}
	return e
}

// findSearched returns the result of an earlier search for the same pattern in the same entry, so that its next pages need no second
// search; nil if there is none.
func (s *Spool) findSearched(i id, q SearchRequest) *searchResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.searches {
		if f.id == i && f.pattern == q.Pattern && f.ignoreCase == q.IgnoreCase {
			return f
		}
	}
	return nil
}

// rememberSearch keeps the result of a search for its next pages; the oldest of more than keptSearches is dropped.
func (s *Spool) rememberSearch(f *searchResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.searches) >= keptSearches {
		s.searches = slices.Delete(s.searches, 0, 1)
	}
	s.searches = append(s.searches, f)
}

// add counts a hit, the tenth of the document that it lies in, and the matched text. It stores only the first MaxMatches hits and
// breakdownTracked different texts.
func (s *searchResult) add(h hit, m *meta, text []byte) {
	s.total++
	if size := m.DocEnd - m.DocBegin; size > 0 {
		tenth := int64(float64(h.from-m.DocBegin) / float64(size) * 10)
		s.tenths[min(max(tenth, 0), 9)]++
	}
	if len(s.hits) < MaxMatches {
		s.hits = append(s.hits, h)
	}
	if s.texts == nil {
		s.texts = map[string]int64{}
	}
	if len(text) > breakdownText {
		text = text[:breakdownText-incompleteRune(text[:breakdownText])]
	}
	if _, ok := s.texts[string(text)]; ok || len(s.texts) < breakdownTracked {
		s.texts[string(text)]++
	}
}
