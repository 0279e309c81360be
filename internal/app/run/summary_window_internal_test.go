package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

func TestTheSummaryTellsWhatRepeated(t *testing.T) {
	t.Parallel()
	w := journal.Window{Requests: 9, PeakTokens: 100, LimitTokens: 1000, Loops: 2, Loop: "read was called 4 times in a row\x1b[2J"}
	if row := windowRow(w); !strings.Contains(row, " · repeated itself twice: read was called 4 times in a row") || strings.Contains(row, "\x1b") {
		t.Error(row)
	}
	if w.Loops = 0; strings.Contains(windowRow(w), "repeated") {
		t.Error(windowRow(w))
	}
}

func TestTheSummaryTellsOfWaits(t *testing.T) {
	t.Parallel()
	w := journal.Window{Requests: 3, PeakTokens: 10, LimitTokens: 100}
	if row := windowRow(w); strings.Contains(row, "waited") {
		t.Error(row)
	}
	w.RateWaits, w.RateWaitedMS = 2, 12_400
	if row := windowRow(w); !strings.HasSuffix(row, "2 requests waited for the provider, 12s in all") {
		t.Error(row)
	}
}
