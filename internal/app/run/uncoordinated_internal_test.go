package run

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/process/admission"
)

func TestAlertsAreHeardUnderQuiet(t *testing.T) {
	var out bytes.Buffer
	s := newSpeaker(&Options{Quiet: true, Stderr: &out}, nil)
	s.warn("a warning")
	s.alert("an alert")
	s.alert("an alert")
	if got := out.String(); got != "plimsoll: an alert\n" {
		t.Errorf("said %q", got)
	}
}

// Before, a line was written for every change of the position and every five seconds.
func TestWaitingInALogIsOneLineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := newSpeaker(&Options{Stderr: &out}, nil)
		holder := admission.Holder{Tool: "claude", State: admission.Holding, Since: time.Now(), Owner: admission.Owner{PID: 4711}}
		const minutes = 3
		for i := range minutes * 60 {
			s.progress(admission.Progress{
				Tool: "claude", Position: 200 - i, Of: 200, Reason: admission.ToolSlots, For: time.Duration(i) * time.Second,
				Terms: admission.Terms{ToolSlots: 3, Holders: []admission.Holder{{Tool: "codex", State: admission.Holding}, holder}},
			})
			time.Sleep(time.Second)
		}
		s.admitted(minutes * time.Minute)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != minutes+1 || !strings.Contains(lines[0], "claude (pid 4711)") || !strings.Contains(lines[0], "200 of 200") {
			t.Fatalf("%d lines:\n%s", len(lines), out.String())
		}
		if last := lines[minutes]; !strings.Contains(last, "waited 3m") {
			t.Errorf("the last line is %q", last)
		}
	})
}
