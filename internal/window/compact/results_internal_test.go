package compact

import (
	"strings"
	"testing"
)

func TestSummariesOfResultsAreReadByTheirNumbers(t *testing.T) {
	for text, want := range map[string]map[int]string{
		"## 1\nall is well\n## 2: it failed\nby a timeout\n": {0: "all is well", 1: "it failed\nby a timeout"},
		"before\n## 3\nnobody asked\n## 2\nonly that":        {1: "only that"},
		"## 1\nfirst\n## 1\nsecond":                          {0: "first"},
		"## Results\nnone":                                   {},
		"## 0\nx\n## -1\ny\n## 99999999999999999999\nz":      {},
	} {
		got := resultSummaries(text, 2)
		if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("of %q came %v, want %v", text, got, want)
		}
	}
}

func FuzzResultSummaries(f *testing.F) {
	f.Add("## 1\nall is well\n## 2 it failed", 2)
	f.Add("## 1\n"+strings.Repeat("ä", 2000), 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		for i, said := range resultSummaries(text, n) {
			if i < 0 || i >= n || said == "" || len(said) > resultSummary+len("…")*2 {
				t.Errorf("%d of %d: %d bytes", i, n, len(said))
			}
		}
	})
}
