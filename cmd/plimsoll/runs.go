package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// newRunsCommand returns the command runs, which lists runs or tells of one.
func newRunsCommand(open opener) *cobra.Command {
	o := runsFlags{most: 50}
	cmd := &cobra.Command{
		Use:   "runs [ID]",
		Short: "List what ran and what came of it, or look at one run",
		Long: "Without an ID: the runs of this user on this host, the newest first: those that run or wait, that ended,\n" +
			"were refused, or died with their plimsoll; with a [fleet] also those that live on other hosts. With an ID, the beginning of one, the name of a tool (its newest run),\n" +
			"or last: why it was admitted, its memory and context over time, each time that it was shortened, the largest results of its tools, what was\n" +
			"killed, and what to do next. What is kept, and for how long: table [watch] of the configuration.\n\n" +
			"With --cuts: every time that text was cut from a conversation, the newest first; with an ID those of that run\n" +
			"or conversation. With the ID of a cut, or its first letters: the messages that were changed, summarised or\n" +
			"dropped, word for word, one JSON value a line. What an earlier cut had changed is shown whole by that one.",
		Example: "  plimsoll runs --killed --since 7d\n  plimsoll runs last\n  plimsoll runs last --follow\n  plimsoll runs last --cuts\n" +
			"  plimsoll runs --export json | jq .peak_bytes",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			a, err := open(cmd)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			if o.cuts {
				return completeCuts(a), cobra.ShellCompDirectiveNoFileComp
			}
			return completeRuns(a), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			return o.printAsked(cmd, a, strings.Join(args, ""))
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Tool, "tool", "", "only runs of this tool")
	fl.StringVar(&o.Project, "project", "", "only runs in this project")
	fl.BoolVar(&o.Killed, "killed", false, "only runs that were killed, or of which a process was")
	fl.StringVar(&o.Outcome, "outcome", "", "only runs that came out so: "+strings.Join(watch.Outcomes(), ", "))
	fl.StringVar(&o.since, "since", "", "only runs that ended within this time (90m, 12h, 7d), or since a date (2026-11-24, yesterday)")
	fl.BoolVar(&o.All, "all", false, "the MCP gateways inside runs too")
	fl.IntVarP(&o.most, "lines", "n", o.most, "how many runs the table has at most; 0 is all")
	fl.BoolVarP(&o.follow, "follow", "f", false, "print what happens in the run until it ends")
	fl.BoolVar(&o.cuts, "cuts", false, "what was cut from conversations: all, of a run or conversation, or one cut whole")
	fl.StringVar(&o.export, "export", "", "write whole runs in this form: json, one object a line")
	fl.BoolVar(&o.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(watch.Outcomes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("export", cobra.FixedCompletions([]cobra.Completion{"json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagsMutuallyExclusive("follow", "export", "cuts")
	for _, filter := range []string{"tool", "project", "outcome", "killed", "since", "all", "lines"} {
		cmd.MarkFlagsMutuallyExclusive("cuts", filter)
	}
	return cmd
}

// completeRuns returns "last" and the IDs of the newest 50 runs, each with a tab and words about it; of runs that cannot be listed only "last".
func completeRuns(a *core.Core) []string {
	list, _ := watch.List(a, watch.Filter{})
	ids := []string{"last\tthe newest"}
	for _, e := range list[:min(len(list), 50)] {
		ids = append(ids, e.ID+"\t"+app.Printable(e.Tool+" in "+e.Project+", "+e.Outcome))
	}
	return ids
}

// runsFlags are those of plimsoll runs.
type runsFlags struct {
	watch.Filter
	json, follow, cuts bool
	since, export      string
	most               int
}

// printAsked prints what the flags ask for, of all runs, or of one by its ID. With --follow it returns when that run has ended.
func (o *runsFlags) printAsked(cmd *cobra.Command, a *core.Core, id string) (err error) {
	if o.Since, err = parseSince(o.since, time.Now()); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case o.cuts:
		return showCuts(cmd, a, id, o.json)
	case o.follow && id == "":
		return errors.New("--follow needs the run that is to be followed: plimsoll runs last --follow")
	case o.Outcome != "" && !slices.Contains(watch.Outcomes(), o.Outcome):
		return fmt.Errorf("--outcome %s: no run comes out so; write one of: %s", app.Printable(o.Outcome), strings.Join(watch.Outcomes(), ", "))
	case o.export != "" && o.export != "json":
		return fmt.Errorf("--export %s: there is one form, json: one object a line for each run", app.Printable(o.export))
	case o.export != "" && id != "", o.json && id != "" && !o.follow:
		d, err := watch.Show(a, id)
		if err != nil {
			return err
		}
		return printJSON(out, d)
	case o.export != "":
		lines := json.NewEncoder(out)
		return watch.Export(a, o.Filter, func(d watch.Details) error { return lines.Encode(d) })
	case o.follow:
		return followRun(cmd, a, id, o.json)
	case id != "":
		d, err := watch.Show(a, id)
		if d.Run == nil {
			return err
		}
		return joinPrinted(printRun(wrapped(plainWriter(out), os.Stdout), d), err)
	}
	list, err := watch.ListEverywhere(cmd.Context(), a, o.Filter)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(out, list)
	}
	return printRuns(plainWriter(out), list, o.most, time.Now())
}

// joinPrinted returns the error of printing, else that of what was printed.
func joinPrinted(printed, err error) error {
	if printed != nil {
		return printed
	}
	return err
}

// parseSince reads a time: "today", "yesterday", a duration before now ("12h", "7d") or a date, with or without a time of day. "" is the zero
// time, all else an error about --since.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for back, day := range []string{"today", "yesterday"} {
		if text == day {
			return time.Date(now.Year(), now.Month(), now.Day()-back, 0, 0, 0, 0, now.Location()), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 1<<15 {
			return now.Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %s is neither a duration nor a date; write 90m, 12h, 7d, yesterday or 2026-11-24", app.Printable(text))
}

// printRuns writes one line for each of the first most runs of list, of all for 0, then the reason of the first if it has one and how many were
// left out.
func printRuns(out io.Writer, list []watch.Entry, most int, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "no runs are kept that match; every plimsoll run, ask, mcp and serve leaves one")
		return err
	}
	left := 0
	if most > 0 && len(list) > most {
		left, list = len(list)-most, list[:most]
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	asked := slices.ContainsFunc(list, func(e watch.Entry) bool { return e.Requests() > 0 })
	hosts := slices.ContainsFunc(list, func(e watch.Entry) bool { return e.Host != "" })
	fmt.Fprint(w, "ID\tSTARTED\t")
	if hosts {
		fmt.Fprint(w, "HOST\t")
	}
	fmt.Fprint(w, "TOOL\tPROJECT\tOUTCOME\tTOOK\tMEMORY")
	if asked {
		fmt.Fprint(w, "\tWINDOW")
	}
	fmt.Fprintln(w)
	for _, e := range list {
		fmt.Fprintf(w, "%s\t%s\t", strings.TrimPrefix(e.ID, e.Host+"/"), formatTime(e.Started, now))
		if hosts {
			fmt.Fprintf(w, "%.20s\t", cmp.Or(e.Host, "here"))
		}
		fmt.Fprintf(w, "%.14s\t%.16s\t%s\t%s\t%s", e.Tool, e.Project, outcomeCell(&e), app.Took(e.Age()), memoryCell(e))
		if asked {
			fmt.Fprintf(w, "\t%s", windowCell(&e))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range list[:min(len(list), 1)] {
		if e.Reason != "" {
			fmt.Fprintf(out, "the newest: %s\n", e.Reason)
		}
	}
	if left > 0 {
		fmt.Fprintf(out, "%d older ones are left out; --lines 0 lists all\n", left)
	}
	_, err := fmt.Fprintln(out, "what happened in one: plimsoll runs ID")
	return err
}

// formatTime writes a time of today, or a date.
func formatTime(at, now time.Time) string {
	at = at.Local()
	if at.YearDay() == now.Local().YearDay() && at.Year() == now.Local().Year() {
		return at.Format("15:04:05")
	}
	return at.Format("Jan 02 15:04")
}

// formatSince writes when something began: the time of day and how long that is ago, after 24 hours the date and time alone.
func formatSince(since, now time.Time) string {
	d := max(0, now.Sub(since)).Round(time.Second)
	if d >= 24*time.Hour {
		return since.Local().Format("Jan 02 15:04")
	}
	return fmt.Sprintf("%s (%s)", since.Local().Format("15:04:05"), d)
}

// outcomeCell returns how a run came out, with the number of its processes that were killed while it went on.
func outcomeCell(e *watch.Entry) string {
	if n := e.Killed(); n > 0 && e.Outcome != string(journal.OutcomeOOM) {
		return fmt.Sprintf("%s, %d killed", watch.StateWords(e.Condition()), n)
	}
	return watch.StateWords(e.Condition())
}

// memoryCell returns the highest memory of a run, and its limit if there is one; "-" if it was not measured.
func memoryCell(e watch.Entry) string {
	switch {
	case e.PeakBytes == 0:
		return "-"
	case e.LimitBytes > 0:
		return fmt.Sprintf("%s of %s", limit.Bytes(e.PeakBytes).Human(), limit.Bytes(e.LimitBytes).Human())
	}
	return limit.Bytes(e.PeakBytes).Human()
}

// windowCell returns how full the window was at most; "-" for a run without a request.
func windowCell(e *watch.Entry) string {
	tokens, most := e.PeakWindow()
	switch {
	case e.Requests() == 0:
		return "-"
	case most > 0:
		return fmt.Sprintf("%.0f %% of %s", 100*float64(tokens)/float64(most), limit.Tokens(most))
	}
	return limit.Tokens(tokens)
}

// followRun prints the records of a run as they come, until it has ended, and then its outcome.
func followRun(cmd *cobra.Command, a *core.Core, id string, asJSON bool) error {
	out := cmd.OutOrStdout()
	lines := json.NewEncoder(out)
	d, err := watch.Follow(cmd.Context(), a, id, func(r journal.Record) error {
		if asJSON {
			return lines.Encode(r)
		}
		event, err := json.Marshal(r.Event)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(plainWriter(out), "%s  %-24s %s\n", r.Time.Local().Format("15:04:05.000"), r.Event.Kind(), app.Printable(string(event)))
		return err
	})
	if err != nil || asJSON {
		return err
	}
	_, err = fmt.Fprintf(plainWriter(out), "%s: %s\n", d.Outcome, orDash(d.Reason))
	return err
}

func orDash(text string) string {
	if text == "" {
		return "nothing to tell"
	}
	return text
}

// showCuts lists what was cut from conversations: all of it, or of one conversation or run. If of is the beginning of the ID of a cut and nothing
// else is found, that is printed whole: the messages that were changed, summarised or dropped, as they were before.
func showCuts(cmd *cobra.Command, a *core.Core, of string, asJSON bool) error {
	entries, err := watch.Cuts(a, of)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(entries) == 1 && strings.HasPrefix(entries[0].ID, of) && of != "" {
		return printCut(cmd, a, entries[0].ID, asJSON)
	}
	if asJSON {
		return printJSON(out, entries)
	}
	return printCuts(plainWriter(out), entries)
}

// completeCuts returns the IDs of all cuts, each with a tab and the model; none if they cannot be listed.
func completeCuts(a *core.Core) []string {
	entries, _ := watch.Cuts(a, "")
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID+"\t"+app.Printable(e.Model))
	}
	return ids
}

// printCuts writes a row for each cut.
func printCuts(out io.Writer, entries []window.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(out, "nothing was cut")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tCONVERSATION\tWHEN\tMODEL\tHOW\tTOKENS\tCUT")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%.12s\t%s\t%s\t%s\t%s → %s\t%s\n", e.ID, e.Conversation, e.Time.Local().Format("2006-01-02 15:04:05"), app.Printable(e.Model),
			strings.Join(e.Rungs, ", "), limit.Tokens(int64(e.Before)), limit.Tokens(int64(e.After)), limit.Bytes(e.CutBytes).Human())
	}
	return w.Flush()
}

// printCut prints what was cut by one compaction, word for word. If its end was not stored, it says so on standard error.
func printCut(cmd *cobra.Command, a *core.Core, id string, asJSON bool) error {
	cut, err := window.ReadCut(a, id)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return printJSON(out, struct {
			window.Entry
			Text string `json:"text"`
		}{cut.Entry, string(cut.Text)})
	}
	text := app.PrintableText(string(cut.Text))
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if _, err := io.WriteString(plainWriter(out), text); err != nil {
		return err
	}
	if cut.Incomplete {
		fmt.Fprintln(plainWriter(cmd.ErrOrStderr()), "plimsoll: the end is missing, the text was too large to be kept whole")
	}
	return nil
}
