package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/app"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func TestHelpIsNeitherPaddedNorBeginsBlank(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"mcp", "--help"}} {
		var out bytes.Buffer
		root := newRootCommand()
		root.SetOut(&out)
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.HasPrefix(text, "\n") || !strings.Contains(text, "USAGE") {
			t.Errorf("%v: %q", args, text[:min(len(text), 100)])
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); strings.TrimRight(line, " ") != line {
				t.Errorf("%v: padded: %q", args, line)
			}
		}
	}
}

func TestDoctorKeepsItsTable(t *testing.T) {
	var out bytes.Buffer
	d := app.Doctor{}
	d.Layers = append(d.Layers, sandbox.Capability{Name: "cgroup1", Why: "first\nsecond\tthird"}, sandbox.Capability{Name: "monitor"})
	if err := printDoctor(&out, d); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 || lines[3] != "cgroup1: first; second third" {
		t.Errorf("%q", lines)
	}
	for _, line := range lines[:3] {
		if len(line) > 80 {
			t.Errorf("wider than a terminal: %q", line)
		}
	}
}
