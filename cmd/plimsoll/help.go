package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// showHelp writes the help of a command. Titles are bold on a terminal, which has no colour to
// be asked for: a terminal that does not answer must cost nothing. No line is padded.
func showHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	title := func(text string) string { return "\n" + strings.ToUpper(text) + "\n" }
	if term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		out = unwrapWriter(out)
		title = func(text string) string { return "\n\x1b[1m" + strings.ToUpper(text) + "\x1b[0m\n" }
	}
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	if text != "" {
		b.WriteString(strings.TrimRight(text, "\n") + "\n")
	}
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use += " [command]"
	}
	b.WriteString(title("usage") + "  " + use + "\n")
	if cmd.Example != "" {
		b.WriteString(title("examples") + "  " + strings.TrimSpace(cmd.Example) + "\n")
	}
	var commands [][2]string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			commands = append(commands, [2]string{c.Name(), c.Short})
		}
	}
	var flags [][2]string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		about := f.Usage
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
			about += " (" + f.DefValue + ")"
		}
		flags = append(flags, [2]string{name, about})
	})
	width := 0
	for _, row := range append(commands[:len(commands):len(commands)], flags...) {
		width = max(width, utf8.RuneCountInString(row[0]))
	}
	for _, list := range []struct {
		title string
		rows  [][2]string
	}{{"commands", commands}, {"flags", flags}} {
		if len(list.rows) == 0 {
			continue
		}
		b.WriteString(title(list.title))
		for _, row := range list.rows {
			about := strings.ReplaceAll(row[1], "\n", "\n"+strings.Repeat(" ", width+4))
			fmt.Fprintf(&b, "  %-*s  %s\n", width, row[0], about)
		}
	}
	_, _ = io.WriteString(out, b.String())
}
