package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The manual page has one level of commands, each once, and all flags of run; a formatter has nothing to say about it.
func TestManualPage(t *testing.T) {
	root := newRootCommand(nil)
	page := manualPage(root)
	for _, title := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"} {
		if strings.Count(page, "\n.SH "+title+"\n") != 1 {
			t.Errorf("there is no section %s", title)
		}
	}
	for _, c := range root.Commands() {
		if n := strings.Count(page, "\n.TP\n.B "+roff(c.Name())+"\n"); c.IsAvailableCommand() && n != 1 || !c.IsAvailableCommand() && n != 0 {
			t.Errorf("%s is there %d times", c.Name(), n)
		}
	}
	if !strings.Contains(page, "\n.B \\-n, \\-\\-dry\\-run\n") || !strings.Contains(page, "\n.B \\-\\-cpu\\-weight\n") {
		t.Error("a flag of run is missing")
	}
	for i, c := range []byte(page) {
		if c >= 0x80 {
			t.Fatalf("byte %d of it is not ASCII: %q", i, page[max(0, i-20):i+4])
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		cmd := exec.Command(groff, "-ww", "-man", "-Tutf8")
		cmd.Stdin = strings.NewReader(page)
		var warned strings.Builder
		cmd.Stderr = &warned
		shown, err := cmd.Output()
		if err != nil || warned.Len() > 0 || !strings.Contains(string(shown), "eval") {
			t.Errorf("groff: %v\n%s", err, warned.String())
		}
	}
}

func TestTextsAreTextsToTroff(t *testing.T) {
	for text, want := range map[string]string{
		".TH is no request":  `\&.TH is no request`,
		"'so":                `\&'so`,
		`a\b "c" 'd'`:        `a\eb \(dqc\(dq \(aqd\(aq`,
		"--dry-run ~/.x":     `\-\-dry\-run \(ti/.x`,
		"one\ntwo":           "one two",
		"the key …, “quoted": `the key \[u2026], \[u201C]quoted`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
