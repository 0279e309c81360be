package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// Who is refused for want of room is shown who has it; who is refused because nothing would hold its limits is not.
func TestAdviceToTheRefused(t *testing.T) {
	for by, want := range map[string]string{"": "plimsoll slots", journal.RefusedByEnforcement: "plimsoll doctor"} {
		reporter := journal.NewReporter(journal.Report{})
		j := journal.New(journal.Options{Observers: []journal.Observer{reporter}})
		j.Append(journal.Admitted{ReservationBytes: 64 << 20})
		j.Append(journal.Refused{Reason: "it is refused", By: by})
		got := Advice(reporter.Report())
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || by != "" && strings.Contains(got[0], "--wait") {
			t.Errorf("refused by %q: %q, want %s", by, got, want)
		}
	}
}
