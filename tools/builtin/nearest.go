package builtin

import (
	"fmt"
	"strings"
)

// maxShown is how much of what a client sent is shown to it in an error, in bytes.
const maxShown = 80

// meant is `, did you mean "x"?` for the known name that is most like name, and nothing where
// none is.
func meant(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return fmt.Sprintf(", did you mean %q?", best)
	}
	return ""
}

// nearest gives the known name that is most like name: the same but for case, "-", "_" and
// spaces; else one within a few changed letters; else one of which it is a part, or that is a
// part of it.
func nearest(name string, known []string) string {
	plain := strings.NewReplacer("-", "", "_", "", " ", "", ".", "")
	key := func(s string) string { return strings.ToLower(plain.Replace(clip(s, maxShown))) }
	want := key(name)
	if want == "" {
		return ""
	}
	best, least, part := "", 1+max(1, len(want)/3), ""
	for _, k := range known {
		have := key(k)
		if d := distance(want, have); d < least {
			best, least = k, d
		}
		if part == "" && len(want) >= 3 && len(have) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have)) {
			part = k
		}
	}
	if best == "" {
		return part
	}
	return best
}

// distance counts the bytes to be changed, added or left out to make b of a. Both are short.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			last, row[j+1] = row[j+1], min(last+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
