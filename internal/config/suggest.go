package config

import "github.com/plimsoll/plimsoll/internal/nearest"

// closest returns the candidate most like a word, "" if none is similar.
func closest(word string, candidates []string) string {
	if near := nearest.Names(word, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}
