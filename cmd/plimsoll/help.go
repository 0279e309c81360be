package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
)

// commandGroups are the commands of plimsoll in the order of --help --all. The first group is what --help alone shows.
var commandGroups = []struct {
	title string
	names []string
}{
	{"commands", []string{"run", "setup", "demo", "doctor", "top", "runs", "watch", "mcp"}},
	{"what runs took", []string{"stats", "spend", "status", "metrics", "models"}},
	{"services", []string{"serve", "agent"}},
	{"questions", []string{"ask", "chat", "memory"}},
	{"runs elsewhere", []string{"submit", "cancel", "recommend"}},
	{"upkeep", []string{"raise", "gc", "config", "upgrade", "version"}},
	{"shell", []string{"shellenv", "completion", "man"}},
}

// usualRunFlags are the flags of plimsoll run that --help alone shows; runPage has all of them.
var usualRunFlags = []string{"memory-max", "time-max", "wait", "force", "dry-run", "report", "no-proxy", "quiet"}

const runPage = "https://github.com/plimsoll/plimsoll/blob/main/docs/run.md"

// widestHelp bounds the lines of a help: longer ones are hard to read, however wide the terminal.
const widestHelp = 120

// longHelp marks a command of whose help --help alone shows a part.
const longHelp = "long-help"

// addAllFlag adds the flag that lets --help show everything.
func addAllFlag(cmd *cobra.Command, what string) {
	cmd.Annotations = map[string]string{longHelp: what}
	cmd.Flags().Bool("all", false, "with --help: "+what)
}

// showHelp writes the help of a command, wrapped to the terminal. Titles are bold there, which has no colour to be asked for: a terminal
// that does not answer must cost nothing. No line is padded.
func showHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	h := help{width: min(screenWidth(), widestHelp)}
	if term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		out, h.bold = unwrapWriter(out), true
	}
	h.writeHelp(cmd, cmd.Annotations[longHelp] != "" && !cmd.Flags().Changed("all"))
	_, _ = io.WriteString(out, h.String())
}

// help is a text for --help.
type help struct {
	strings.Builder
	width int
	bold  bool
}

func (h *help) title(text string) {
	text = strings.ToUpper(text)
	if h.bold {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	h.WriteString("\n" + text + "\n")
}

// lines writes text, wrapped.
func (h *help) lines(text string) {
	h.WriteString(app.Wrap(strings.TrimRight(text, "\n"), h.width) + "\n")
}

// writeHelp writes usage, examples, commands and flags of cmd. With short only the usual commands of the root, or the usual flags of run,
// are listed, and how to list all.
func (h *help) writeHelp(cmd *cobra.Command, short bool) {
	text := cmd.Long
	text = cmp.Or(text, cmd.Short)
	if text != "" {
		h.lines(reflow(text))
	}
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use += " [command]"
	}
	h.title("usage")
	h.lines("  " + use)
	root := !cmd.HasParent()
	if cmd.Example != "" && !(root && short) {
		h.title("examples")
		h.WriteString("  " + strings.TrimSpace(cmd.Example) + "\n") // as they are: somebody copies them
	}
	rows := map[string][2]string{}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			rows[c.Name()] = [2]string{c.Name(), c.Short}
			names = append(names, c.Name())
		}
	}
	switch {
	case root && short:
		h.table("commands", rows, commandGroups[0].names)
		h.WriteString("\n")
		h.lines("All commands: plimsoll --help --all. One of them: plimsoll COMMAND --help.")
		return
	case root:
		for _, g := range commandGroups {
			h.table(g.title, rows, g.names)
		}
	default:
		h.table("commands", rows, names)
	}
	flags := map[string][2]string{}
	names = nil
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
			flags[f.Name] = [2]string{flagName(f), flagUsage(f)}
		}
	})
	if short {
		names = append(usualRunFlags[:len(usualRunFlags):len(usualRunFlags)], "help")
	}
	h.table("flags", flags, names)
	if short {
		h.WriteString("\n")
		h.lines("The others: plimsoll run --help --all, and " + runPage)
	}
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + ", --" + f.Name
	}
	return "--" + f.Name
}

// flagUsage returns the usage of a flag, with its default unless that is a zero value.
func flagUsage(f *pflag.Flag) string {
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
		return f.Usage + " (" + f.DefValue + ")"
	}
	return f.Usage
}

// table writes the rows in the order of names, each name with its text next to it. Rows without a name are left out.
func (h *help) table(title string, rows map[string][2]string, names []string) {
	width := 0
	for _, name := range names {
		width = max(width, utf8.RuneCountInString(rows[name][0]))
	}
	if width == 0 {
		return
	}
	h.title(title)
	for _, name := range names {
		if row := rows[name]; row[0] != "" {
			h.lines(fmt.Sprintf("  %-*s  %s", width, row[0], row[1]))
		}
	}
}

// reflow joins the lines of a paragraph that the source has broken, and those of an item of a list, which go on further in than it begins.
// What is indented otherwise stands as it is.
func reflow(text string) string {
	var out []string
	before := 0 // how far in the item or paragraph begins
	for line := range strings.SplitSeq(text, "\n") {
		in := len(line) - len(strings.TrimLeft(line, " "))
		last := len(out) - 1
		if last >= 0 && line != "" && out[last] != "" && (in == 0 && before == 0 || in > before && before > 0) {
			out[last] += " " + strings.TrimLeft(line, " ")
			continue
		}
		out = append(out, line)
		before = in
	}
	return strings.Join(out, "\n")
}
