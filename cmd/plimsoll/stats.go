package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

// newStatsCommand returns the command stats, which shows what runs took and the next will be given.
func newStatsCommand(open opener) *cobra.Command {
	o := statsFlags{format: "text"}
	cmd := &cobra.Command{
		Use:   "stats [TOOL [ARG...]]",
		Short: "Show what runs took, and what the next will be given",
		Long: `Show what tools took so far, per project, and what the next run will be expected to need. With TOOL it also
says what the next run of it will be given in the project of the working directory: as text, JSON, or what a
container of Kubernetes, a task of Nomad or a job of Slurm asks for. What is said of make, npm, go, sh and
their like goes by what they are told to do: name that too.

Without --project and --all it is about the project of the working directory, and about every project when
that one has no history.

FROM says what other hosts have seen: what was imported, and for TOOL what the fleet knows.

With --forget TOOL what is kept of that tool is removed, in every project or in that of --project: after
a run that was not like the others, say. It asks on a terminal; elsewhere it needs --yes.

With --mcp it is about MCP servers: how large the results of each tool were when they came from the
server, and how much of that reached the client.`,
		Example: `  plimsoll stats
  plimsoll stats claude --all
  plimsoll stats make test
  plimsoll stats claude --format k8s
  plimsoll stats --forget make --project .
  plimsoll stats --mcp`,
		Args: cobra.ArbitraryArgs, // any word but those of the two commands below is a tool
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.checkFlags(cmd, args); err != nil {
				return err
			}
			a, err := open(cmd)
			if err != nil {
				return err
			}
			return o.printAsked(cmd, a, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", o.format, strings.Join(statsFormats, ", ")+": the last three are for TOOL's next run here")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.servers, "mcp", false, "sizes of the results of MCP tools, of the server named or of all")
	f.StringVar(&o.Project, "project", "", "directory or key of the project")
	f.BoolVar(&o.All, "all", false, "every project")
	f.StringVar(&o.forget.tool, "forget", "", "remove what is kept of this tool")
	f.BoolVarP(&o.forget.yes, "yes", "y", false, "with --forget: do not ask")
	f.BoolVarP(&o.forget.dryRun, "dry-run", "n", false, "with --forget: list what would be removed, and remove nothing")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(statsFormats, cobra.ShellCompDirectiveNoFileComp))
	for _, pair := range [][2]string{
		{"project", "all"},
		{"forget", "mcp"},
		{"mcp", "project"},
		{"mcp", "all"},
		{"format", "json"},
	} {
		cmd.MarkFlagsMutuallyExclusive(pair[0], pair[1])
	}
	cmd.AddCommand(newStatsExportCommand(open), newStatsImportCommand(open))
	return cmd
}

// statsFlags are those of plimsoll stats.
type statsFlags struct {
	app.StatsOptions
	format        string
	json, servers bool
	forget        forgetting
}

// checkFlags returns an error for flags and words that do not go together.
func (o *statsFlags) checkFlags(cmd *cobra.Command, args []string) error {
	_, resources := resourceFormats[o.format]
	switch {
	case cmd.Flags().Changed("forget") == (o.forget.tool == ""):
		return errors.New("--forget needs the name of a tool; plimsoll stats --all lists them")
	case (o.forget.yes || o.forget.dryRun) && o.forget.tool == "":
		return errors.New("--yes and --dry-run go with --forget TOOL")
	case o.forget.tool != "" && len(args) > 0:
		return fmt.Errorf("--forget %s and %s are two tools; name the one to forget", o.forget.tool, args[0])
	case o.format != "text" && o.format != "json" && !resources:
		return fmt.Errorf("--format %q is unknown; there are %s", o.format, strings.Join(statsFormats, ", "))
	case len(args) > 0 && args[0] == "":
		return errors.New("the tool's name is empty; name one as in: plimsoll stats claude")
	case resources && len(args) == 0:
		return fmt.Errorf("--format %s says what one tool needs; name it as in: plimsoll stats claude --format %[1]s", o.format)
	case resources && (o.All || o.Project != "" || o.servers || o.forget.tool != ""):
		return fmt.Errorf("--format %s is about the next run in this project: leave --all, --project, --mcp and --forget out", o.format)
	case o.servers && len(args) > 1:
		return fmt.Errorf("--mcp takes one server, not %d", len(args))
	}
	return nil
}

// printAsked prints what the flags ask for; with --forget it also removes history.
func (o *statsFlags) printAsked(cmd *cobra.Command, a *core.Core, args []string) error {
	asJSON := o.json || o.format == "json"
	out := plainWriter(cmd.OutOrStdout())
	show := func(v any, text func() error) error {
		if asJSON {
			return printJSON(cmd.OutOrStdout(), v)
		}
		return text()
	}
	switch write := resourceFormats[o.format]; {
	case o.forget.tool != "":
		o.Tool = o.forget.tool
		return o.forget.removeHistory(cmd, a, o.StatsOptions, asJSON)
	case o.servers:
		o.Tool = strings.Join(args, "")
		rows, err := mcp.Stats(a, o.Tool)
		if err != nil {
			return err
		}
		return show(rows, func() error { return printSizes(out, o.Tool, rows) })
	case len(args) == 0:
		stats, err := app.Stats(cmd.Context(), a, o.StatsOptions)
		if err != nil {
			return err
		}
		return show(stats, func() error { return printStats(out, "", stats) })
	case write != nil: // the next run is here, whatever was elsewhere
		next, err := run.Predict(a, args...)
		if err != nil {
			return err
		}
		return write(out, next)
	}
	stats, next, err := app.StatsOf(cmd.Context(), a, o.StatsOptions, args...)
	if err != nil {
		return err
	}
	return show(stats, func() error {
		return errors.Join(printStats(out, args[0], stats), printNext(wrapped(out, os.Stdout), next))
	})
}

// statsFormats are the values of --format.
var statsFormats = []string{"text", "json", "k8s", "nomad", "slurm"}

// resourceFormats write what the next run needs as others ask for it.
var resourceFormats = map[string]func(io.Writer, run.Prediction) error{
	"k8s": func(w io.Writer, p run.Prediction) error {
		_, err := fmt.Fprintf(w, "resources:\n  requests:\n    memory: %dMi\n  limits:\n    memory: %dMi\n", run.MiB(p.ReservationBytes), run.MiB(p.LimitBytes))
		return err
	},
	// Nomad counts in MB and means 2^20 bytes.
	"nomad": func(w io.Writer, p run.Prediction) error {
		_, err := fmt.Fprintf(w, "resources {\n  memory     = %d\n  memory_max = %d\n}\n", run.MiB(p.ReservationBytes), run.MiB(p.LimitBytes))
		return err
	},
	// Slurm has one figure, which is set aside and is the limit; its M is 2^20 bytes.
	"slurm": func(w io.Writer, p run.Prediction) error {
		_, err := fmt.Fprintf(w, "#SBATCH --mem=%dM\n", run.MiB(p.OneFigureBytes()))
		return err
	},
}

// printNext writes what the next run will be given.
func printNext(w io.Writer, p run.Prediction) error {
	_, err := fmt.Fprintf(w, "%s will need about %s here (%s); its limit will be %s\n",
		config.NameTool(p.Tool, p.Variant), limit.Bytes(p.EstimateBytes).Human(), p.Because(), limit.Bytes(p.LimitBytes).Human())
	return err
}

// printStats writes the history of a tool, or of every tool for "". Of stats without a recorded run there is no row.
func printStats(w io.Writer, tool string, stats []app.Stat) error {
	size := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return limit.Bytes(n).Human()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	same := map[[2]string]int{}
	name := func(s *app.Stat) string { return config.NameTool(s.Tool, s.Variant) }
	for i := range stats {
		same[[2]string{name(&stats[i]), stats[i].ProjectKey}]++
	}
	from := func(s *app.Stat) string { return "" }
	if slices.ContainsFunc(stats, func(s app.Stat) bool { return s.From != "" }) {
		from = func(s *app.Stat) string { return "\t" + cmp.Or(s.From, "here") }
	}
	rows := 0
	for i := range stats {
		s := &stats[i]
		if s.Recorded == 0 { // the next run here, of which the sentence below tells
			continue
		}
		if rows++; rows == 1 {
			head := "TOOL\tPROJECT\tRUNS\tKEPT\tP95\tMAX\tNEXT\tOOM KILLS"
			if from(s) != "" {
				head += "\tFROM"
			}
			fmt.Fprintln(t, head)
		}
		shown := name(s)
		if _, script, ok := strings.Cut(s.Variant, "-"); ok && same[[2]string{shown, s.ProjectKey}] > 1 {
			shown += " (script " + script + ")" // several scripts, told apart by their digests
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%d%s\n", shown, projectColumn(s), s.Recorded, s.Samples,
			size(s.P95Bytes), size(s.MaxBytes), size(s.EstimateBytes), s.OOMKills, from(s))
	}
	if rows == 0 {
		what, command := "", "claude"
		if tool != "" {
			what, command = " of "+tool, tool
		}
		_, err := fmt.Fprintf(w, "There is no history%s yet. It begins with the first run: plimsoll run -- %s\n", what, command)
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range stats {
		if s := &stats[i]; s.Spend != nil && tool != "" {
			fmt.Fprintf(w, "%s in %s spends %s\n", name(s), projectColumn(s), run.SpendWords(s.Spend))
		}
	}
	_, err := fmt.Fprintln(w, "P95 and MAX are what was needed; the peaks of plimsoll runs have the file cache beside it, which is given back")
	return err
}

// projectColumn returns the project's key, or for what other hosts have seen the name that this host has for it.
func projectColumn(s *app.Stat) string {
	if s.From == "" {
		return s.ProjectKey
	}
	return cmp.Or(s.Project, "all")
}

// printSizes writes a row for each tool of MCP servers; server is the one that was asked for, "" for all.
func printSizes(w io.Writer, server string, rows []mcp.Size) error {
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

// forgetting are the flags of `stats --forget`.
type forgetting struct {
	tool        string
	yes, dryRun bool
}

// removeHistory removes a tool's history after listing it and asking on a terminal. Elsewhere it is an error without --yes. With --dry-run it
// only lists.
func (f forgetting) removeHistory(cmd *cobra.Command, a *core.Core, o app.StatsOptions, asJSON bool) error {
	list, err := app.Forgettable(cmd.Context(), a, o)
	if err != nil {
		return err
	}
	if len(list) > 0 && !f.dryRun {
		if !f.yes {
			if !term.IsTerminal(int(os.Stdin.Fd())) || !stderrIsTerminal() {
				return fmt.Errorf("what is kept of %s would be removed in %s; nobody is here to be asked: --yes removes it, --dry-run lists it", f.tool, limit.Count(len(list), "project"))
			}
			errs := plainWriter(cmd.ErrOrStderr())
			if err := printForgotten(errs, "would remove", f.tool, list); err != nil {
				return err
			}
			fmt.Fprint(errs, "plimsoll: remove that for good? [y/N] ")
			if !saysYes(cmd) {
				return errors.New("nothing was removed")
			}
		}
		if list, err = app.Forget(cmd.Context(), a, list); err != nil {
			return err
		}
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), list)
	}
	verb := "removed"
	if f.dryRun {
		verb = "would remove"
	}
	return printForgotten(plainWriter(cmd.OutOrStdout()), verb, f.tool, list)
}

// printForgotten writes a row for each history that was or would be removed; verb says which.
func printForgotten(w io.Writer, verb, tool string, list []app.Forgotten) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "nothing is kept of %s; plimsoll stats --all lists what there is\n", app.Printable(tool))
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", verb, app.Printable(f.Tool), app.Printable(f.ProjectKey), limit.Count(f.Runs, "run"))
	}
	return t.Flush()
}
