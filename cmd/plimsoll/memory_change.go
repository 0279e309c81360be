package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

// newMemoryEditCommand returns the command memory edit, which changes the pinned profile or a note.
func newMemoryEditCommand(open opener) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "edit [ID] [TEXT...]",
		Short: "Edit the pinned profile, or a note",
		Long: `Without an ID: opens the pinned profile, a Markdown file, in your editor (VISUAL, EDITOR), and asks
whether the edit is to be in force. With an ID: replaces the words of a note, by TEXT or in your editor.
What was said in a conversation is kept as it was said.`,
		Example:           "  plimsoll memory edit\n  plimsoll memory edit ID \"Releases are cut on Wednesdays\"",
		ValidArgsFunction: completeMemory(open),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withMemory(cmd, open, func(m *memories.Memory) error {
				if len(args) == 0 {
					p, err := m.EditProfile(cmd.Context())
					if err != nil {
						return err
					}
					return confirmPins(cmd, m, p, yes)
				}
				text := strings.Join(args[1:], " ")
				r, err := m.Editable(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if text == "" {
					if text, err = memories.EditText(cmd.Context(), r.Text); err != nil {
						return err
					}
				}
				if strings.TrimSpace(text) == strings.TrimSpace(r.Text) {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing was changed")
					return err
				}
				if r, err = m.Edit(cmd.Context(), args[0], text); err != nil {
					return err
				}
				printMemory(plainWriter(cmd.OutOrStdout()), r)
				return nil
			})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "put the edited profile in force without asking")
	return cmd
}

// newMemoryPinCommand returns the command memory pin, which lists or adds standing instructions.
func newMemoryPinCommand(open opener) *cobra.Command {
	var remove string
	var confirm, yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "pin [TEXT|ID]",
		Short: "List or add standing instructions: the pinned profile",
		Long: `Without an argument: lists what is pinned. With a text, in your own words, or the ID of a record that is
your own: pins it. The profile is a Markdown file of at most 2 KiB; an edit of it counts once you have
confirmed it, outside of runs.`,
		Example: "  plimsoll memory pin \"Answer in English, with short sentences\"\n  plimsoll memory pin --remove pin-1f2e3d4c5b6a\n  plimsoll memory pin --confirm",
		RunE: func(cmd *cobra.Command, args []string) error {
			out := plainWriter(cmd.OutOrStdout())
			return withMemory(cmd, open, func(m *memories.Memory) error {
				switch {
				case remove != "":
					if err := m.Unpin(cmd.Context(), remove); err != nil {
						return err
					}
					_, err := fmt.Fprintf(out, "%s is not pinned any more\n", remove)
					return err
				case confirm:
					p, err := m.Pins()
					if err != nil {
						return err
					}
					return confirmPins(cmd, m, p, yes)
				case len(args) > 0:
					e, err := m.Pin(cmd.Context(), strings.Join(args, " "))
					if err != nil {
						return err
					}
					if asJSON {
						return printJSON(cmd.OutOrStdout(), e)
					}
					_, err = fmt.Fprintf(out, "pinned as %s: %s\n", e.ID, e.Text)
					return err
				}
				p, err := m.Pins()
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), p)
				}
				return printPins(out, p)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&remove, "remove", "", "the entry with this ID is not to be pinned any more")
	fl.BoolVar(&confirm, "confirm", false, "show the edit of the file and put it in force")
	fl.BoolVarP(&yes, "yes", "y", false, "with --confirm: without asking")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("remove", "confirm")
	_ = cmd.RegisterFlagCompletionFunc("remove", func(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		_ = withMemory(cmd, open, func(m *memories.Memory) error {
			p, err := m.Pins()
			for _, e := range p.Entries {
				ids = append(ids, e.ID+"\t"+app.Printable(oneLine(e.Text, 60)))
			}
			return err
		})
		return ids, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// confirmPins shows what the file of the profile says, and puts it in force if the person says yes, or with yes. Inside a run it returns
// the error that says why that is not possible; it is also an error if nobody can be asked, or the answer is no.
func confirmPins(cmd *cobra.Command, m *memories.Memory, p memories.Pins, yes bool) error {
	errs := plainWriter(cmd.ErrOrStderr())
	switch {
	case m.Fence().Inside():
		return m.Confirm(cmd.Context(), p.Draft) // says why not
	case p.Problem != "":
		return errors.New(p.Problem)
	case !p.Pending:
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "the file is what is in force; there is nothing to confirm")
		return err
	}
	fmt.Fprintf(errs, "%s says:\n", p.Path)
	for line := range strings.SplitSeq(p.Draft, "\n") {
		fmt.Fprintf(errs, "  %s\n", line)
	}
	if !yes {
		if !person() {
			return errors.New("nobody is here to be asked: --yes puts it in force")
		}
		if !confirm(cmd, "put this before every model, in any conversation where the memory is on?") {
			return errors.New("it is not in force; the file stays as it is")
		}
	}
	if err := m.Confirm(cmd.Context(), p.Draft); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), "in force")
	return err
}

// confirm asks on the terminal. Nothing but y or yes is a yes.
func confirm(cmd *cobra.Command, question string) bool {
	fmt.Fprintf(plainWriter(cmd.ErrOrStderr()), "plimsoll: %s [y/N] ", question)
	return saysYes(cmd)
}

// saysYes reads a line from standard input and reports whether it is a yes, also written as y; the end of the input and a line of more than
// 100 bytes are none. It reads byte by byte, so that what follows the line stays there.
func saysYes(cmd *cobra.Command) bool {
	var line []byte
	const most = 100 // more is no yes
	for b := make([]byte, 1); len(line) < most; {
		n, err := cmd.InOrStdin().Read(b)
		if n > 0 && b[0] == '\n' || err != nil {
			break
		}
		line = append(line, b[:n]...)
	}
	answer := strings.TrimSpace(string(line))
	return answer == "y" || answer == "Y" || answer == "yes"
}

// newMemoryExportCommand returns the command memory export, which writes what is remembered into a file.
func newMemoryExportCommand(open opener) *cobra.Command {
	var f memoryFilter
	var format string
	cmd := &cobra.Command{
		Use:     "export [FILE]",
		Short:   "Write what is remembered into a file: JSON Lines, or Markdown",
		Example: "  plimsoll memory export backup.jsonl\n  plimsoll memory export --format markdown --kind note | less",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q, err := f.toQuery(time.Now())
			if err != nil {
				return err
			}
			return withMemory(cmd, open, func(m *memories.Memory) (err error) {
				if len(args) == 0 {
					to := cmd.OutOrStdout()
					if format == "markdown" {
						to = plainWriter(to)
					} else {
						to = unwrapWriter(to) // it is escaped
					}
					_, err := m.Export(cmd.Context(), q, format, to)
					return err
				}
				folder, name, err := config.OpenFolder(args[0])
				if err != nil {
					return fmt.Errorf("nothing was exported: %w", err)
				}
				defer folder.Close()
				file, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if errors.Is(err, os.ErrExist) {
					return fmt.Errorf("there is a file %s already; name another", app.Printable(args[0]))
				}
				if err != nil {
					return err
				}
				n, err := m.Export(cmd.Context(), q, format, file)
				if err = errors.Join(err, file.Close()); err != nil {
					return errors.Join(err, folder.Remove(name))
				}
				_, err = fmt.Fprintf(plainWriter(cmd.OutOrStdout()), "written to %s: %s\n", args[0], limit.Count(n, "record"))
				return err
			})
		},
	}
	f.addFlags(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", strings.Join(memories.ExportFormats, " or "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(memories.ExportFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// newMemoryImportCommand returns the command memory import, which adds what another program has remembered.
func newMemoryImportCommand(open opener) *cobra.Command {
	var o memories.ImportOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add what another program has remembered",
		Long: `Reads the file of the official MCP memory server (JSON Lines), an export of mem0, Markdown (each item of a list
and each paragraph is a note) or an export of plimsoll; "-" is standard input. Whose words they are cannot be
told from a file, so they count as an agent's, unless you vouch for them with --mine.`,
		Example: "  plimsoll memory import ~/.local/share/mcp-memory/memory.jsonl --dry-run\n  plimsoll memory import notes.md --mine\n  plimsoll memory import mem0.json --namespace project",
		Args:    oneArg("file", "plimsoll memory import memory.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var from io.Reader = cmd.InOrStdin()
			o.Name = "standard input"
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("nothing was imported: %w; name a file that can be read, or - for standard input", err)
				}
				defer file.Close()
				from, o.Name = file, args[0]
			}
			ask := func(m *memories.Memory) (memories.Imported, error) { return m.Import(cmd.Context(), from, o) }
			return printMemoryAnswer(cmd, open, asJSON, ask, func(out io.Writer, i memories.Imported) error { return printImported(out, o.Name, i) })
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Format, "format", "auto", strings.Join(memories.ImportFormats, ", "))
	fl.StringVar(&o.Namespace, "namespace", "", "user (the default), project (of this directory), project/ID or agent/NAME")
	fl.BoolVar(&o.Mine, "mine", false, "you vouch for it: these are your own words")
	fl.BoolVarP(&o.DryRun, "dry-run", "n", false, "say what would be added, and add nothing")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(memories.ImportFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// printImported writes in one line how many texts were read, what became of them, and how many stay.
func printImported(out io.Writer, name string, i memories.Imported) error {
	would, end := "", "stay"
	if i.DryRun {
		would, end = "would be ", "would stay; nothing was added (--dry-run)"
	}
	fmt.Fprintf(out, "%s: %d texts (%s): %d %snew, %d were there, %d were forgotten once, %d are empty", name, i.Read, i.Format, i.New, would, i.Merged, i.Refused, i.Skipped)
	if i.LeftOut > 0 {
		fmt.Fprintf(out, ", %d older ones have no room within the bounds", i.LeftOut)
	}
	_, err := fmt.Fprintf(out, "; %d %s\n", i.Stay, end)
	return err
}

// newMemoryStatsCommand returns the command memory stats, which tells how much is remembered.
func newMemoryStatsCommand(open opener) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "How much is remembered, and within which bounds",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printMemoryAnswer(cmd, open, asJSON, func(m *memories.Memory) (memories.Stats, error) { return m.Stats(cmd.Context()) }, printMemoryStats)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newMemoryGCCommand returns the command memory gc, which removes from the disk what counts no longer.
func newMemoryGCCommand(open opener) *cobra.Command {
	var asJSON, dryRun bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove from the disk what counts no longer: expired, replaced, forgotten",
		Long: `Removes from the disk what counts no longer: passages that have expired, old versions, what was removed, and
what a forget that ended early has left, also in the other stores.`,
		Example: "  plimsoll memory gc --dry-run\n  plimsoll memory gc",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask := func(m *memories.Memory) (memories.Collected, error) { return m.GC(cmd.Context(), dryRun) }
			return printMemoryAnswer(cmd, open, asJSON, ask, func(out io.Writer, c memories.Collected) (err error) {
				if dryRun {
					_, err = fmt.Fprintf(out, "%s would be removed, about %s would become free; nothing was removed (--dry-run)\n", limit.Count(c.Records, "record"), limit.Bytes(c.Bytes).Human())
				} else {
					_, err = fmt.Fprintf(out, "%s removed, %s became free\n", limit.Count(c.Records, "record"), limit.Bytes(c.Bytes).Human())
				}
				if err == nil && c.Elsewhere > 0 {
					_, err = fmt.Fprintf(out, "a forget had ended early: its words are in %s\n", limit.Count(c.Elsewhere, "more place"))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
