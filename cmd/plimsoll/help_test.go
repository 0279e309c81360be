package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func TestHelpIsNeitherPaddedNorBeginsBlank(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"mcp", "--help"}} {
		var out bytes.Buffer
		root := newRootCommand(nil)
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

// A run builds no other command, and is the same one: a supervisor would keep what the others leave.
func TestRunIsBuiltAlone(t *testing.T) {
	help := func(tree, args []string) string {
		var out bytes.Buffer
		root := newRootCommand(tree)
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	args := []string{"run", "--help"}
	if alone, all := help(args, args), help(nil, args); alone != all {
		t.Errorf("alone it says\n%s\namong all\n%s", alone, all)
	}
	if got := newRootCommand(args).Commands(); len(got) != 1 || got[0].Name() != "run" {
		t.Errorf("run is built with %d commands", len(got))
	}
	for _, args := range [][]string{nil, {"--help"}, {"help", "run"}, {"--quiet", "run"}, {"__complete", "run", ""}, {"rum"}} {
		if got := len(newRootCommand(args).Commands()); got < 20 {
			t.Errorf("%q: %d commands", args, got)
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
