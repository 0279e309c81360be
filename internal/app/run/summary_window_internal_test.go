package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

func TestWindowRowTellsOfWaits(t *testing.T) {
	w := journal.Window{Requests: 3, PeakTokens: 10, LimitTokens: 100}
	if row := windowRow(w); strings.Contains(row, "waited") {
		t.Error(row)
	}
	w.RateWaits, w.RateWaitedMS = 2, 12_400
	if row := windowRow(w); !strings.HasSuffix(row, "2 requests waited for the provider, 12s in all") {
		t.Error(row)
	}
}
