package client

import (
	"strings"
	"testing"
)

func TestLastLinesAreBounded(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"one":                            "one",
		"a\n\n b \x1b[2J\nc\r\n\n":       "a | b  [2J | c",
		"1\n2\n3\n4\n5\n6\n":             "3 | 4 | 5 | 6",
		"Traceback:\n  File x\nKeyError": "Traceback: | File x | KeyError",
	} {
		if got := lastLines([]byte(in)); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if n := len(lastLines([]byte(strings.Repeat(strings.Repeat("x", 3000)+"\n", 10)))); n > maxLines*(maxWords+8) {
		t.Errorf("%d bytes", n)
	}
}
