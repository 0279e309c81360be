package sandbox

import (
	"strings"
	"testing"
)

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "0": true, "a-b": true, "wsoo5mvenjo2": true, strings.Repeat("a", 64): true,
		"": false, "-": false, "-a": false, "a-": false, "A": false, "a/b": false, "..": false, "a\n": false, "\u00e9": false, "a\x00": false,
		strings.Repeat("a", 65): false,
	} {
		if validID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}
