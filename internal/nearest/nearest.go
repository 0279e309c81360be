package nearest

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// maxWord bounds what is compared of a name, in bytes.
const maxWord = 64

var plain = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

func key(name string) string { return strings.ToLower(plain.Replace(limit.Clip(name, maxWord))) }

// Names returns at most n of the known names, the most like word first; nil when none is like it.
func Names(word string, known []string, n int) []string {
	want := key(word)
	if want == "" {
		return nil
	}
	type near struct {
		name  string
		steps int
	}
	var found []near
	for _, name := range known {
		have := key(name)
		steps := distance(want, have)
		if steps > max(1, len(want)/3) {
			if len(want) < 3 || len(have) < 3 || !strings.Contains(have, want) && !strings.Contains(want, have) {
				continue
			}
			steps += maxWord // behind all that are spelled alike, the shortest first
		}
		found = append(found, near{name, steps})
	}
	sorting.StableBy(found, func(a, b near) int { return a.steps - b.steps })
	var names []string
	for _, f := range found[:min(n, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// distance counts the letters to be changed, added, left out or swapped with their neighbour to make b of a (optimal string
// alignment).
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
		before, last = last, row
	}
	return last[len(y)]
}
