package jobs

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// However long a report is, it fits behind what was said, and its figures arrive.
func TestMessage(t *testing.T) {
	r := journal.Report{Schema: journal.ReportSchema, Tool: "claude", Command: []string{"claude", "-p"}, Outcome: journal.OutcomeFailed, ExitCode: 3, PeakBytes: 7}
	for _, grow := range []func(){
		func() {},
		func() { r.Window.NoProxy = strings.Repeat("x", 4000) },
		func() { r.Warnings = []string{strings.Repeat("x", 4000)} },
		func() { r.KilledChildren = make([]journal.Process, 500) },
		func() { r.Command = append(r.Command, strings.Repeat("x", 100<<10)) },
		func() { r.Command[0], r.Project = strings.Repeat("x", 100<<10), strings.Repeat("y", 5000) },
	} {
		grow()
		text := Message(&r)
		if len(text) > maxMessage || strings.Count(string(text), "\n") != 1 {
			t.Fatalf("%d bytes: %.80q", len(text), text)
		}
		for _, before := range []string{"", "plimsoll: killed for memory\n", "{\"schema\": 1}\n"} {
			said, got := ParseMessage(before + string(text))
			if said != before || got == nil || got.ExitCode != 3 || got.PeakBytes != 7 || got.Outcome != journal.OutcomeFailed {
				t.Errorf("%q, %+v", said, got)
			}
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add("plimsoll: x\n{\"schema\":1}\n")
	f.Add("{\"schema\":1")
	f.Add("null\n{null")
	f.Fuzz(func(t *testing.T, message string) {
		if said, r := ParseMessage(message); !strings.HasPrefix(message, said) || r == nil && said != message {
			t.Errorf("%q, %v", said, r)
		}
	})
}
