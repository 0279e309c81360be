package run

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
)

// Names of tools, projects, processes, servers and models are others' words: whatever is in them, only the sequences that are ours reach the terminal.
func TestNoNameMovesTheTerminal(t *testing.T) {
	const name = "na\x1b[2J\u202esty\u009b\rx"
	var out strings.Builder
	Show(&out, true, journal.Report{
		Tool: name, Project: name, Outcome: journal.OutcomeOOM, LimitBytes: 1 << 20, PeakBytes: 1 << 20, OOMKills: 1, Layer: name,
		KilledChildren: []journal.Process{{Name: name, Bytes: 1}}, Leftovers: []journal.Process{{Name: name, Fate: name}},
		Window: journal.Window{NoProxy: name},
	})
	s := &speaker{w: &out, person: true, said: map[string]bool{}}
	s.progress(admission.Progress{Reason: admission.TotalSlots, Terms: admission.Terms{Holders: []admission.Holder{{State: admission.Holding, Tool: name, User: name}}}})
	s.warn(name)
	for _, bad := range []string{"\x1b[2J", "\u202e", "\u009b", "\rx"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is in %q", bad, out.String())
		}
	}
	if !strings.Contains(out.String(), "na�[2J�sty��x") {
		t.Errorf("the name is not in %q", out.String())
	}
}
