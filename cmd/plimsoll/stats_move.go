package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/limit"
)

// newStatsExportCommand returns the command stats export, which writes what runs took into a file.
func newStatsExportCommand(open opener) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write what runs took into a file, for another host",
		Long: `Writes what this host knows of its runs, and what it has imported, as JSON Lines: the newest runs of each use of
a tool. Projects are in it as hashes; paths and command lines are not. FILE is replaced where it is an exported
history already.`,
		Example: "  plimsoll stats export .cache/plimsoll.jsonl\n  plimsoll stats export | gzip > history.gz",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if asJSON {
					return fmt.Errorf("--json is about the file that is written: name one")
				}
				_, err := app.ExportHistory(cmd.Context(), a, unwrapWriter(cmd.OutOrStdout())) // it is escaped
				return err
			}
			done, err := app.ExportHistoryTo(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), done)
			}
			out := plainWriter(cmd.OutOrStdout())
			fmt.Fprintf(out, "written to %s: %s", args[0], limit.Count(done.Runs, "run"))
			if done.LeftOut > 0 {
				fmt.Fprintf(out, ", without %d older ones", done.LeftOut)
			}
			_, err = fmt.Fprintln(out)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newStatsImportCommand returns the command stats import, which adds what runs took on other hosts.
func newStatsImportCommand(open opener) *cobra.Command {
	var asJSON, dryRun bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Add what runs took on other hosts",
		Long: `Adds what other hosts have exported, each run once however often it is imported; "-" is standard input. A tool that
has not run here yet is estimated from it. A file with a line that cannot be is refused whole.`,
		Example: "  plimsoll stats import .cache/plimsoll.jsonl\n  plimsoll stats import runners/*.jsonl --dry-run",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("no file given; write it as in: plimsoll stats import history.jsonl")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			out, done := plainWriter(cmd.OutOrStdout()), []app.HistoryImported{}
			for _, name := range args {
				i, err := importHistory(cmd, a, name, dryRun)
				if err != nil {
					return err
				}
				done = append(done, i)
				if asJSON {
					continue
				}
				would := ""
				if dryRun {
					would = "would be "
				}
				fmt.Fprintf(out, "%s: %s, %d %snew", i.File, limit.Count(i.Runs, "run"), i.New, would)
				if i.NoRoom > 0 {
					fmt.Fprintf(out, ", for %d older ones there is no room", i.NoRoom)
				}
				fmt.Fprintln(out)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), done)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "say what would be added, and add nothing")
	return cmd
}

// importHistory imports a file, or standard input for "-". In a dry run it only counts what would be added.
func importHistory(cmd *cobra.Command, a *core.Core, name string, dryRun bool) (app.HistoryImported, error) {
	if name == "-" {
		return app.ImportHistory(cmd.Context(), a, cmd.InOrStdin(), "standard input", dryRun)
	}
	file, err := os.Open(name)
	if err != nil {
		return app.HistoryImported{}, fmt.Errorf("nothing was imported: %w; name a file that can be read, or - for standard input", err)
	}
	defer file.Close()
	return app.ImportHistory(cmd.Context(), a, file, name, dryRun)
}
