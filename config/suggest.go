package config

import "github.com/plimsoll/plimsoll/internal/nearest"

// closest returns the candidate that word was meant to be; "" when none is like it.
func closest(word string, candidates []string) string {
	if near := nearest.Names(word, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}
