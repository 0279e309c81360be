package main

import (
	"cmp"
	"index/suffixarray"
	"slices"
	"sort"
	"strings"
)

// sharedText returns one text that contains every token. Most tokens are parts of others (" the" of " therefore"), and most of one
// vocabulary is in the other, so it is a third as long as all tokens one after the other. The tokens that remain are joined end to
// beginning as far as they overlap, greedily: the shortest such text cannot be found in any useful time.
func sharedText(tokens []string) string {
	roots := newRoots(tokens)
	var b strings.Builder
	for next := roots.take(0, len(roots.sorted)); next >= 0; {
		token := roots.sorted[next]
		over := roots.joined
		b.WriteString(token[over:])
		if next = roots.takeOverlapping(token); next < 0 {
			roots.joined = 0
			next = roots.take(0, len(roots.sorted))
		}
	}
	return b.String()
}

// roots are the tokens that are not part of another one.
type roots struct {
	sorted []string
	free   []int // free[i] leads to the first token from i on that is not taken
	joined int   // number of bytes of the token taken last that the text ends with already
}

// newRoots returns the tokens that are part of no other token.
func newRoots(tokens []string) *roots {
	sorted := slices.Clone(tokens)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	// Each token once, with what begins where in all of them: one is a root when it is in no other.
	all := strings.Join(sorted, "")
	starts := make([]int, len(sorted))
	for i, at := 0, 0; i < len(sorted); i++ {
		starts[i] = at
		at += len(sorted[i])
	}
	index := suffixarray.New([]byte(all))
	r := &roots{}
	for i, token := range sorted {
		if !slices.ContainsFunc(index.Lookup([]byte(token), -1), func(at int) bool {
			in, exact := slices.BinarySearch(starts, at)
			if !exact {
				in--
			}
			return in != i && at+len(token) <= starts[in]+len(sorted[in])
		}) {
			r.sorted = append(r.sorted, token)
		}
	}
	r.free = make([]int, len(r.sorted)+1)
	for i := range r.free {
		r.free[i] = i
	}
	return r
}

// take marks the first unmarked token of sorted[from:to] as taken and returns its index, -1 if there is none.
func (r *roots) take(from, to int) int {
	at := from
	for r.free[at] != at {
		at = r.free[at]
	}
	for from != at { // the next one who asks has a shorter way
		r.free[from], from = at, r.free[from]
	}
	if at >= to {
		return -1
	}
	r.free[at] = at + 1
	return at
}

// takeOverlapping takes the token whose beginning overlaps most with the end of token, and returns its index, -1 if none overlaps by a
// byte.
func (r *roots) takeOverlapping(token string) int {
	for from := 1; from < len(token); from++ {
		end := token[from:]
		low, _ := slices.BinarySearch(r.sorted, end)
		high := low + sort.Search(len(r.sorted)-low, func(i int) bool { return !strings.HasPrefix(r.sorted[low+i], end) })
		if low == high {
			continue
		}
		if at := r.take(low, high); at >= 0 {
			r.joined = len(end)
			return at
		}
	}
	return -1
}

// places returns the position of each token in the text, the first of several.
func places(text string, tokens []string) []int {
	index := suffixarray.New([]byte(text))
	at := make([]int, len(tokens))
	for i, token := range tokens {
		at[i] = slices.MinFunc(index.Lookup([]byte(token), -1), cmp.Compare[int])
	}
	return at
}
