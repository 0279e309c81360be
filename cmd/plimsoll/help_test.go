package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/spf13/pflag"

	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/stores"
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
	d := run.Doctor{}
	d.Layers = append(d.Layers, sandbox.Capability{Name: "cgroup1", Why: "first\nsecond\tthird"}, sandbox.Capability{Name: "monitor"})
	if err := printDoctor(&out, d, 0); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 || lines[3] != "cgroup1: first; second third" {
		t.Errorf("%q", lines)
	}
	out.Reset()
	d.Stores = []stores.Size{{Name: "runs", Bytes: 2048, Bound: "256.0 MiB"}}
	if err := printDoctor(&out, d, 0); err != nil {
		t.Fatal(err)
	}
	if want := "\n\nKEPT ON DISK  SIZE   AT MOST\nruns          2 KiB  256.0 MiB\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q does not end with %q", out.String(), want)
	}
	for _, line := range lines[:3] {
		if len(line) > 80 {
			t.Errorf("wider than a terminal: %q", line)
		}
	}
}

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand(nil)
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// --help has eight commands, run first, on one screen; --help --all has every one, once, in a group.
func TestHelpBeginsWithEightCommands(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	short := helpOf(t, "--help")
	_, list, _ := strings.Cut(short, "COMMANDS\n")
	list, _, _ = strings.Cut(list, "\n\n")
	if lines := strings.Split(list, "\n"); strings.Count(short, "\n") >= 24 || len(lines) != 8 || !strings.HasPrefix(lines[0], "  run ") || !strings.Contains(short, "plimsoll --help --all") {
		t.Errorf("%s", short)
	}
	all := helpOf(t, "--help", "--all")
	for _, c := range newRootCommand(nil).Commands() {
		want := 1
		if !c.IsAvailableCommand() {
			want = 0
		}
		if n := strings.Count(all, "\n  "+c.Name()+" "); n != want {
			t.Errorf("%s is in --help --all %d times, want %d", c.Name(), n, want)
		}
	}
	for _, hidden := range []string{"health", "copy-to"} {
		if text := helpOf(t, hidden, "--help"); !strings.Contains(text, "plimsoll "+hidden) {
			t.Errorf("%s does not work: %s", hidden, text)
		}
	}
}

// run --help has eight of its flags and names where the others are: that page has them, and --all shows them.
func TestRunHelpNamesThePageOfItsFlags(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	short, all := helpOf(t, "run", "--help"), helpOf(t, "run", "--help", "--all")
	page := testfile.Read(t, "../../docs/run.md")
	shown := 0
	newRunCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "all" {
			return
		}
		if strings.Contains(short, "--"+f.Name+"  ") {
			shown++
		}
		if !strings.Contains(all, "--"+f.Name+"  ") {
			t.Errorf("--help --all does not show --%s", f.Name)
		}
		if !strings.Contains(string(page), "--"+f.Name) {
			t.Errorf("docs/run.md does not name --%s", f.Name)
		}
	})
	if shown != 8 || !strings.Contains(short, "plimsoll run --help --all") || !strings.Contains(short, "/docs/run.md") {
		t.Errorf("%d flags in\n%s", shown, short)
	}
	root := newRootCommand(nil)
	root.SetArgs([]string{"run", "--all", "--", "true"})
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "--all goes with --help") {
		t.Errorf("--all without --help: %v", err)
	}
}

// Nothing in a help is wider than the terminal but a line that somebody copies, and no word is broken.
func TestHelpIsWrappedToTheTerminal(t *testing.T) {
	for _, width := range []int{80, 120} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		for _, c := range commandsBelow(newRootCommand(nil)) {
			path := strings.Fields(c.CommandPath())[1:]
			for line := range strings.Lines(helpOf(t, append(path, "--help")...)) {
				if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width && !strings.Contains(line, "https://") {
					t.Errorf("%v at %d columns: %q", path, width, line)
				}
			}
		}
	}
	t.Setenv("COLUMNS", "40")
	if text := helpOf(t, "run", "--help", "--all"); !strings.Contains(strings.Join(strings.Fields(text), " "), "--enforcement required, best-effort or off: what to do without kernel enforcement") {
		t.Errorf("words are broken: %s", text)
	}
}

func TestReflow(t *testing.T) {
	for text, want := range map[string]string{
		"one\ntwo\n\nthree":           "one two\n\nthree",
		"do:\n\n  a command\n  b":     "do:\n\n  a command\n  b",
		"  1. an item\n     goes on":  "  1. an item goes on",
		"  1. one\n  2. two":          "  1. one\n  2. two",
		"a sentence\n  code of it\nb": "a sentence\n  code of it\nb",
	} {
		if got := reflow(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
