package journal

import (
	"strings"
	"testing"
)

// The ring is bounded in the memory that its events take, in whatever field that is.
func TestTheRingIsBoundedInBytes(t *testing.T) {
	const size, most = 1000, 64 << 10
	text := strings.Repeat("x", size)
	many := make([]string, size/16)
	for name, e := range map[string]Event{
		"a string":         WindowPassed{Upstream: text},
		"a list":           WindowCompacted{Rungs: []string{text}},
		"a list of little": WindowCompacted{Rungs: many},
	} {
		j := New(Options{MaxBytes: most})
		for range 500 {
			j.Append(e)
		}
		kept := 0
		for range j.Since(0) {
			kept++
		}
		if kept == 0 || kept*size > most || kept*2*size < most || int(j.Dropped())+kept != 500 {
			t.Errorf("%s: %d events of %d bytes and more are kept in %d, %d dropped", name, kept, size, most, j.Dropped())
		}
	}
	j := New(Options{MaxBytes: most})
	j.Append(WindowPassed{})
	j.Append(WindowPassed{Upstream: strings.Repeat(text, 100)})
	if n := j.Counts()[WindowPassed{}.Kind()]; n != 2 || j.Dropped() != 2 {
		t.Errorf("%d counted, %d dropped of one that is larger than the ring", n, j.Dropped())
	}
}
