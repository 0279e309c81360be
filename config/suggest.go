package config

import (
	"slices"
	"strings"
)

// maxWord bounds what the edit distance is worked out for, in bytes: its cost is quadratic.
const maxWord = 64

// nearest returns the candidate with the smallest edit distance to word, or "" when every
// one of them would need more than a third of its letters changed. Before that the shortest
// one that word begins is taken.
func nearest(word string, candidates []string) string {
	if word == "" || len(word) > maxWord {
		return ""
	}
	best, found := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := distance(fold(word), fold(c)); d < found {
			best, found = c, d
		}
	}
	if best == "" && len(word) > 2 {
		for _, c := range candidates {
			if strings.HasPrefix(fold(c), fold(word)) && (best == "" || len(c) < len(best)) {
				best = c
			}
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours that
// turn a into b (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = slices.Clone(last), row
	}
	return last[len(y)]
}
