package limit_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 project": limit.Count(1, "project"), "0 projects": limit.Count(0, "project"), "2 processes": limit.Count(int64(2), "process"),
		"3 matches": limit.Count(3, "match"), "1 entry": limit.Count(1, "entry"), "2 entries": limit.Count(2, "entry"), "2 days": limit.Count(2, "day"),
		"4 foreign processes": limit.Count(4, "foreign process"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
