package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

func newStatsCommand(open opener) *cobra.Command {
	var (
		o               app.StatsOptions
		asJSON, servers bool
		forget          forgetting
	)
	cmd := &cobra.Command{
		Use:   "stats [TOOL]",
		Short: "Show what tools needed so far and what the next run will be expected to need",
		Long: `Show what tools needed so far, per project, and what the next run will be expected to need.

Without --project and --all it is about the project of the working directory, and about every
project when that one has no history.

With --forget TOOL what is kept of that tool is removed, in every project or in that of --project: after
a run that was not like the others, say. It asks on a terminal; elsewhere it needs --yes.

With --mcp it is about MCP servers: how large the results of each tool were when they came from the
server, and how much of that reached the client.`,
		Example: `  plimsoll stats
  plimsoll stats claude --all
  plimsoll stats --forget make --project .
  plimsoll stats --mcp`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Tool = args[0]
			}
			if cmd.Flags().Changed("forget") == (forget.tool == "") {
				return errors.New("--forget needs the name of a tool; plimsoll stats --all lists them")
			}
			if (forget.yes || forget.dryRun) && forget.tool == "" {
				return errors.New("--yes and --dry-run go with --forget TOOL")
			}
			if forget.tool != "" && len(args) > 0 {
				return fmt.Errorf("--forget %s and %s are two tools; name the one to forget", forget.tool, args[0])
			}
			a, err := open(cmd)
			if err != nil {
				return err
			}
			if forget.tool != "" {
				o.Tool = forget.tool
				return forget.run(cmd, a, o, asJSON)
			}
			if servers {
				rows, err := a.MCPStats(o.Tool)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), rows)
				}
				return printSizes(plainWriter(cmd.OutOrStdout()), o.Tool, rows)
			}
			stats, err := a.Stats(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), stats)
			}
			return printStats(plainWriter(cmd.OutOrStdout()), o, stats)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&servers, "mcp", false, "sizes of the results of MCP tools, of the server named or of all")
	f.StringVar(&o.Project, "project", "", "directory or key of the project")
	f.BoolVar(&o.All, "all", false, "every project")
	f.StringVar(&forget.tool, "forget", "", "remove what is kept of this tool")
	f.BoolVarP(&forget.yes, "yes", "y", false, "with --forget: do not ask")
	f.BoolVarP(&forget.dryRun, "dry-run", "n", false, "with --forget: list what would be removed, and remove nothing")
	cmd.MarkFlagsMutuallyExclusive("project", "all")
	cmd.MarkFlagsMutuallyExclusive("forget", "mcp")
	cmd.MarkFlagsMutuallyExclusive("mcp", "project")
	cmd.MarkFlagsMutuallyExclusive("mcp", "all")
	return cmd
}

func printStats(w io.Writer, o app.StatsOptions, stats []app.Stat) error {
	if len(stats) == 0 {
		what, command := "", "claude"
		if o.Tool != "" {
			what, command = " of "+o.Tool, o.Tool
		}
		_, err := fmt.Fprintf(w, "There is no history%s yet. It begins with the first run: plimsoll run -- %s\n", what, command)
		return err
	}
	size := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return limit.Bytes(n).Human()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TOOL\tPROJECT\tRUNS\tKEPT\tP95\tMAX\tNEXT\tOOM KILLS")
	same := map[[2]string]int{}
	name := func(s *app.Stat) string { return config.NameTool(s.Tool, s.Variant) }
	for i := range stats {
		same[[2]string{name(&stats[i]), stats[i].ProjectKey}]++
	}
	for i := range stats {
		s := &stats[i]
		shown := name(s)
		if _, script, ok := strings.Cut(s.Variant, "-"); ok && same[[2]string{shown, s.ProjectKey}] > 1 {
			shown += " (script " + script + ")" // several scripts, told apart by their digests
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%d\n", shown, s.ProjectKey, s.Recorded, s.Samples, size(s.P95Bytes), size(s.MaxBytes), size(s.EstimateBytes), s.OOMKills)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "P95 and MAX are what was needed; the peaks of plimsoll runs have the file cache beside it, which is given back")
	return err
}

func printSizes(w io.Writer, server string, rows []app.MCPSize) error {
	if len(rows) == 0 && server != "" {
		_, err := fmt.Fprintf(w, "No tool of a server %q was called through Plimsoll yet; plimsoll stats --mcp lists all.\n", server)
		return err
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "No tool was called through Plimsoll yet. It begins with: plimsoll mcp -- SERVER, or plimsoll mcp wrap FILE")
		return err
	}
	size := func(n int64) string { return limit.Bytes(n).Human() }
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVER\tTOOL\tCALLS\tSENT\tDELIVERED\tAVERAGE\tP95\tMAX\tPAGED\tFAILED")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", app.Printable(r.Server), app.Printable(r.Tool), r.Calls, size(r.UpstreamBytes), size(r.DeliveredBytes),
			size(r.AverageBytes), size(r.P95Bytes), size(r.MaxBytes), r.Spilled, r.Failed)
	}
	return t.Flush()
}
