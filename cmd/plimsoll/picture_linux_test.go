package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/creack/pty"
)

// What differs from run to run and from machine to machine in the report on a terminal.
var varies = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(` · [\d.]+ s of CPU`), ""},
	{regexp.MustCompile(`: \w+ \([\d.]+ \wiB\)$`), ""}, // a child that lived for milliseconds has no name
	{regexp.MustCompile(`[█░]+`), "█"},
	{regexp.MustCompile(`^( +layer +)\w+: .*`), "$1"},
	{regexp.MustCompile(`\d+(\.\d+)?`), "#"},
	{regexp.MustCompile(`\b[KMG]iB\b`), "iB"},
}

func withoutFigures(lines []string) []string {
	var list []string
	for _, line := range lines {
		line = strings.TrimRight(line, "\r ")
		for _, v := range varies {
			line = v.re.ReplaceAllString(line, v.with)
		}
		if line != "" {
			list = append(list, line)
		}
	}
	return list
}

// The picture in README.md is what a terminal shows at the end of such a run.
func TestReadmeShowsARealReport(t *testing.T) {
	needsKernel(t)
	var picture []string
	for _, g := range guides(t) {
		for _, b := range g.blocks {
			if g.name == "README.md" && b.info == "console example" && picture == nil {
				picture = b.lines
			}
		}
	}
	if len(picture) < 8 || picture[0] != "$ plimsoll run --memory-max 600M -- my-agent" {
		t.Fatalf("README.md begins its picture with %q", picture)
	}

	s := newSite(t)
	bin := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("my-agent", `#!/bin/sh
exec 2>/dev/null # a shell has words of its own for a child that was killed
echo "agent: running the tests"
jest bomb 8192
echo "agent: jest died of signal $(($? - 128)), I try fewer workers"
`)
	program := testfile.Read(t, filepath.Join(tools, "agent"))
	write("jest", string(program))
	cmd := s.command("run", "--memory-max", "600M", "--", "my-agent")
	cmd.Env = append(slices.Clone(s.env), "NO_COLOR=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	out, _ := io.ReadAll(terminal) // ends with EIO when the last process has closed its side
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	got, want := withoutFigures(strings.Split(string(out), "\n")), withoutFigures(picture[1:])
	if !slices.Equal(got, want) {
		t.Errorf("README.md shows\n%s\na terminal shows\n%s\nwhich is\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"), out)
	}
}
