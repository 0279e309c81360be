package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/stores"
)

// newDoctorCommand returns the command doctor, which tries what this machine can enforce and prints it.
func newDoctorCommand(open opener) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can enforce, by trying it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			d, err := app.Doctor(cmd.Context(), a)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), d)
			}
			return printDoctor(cmd.OutOrStdout(), d, terminalWidth())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

var inOneLine = strings.NewReplacer("\n", "; ", "\t", " ")

// printDoctor writes a table of what each layer holds, the reasons of those that do not work, the notes, and what is kept on disk. Only the
// reasons and notes are wrapped to width.
func printDoctor(out io.Writer, d run.Doctor, width int) error {
	var t table
	t.row("LAYER", "WORKS", "MEMORY", "SWAP", "PIDS", "CPU", "CPUS")
	for _, c := range d.Layers {
		works := "no"
		if c.Available {
			works = "yes"
		}
		if c.Name == d.Chosen {
			works = "yes, used"
		}
		t.row(string(c.Name), works, string(c.Memory), string(c.Swap), string(c.Pids), string(c.CPU), string(c.CPUs))
	}
	if err := t.writeWithin(out, width); err != nil {
		return err
	}
	w := wrapWriter{out, width}
	for _, c := range d.Layers { // reasons are sentences: beside the table they would break it
		if c.Why != "" {
			fmt.Fprintf(w, "%s: %s\n", c.Name, inOneLine.Replace(app.PrintableText(c.Why)))
		}
	}
	for _, line := range d.Notes {
		fmt.Fprintln(w, line)
	}
	return printStores(out, d.Stores, width)
}

// printStores writes a table of what is kept on disk; nothing if nothing is.
func printStores(w io.Writer, sizes []stores.Size, width int) error {
	if len(sizes) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	var t table
	t.row("KEPT ON DISK", "SIZE", "AT MOST")
	for _, s := range sizes {
		t.row(s.Name, s.Bytes.Human(), s.Bound)
	}
	return t.writeWithin(w, width)
}

func printJSON(w io.Writer, v any) error { return app.WriteJSON(w, v, "  ") }

// newGCCommand returns the command gc, which removes what killed runs have left behind.
func newGCCommand(open opener) *cobra.Command {
	var o app.GCOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what killed runs have left behind",
		Long: "Remove what a plimsoll that was killed could not: its claim, the processes and control groups of its\n" +
			"run, half-written files, the ledgers of earlier boots. Every run does the first part of this for\n" +
			"itself before it starts. What is kept is listed with the reason.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			c, err := app.GC(cmd.Context(), a, o)
			if asJSON {
				if printErr := printJSON(cmd.OutOrStdout(), c); printErr != nil {
					return printErr
				}
				return err
			}
			if err != nil && len(c.Removed)+len(c.Kept) == 0 {
				return err
			}
			if printErr := printCollection(cmd.OutOrStdout(), c); printErr != nil {
				return printErr
			}
			return err
		},
	}
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "list what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&o.Conversations, "conversations", false, "remove what is kept of conversations instead: plimsoll runs --cuts lists it")
	cmd.Flags().BoolVar(&o.Results, "results", false, "remove what is kept of large tool results instead")
	cmd.MarkFlagsMutuallyExclusive("conversations", "results")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printCollection lists what was removed, or would be in a dry run, and what was kept and why.
func printCollection(out io.Writer, c app.Collection) error {
	if len(c.Removed)+len(c.Kept) == 0 {
		_, err := fmt.Fprintln(out, "nothing to clean up")
		return err
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, g := range c.Removed {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", verb, g.Kind, firstName(g.Name), app.Printable(g.What))
	}
	for _, g := range c.Kept {
		fmt.Fprintf(w, "kept\t%s\t%s\t%s: %s\n", g.Kind, firstName(g.Name), app.Printable(g.What), app.Printable(g.Why))
	}
	return w.Flush()
}

// firstName returns the first of the control groups of a run, which lie in one hierarchy each under cgroup v1, and how many more there are. --json
// has them all.
func firstName(name string) string {
	first, rest, _ := strings.Cut(name, ", /")
	if rest != "" {
		first += fmt.Sprintf(" (and %d more)", 1+strings.Count(rest, ", /"))
	}
	return app.Printable(first)
}
