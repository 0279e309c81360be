package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/setup"
	"github.com/plimsoll/plimsoll/internal/app/shellenv"
)

// newSetupCommand returns the command setup, which sets up agents, servers and editors in a few questions.
func newSetupCommand() *cobra.Command {
	var o setup.Options
	var undo, asJSON bool
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Set up agents, MCP servers, status line and editors in a few questions",
		Long: `Ask what concerns what is installed, and do what the answers say:

  - which agents run in their limits when you type their name: a line at the end of your shell's file
  - whether Plimsoll stands in front of the MCP servers of clients that no run starts, such as Cursor
  - whether Claude Code shows what a run uses, and the desktop tells what happens to runs
  - whether what is said is remembered on this machine and given to agents again; no unless chosen. Where a model server
    answers on this machine (Ollama, LM Studio, llama.cpp), whether its models may draw facts and make vectors for searches
  - whether agents that Zed, JetBrains or VS Code start run in their limits
  - whether the definitions of MCP tools are bounded (tools_max), for clients that give their model all of them; no unless chosen

"?" shows the change before you answer. Nothing but those pieces of text changes in a file, and --undo takes them
out again, byte for byte. A second call changes nothing.`,
		Example: `  plimsoll setup
  plimsoll setup --dry-run
  plimsoll setup --yes --agents claude,codex --mcp no
  plimsoll setup --undo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			do := setup.Do
			if undo {
				do = setup.Undo
			} else if in, ok := cmd.InOrStdin().(*os.File); ok && !asJSON && !o.Yes && term.IsTerminal(int(in.Fd())) && stderrIsTerminal() {
				o.Ask = askTerminal(in, wrapped(plainWriter(cmd.ErrOrStderr()), os.Stderr))
			}
			r, err := do(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return printSetup(plainWriter(cmd.OutOrStdout()), r, undo, terminalWidth())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Agents, "agents", "", "which agents run in their limits when you type them: all, none, or names as in claude,codex")
	f.StringVar(&o.MCP, "mcp", "", "whether Plimsoll stands in front of MCP servers: yes or no")
	f.StringVar(&o.Watch, "watch", "", "whether what runs use is shown, and you are told what happens: yes or no")
	f.StringVar(&o.Memory, "memory", "", "whether what is said is remembered: yes or no")
	f.StringVar(&o.Facts, "facts", "", "whether a local model may draw facts for the memory: yes or no")
	f.StringVar(&o.Meaning, "meaning", "", "whether a local model may make vectors for the memory: yes or no")
	f.StringVar(&o.Editors, "editors", "", "whether agents that an editor starts run in their limits: yes or no")
	f.StringVar(&o.ToolsMax, "tools-max", "", "whether the definitions of MCP tools are bounded: yes or no")
	f.BoolVarP(&o.Yes, "yes", "y", false, "take the proposed answers")
	f.BoolVar(&o.DryRun, "dry-run", false, "show every change, make none")
	f.BoolVar(&undo, "undo", false, "take out what was set up")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&o.Shell, "shell", "", "bash, zsh, fish or sh, also as dash, ksh and other POSIX shells (default: the one that asks)")
	f.BoolVar(&o.FollowLinks, "follow-links", false, "change files also where a symbolic link leads out of the home directory")
	for _, answer := range []string{"agents", "mcp", "watch", "memory", "facts", "meaning", "editors", "tools-max"} { // --undo asks nothing, so --yes beside it is no answer to anything
		cmd.MarkFlagsMutuallyExclusive("undo", answer)
	}
	fixed := func(flag string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("shell", shellenv.Shells()...)
	fixed("mcp", "yes", "no")
	fixed("watch", "yes", "no")
	fixed("memory", "yes", "no")
	fixed("facts", "yes", "no")
	fixed("meaning", "yes", "no")
	fixed("editors", "yes", "no")
	fixed("tools-max", "yes", "no")
	fixed("agents", append([]string{"all", "none"}, shellenv.Known()...)...)
	return cmd
}

// longestAnswer is the number of bytes read of an answer.
const longestAnswer = 1000

// askTerminal asks on a terminal. Ctrl-C ends the program, and nothing has been changed then.
func askTerminal(in io.Reader, out io.Writer) func(setup.Question) (string, error) {
	lines := bufio.NewReaderSize(in, longestAnswer)
	return func(q setup.Question) (string, error) {
		if q.Say != "" {
			fmt.Fprintln(out, strings.TrimRight(q.Say, "\n"))
		}
		fmt.Fprintf(out, "\n%d. %s\n   %s\n   [%s; ?: show the change] ", q.Number, q.Text, q.About, q.Answers)
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return "", fmt.Errorf("an answer has at most %d characters; nothing was changed", longestAnswer)
		case err != nil:
			fmt.Fprintln(out)
			return "", errors.New("there was no answer; nothing was changed")
		}
		return string(line), nil
	}
}

// printSetup writes the changes, wrapped to width; a width of 0 wraps nothing.
func printSetup(w io.Writer, r setup.Result, undo bool, width int) error {
	if r.DryRun {
		for _, c := range r.Changes {
			if c.Diff != "" {
				fmt.Fprintln(w, c.Diff)
			}
		}
	}
	if len(r.Changes) == 0 {
		text := "Nothing was chosen, so nothing was changed."
		if undo {
			text = "There is nothing to undo: plimsoll setup has changed nothing here."
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	var rows [][4]string
	what, action, indent := 0, 0, 0
	for _, c := range r.Changes {
		why, file := c.Why, app.Printable(c.File)
		if c.Exact {
			why = "byte for byte what it was"
		}
		if c.Target != "" {
			file += " (a link to " + app.Printable(c.Target) + ")"
		}
		rows = append(rows, [4]string{c.What, string(c.Action), file, app.Printable(why)})
		what, action = max(what, len(c.What)), max(action, len(c.Action))
		indent = what + action + 4
	}
	var text strings.Builder
	for _, row := range rows {
		cell := strings.TrimSpace(row[2] + "  " + row[3])
		if row[2] != "" && width > 0 && indent+utf8.RuneCountInString(cell) > width {
			cell = row[2] + "\n" + row[3] // a reason below the file that it is about
		}
		cell = app.Wrap(strings.TrimRight(cell, "\n"), width-indent)
		text.WriteString(strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", what, row[0], action, row[1], strings.ReplaceAll(cell, "\n", "\n"+strings.Repeat(" ", indent))), " ") + "\n")
	}
	end := ""
	for _, next := range r.Next {
		end += "Next: " + next + ".\n"
	}
	switch {
	case r.DryRun:
		end = "Nothing was changed (--dry-run).\n"
	case !undo && len(r.Next) > 0:
		end += "plimsoll setup --undo takes it out again.\n"
	}
	_, err := io.WriteString(w, text.String()+app.Wrap(end, width))
	return err
}
