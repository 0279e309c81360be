package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/run"
)

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

func printDoctor(w io.Writer, d run.Doctor, width int) error {
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
	if err := t.write(w, width); err != nil {
		return err
	}
	w = wrapWriter{w, width}
	for _, c := range d.Layers { // reasons are sentences: beside the table they would break it
		if c.Why != "" {
			fmt.Fprintf(w, "%s: %s\n", c.Name, inOneLine.Replace(app.PrintableText(c.Why)))
		}
	}
	for _, line := range d.Notes {
		fmt.Fprintln(w, line)
	}
	return nil
}

func printJSON(w io.Writer, v any) error { return app.WriteJSON(w, v, "  ") }
