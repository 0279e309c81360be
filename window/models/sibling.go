package models

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A version holds the numbers in a model's name, in their order: [5 5] for "claude-opus-5-5". A month at its end is one of them, because it
// tells models apart ("mistral-large-2402" took 32,000 tokens, "mistral-large-2512" takes 262,144); a full date is not: it is that of a
// release.
type version []int

// lineage returns the words of a folded name, which tell its family, and the version. "claude-3-5-sonnet" and "claude-sonnet-5" are of one
// family. Sizes ("70b", "128e", "1m") are words, and so is a part with letters ("4o", "k2") without the number at its end.
func lineage(spelled string) (words []string, v version) {
	spelled = spelled[strings.LastIndexByte(spelled, '/')+1:]
	for {
		shorter, ok := cutSuffix(spelled) // dates, and how it is served
		if !ok {
			break
		}
		if strings.HasPrefix(spelled[len(shorter):], "-v") {
			if _, rest := splitNumbers(shorter); len(rest) == 0 {
				break // the only number is no version of the service: "deepseek-v4"
			}
		}
		spelled = shorter
	}
	return splitNumbers(spelled)
}

// splitNumbers returns the words and the version numbers of a folded name.
func splitNumbers(spelled string) (words []string, v version) {
	for part := range strings.SplitSeq(spelled, "-") {
		letters := strings.TrimRight(part, "0123456789")
		if number, err := strconv.Atoi(part[len(letters):]); err == nil && (number < 1000 || isMonth(part)) && len(v) < 4 {
			v = append(v, number)
			part = letters
		}
		if part != "" {
			words = append(words, part)
		}
	}
	return words, v
}

// isMonth reports whether a part of a name is a year and a month, as in "mistral-large-2512".
func isMonth(part string) bool {
	return len(part) == 4 && part[0] == '2' && part[1] >= '3' && part[2:] >= "01" && part[2:] <= "12"
}

// siblingWindow guesses the window of a name that the catalogue lacks: that of the newest model of its family that is not newer than the
// name, so that a newer model is never taken for smaller than its newest known sibling. The family has the same words; if none of it is of
// the same generation, which is the first number, words are left off at the end ("claude-mythos-9" is a "claude") and the largest window is
// taken. The provider's own models count first. It returns false if there is no such model.
func (c *Catalogue) siblingWindow(n name, provider string) (Window, bool) {
	key := c.Refreshed.stamp() + provider + "/" + strings.Join(n.spellings, " ")
	if w, ok := guesses.get(key); ok {
		return w, w.Context > 0
	}
	w := c.guessWindow(n, provider)
	guesses.put(key, w)
	return w, w.Context > 0
}

// guessWindow is siblingWindow without the cache. It returns the zero Window if there is no sibling, or the name has no version.
func (c *Catalogue) guessWindow(n name, provider string) Window {
	for _, spelled := range n.spellings {
		words, v := lineage(spelled)
		if len(v) == 0 || len(words) == 0 {
			continue
		}
		var best Window
		for kept := len(words); kept > 0; kept-- {
			for _, where := range [...]string{provider, "any"} {
				w, of, ok := c.newestMember(where, words[:kept], kept == len(words), v)
				if !ok {
					continue
				}
				if w.Context > best.Context {
					best = w
					best.Source = SourceFamily
				}
				if of[0] == v[0] {
					return best
				}
				// The members are of another generation: what the wider family has in this one may be larger.
			}
		}
		if best.Context > 0 {
			return best
		}
	}
	return Window{}
}

// newestMember returns the window and version of the newest model of a provider that is not newer than v, or else of the oldest; false if
// there is none. With whole, the model's words must be exactly these, else they must begin with these. Among equals it takes the largest
// window: a guess that is too large costs a refusal, which the client does not see.
func (c *Catalogue) newestMember(provider string, words []string, whole bool, v version) (best Window, of version, ok bool) {
	if provider == "" {
		return Window{}, nil, false
	}
	// Order: not newer than v before newer; then the nearest to v; then the largest.
	better := func(w Window, other version) int {
		newer, bestNewer := slices.Compare(other, v) > 0, slices.Compare(of, v) > 0
		switch {
		case newer != bestNewer:
			if newer {
				return -1
			}
			return 1
		case newer:
			return cmp.Or(slices.Compare(of, other), cmp.Compare(w.Context, best.Context))
		default:
			return cmp.Or(slices.Compare(other, of), cmp.Compare(w.Context, best.Context))
		}
	}
	for key, w := range c.linesOf(provider) {
		if !strings.Contains(key, words[0]) {
			continue
		}
		theirs, other := lineage(key)
		if len(other) == 0 || len(theirs) < len(words) || whole && len(theirs) != len(words) || !slices.Equal(theirs[:len(words)], words) {
			continue
		}
		if (other[0] >= 1000) != (v[0] >= 1000) {
			other = append(version{0}, other...) // a number and a month do not compare: it is taken for older, the newest of its kind first
		}
		if !ok || better(w, other) > 0 {
			best, of, ok = w, other, true
		}
	}
	return best, of, ok
}

// guesses remembers guessed windows: a guess reads the whole table, and every request asks for its window.
var guesses guessCache

// maxGuesses bounds the memory of guesses; when it is full it starts anew.
const maxGuesses = 256

type guessCache struct {
	mu sync.Mutex
	of map[string]Window
}

// get returns the guess stored under a key; false if there is none.
func (c *guessCache) get(key string) (Window, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.of[key]
	return w, ok
}

// put stores a guess. A full cache is emptied first.
func (c *guessCache) put(key string, w Window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= maxGuesses {
		c.of = map[string]Window{}
	}
	c.of[strings.Clone(key)] = w
}
