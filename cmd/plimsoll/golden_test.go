package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
)

// recorded is where one recording of this package is kept, for tests that change their directory too.
func recorded(name string) string { return filepath.Join(goldenDirectory, name) }

var goldenDirectory, _ = filepath.Abs(filepath.Join("testdata", "golden"))

// TestHelpStays: what --help says of every command, hidden ones too, in one file.
func TestHelpStays(t *testing.T) {
	t.Setenv("NO_COLOR", "1") // titles are bold on a terminal
	t.Setenv("COLUMNS", "80")
	var all strings.Builder
	var walk func(path []string, c *cobra.Command)
	walk = func(path []string, c *cobra.Command) {
		lines := [][]string{append(path[:len(path):len(path)], "--help")}
		if c.Annotations[longHelp] != "" {
			lines = append(lines, append(path[:len(path):len(path)], "--help", "--all"))
		}
		for _, line := range lines {
			all.WriteString("$ plimsoll " + strings.Join(line, " ") + "\n" + helpOf(t, line...) + "\n")
		}
		for _, sub := range c.Commands() {
			walk(append(path[:len(path):len(path)], sub.Name()), sub)
		}
	}
	walk(nil, newRootCommand(nil))
	golden.Check(t, recorded("help.txt"), all.String())
}

// byCores is what a default shows that depends on the number of processors.
var byCores = regexp.MustCompile(`auto \(\d+\)`)

// TestConfigExplainStays: every key with its default and its words, for a person and for a program.
func TestConfigExplainStays(t *testing.T) {
	f := newFixture(t)
	for file, flags := range map[string][]string{"config-explain.txt": nil, "config-explain.jsonl": {"--json"}} {
		var all strings.Builder
		for _, k := range config.Keys() {
			var out, line bytes.Buffer
			cmd := newConfigExplainCommand(f.open)
			cmd.SetOut(&out)
			cmd.SetErr(io.Discard)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(append([]string{k.ID()}, flags...))
			err := cmd.Execute()
			switch {
			case err != nil: // tables, which have no one value
				line.WriteString(k.ID() + ": " + err.Error())
			case flags == nil:
				line.Write(out.Bytes())
			default:
				if err := json.Compact(&line, out.Bytes()); err != nil {
					t.Errorf("%s: %v", k.ID(), err)
				}
			}
			all.WriteString(byCores.ReplaceAllString(line.String(), "auto (N)") + "\n")
		}
		golden.Check(t, recorded(file), all.String())
	}
}
