package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/limit"
)

// newSpendCommand returns the command spend, which shows what runs have read, written and cost.
func newSpendCommand(open opener) *cobra.Command {
	o := watch.SpendOptions{By: "day"}
	var asJSON bool
	since := "30d"
	cmd := &cobra.Command{
		Use:   "spend",
		Short: "Show what runs have read, written and cost",
		Long: `Show the tokens that runs have read and written, by day, tool, project, model, host or run, and what they
have cost in US dollars.

The tokens are those that the providers named. Where one named none, because an answer broke off,
Plimsoll's own count stands in and is marked with ~. Prices are built in, with those that you write
in [models."NAME"] before them; tokens of a model without a known price are shown as such, and never
as free. What a subscription pays for stands apart, as what it would have cost.

With a [fleet] the sums by day, tool, model and host are of all hosts.`,
		Example: "  plimsoll spend\n  plimsoll spend --by model --since 7d\n  plimsoll spend --by run --tool claude --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			if o.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			budgets, broken := watch.Budgets(cmd.Context(), a)
			if o.By == byBudget {
				return printBudgets(cmd.OutOrStdout(), budgets, asJSON, broken)
			}
			rows, err := watch.Spend(cmd.Context(), a, o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), rows)
			}
			out := plainWriter(cmd.OutOrStdout())
			if err := printSpend(out, o.By, since, rows); err != nil || len(budgets) == 0 && broken == nil {
				return err
			}
			fmt.Fprintln(out)
			return printBudgets(out, budgets, false, broken)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.By, "by", o.By, "sum by day, tool, project, model, host or run; budget shows what is left of the [budget]")
	f.StringVar(&since, "since", since, "only runs that ended since then: 1h, 7d, or a date")
	f.StringVar(&o.Tool, "tool", "", "only runs of this tool")
	f.StringVar(&o.Project, "project", "", "only runs of this project")
	f.BoolVar(&asJSON, "json", false, "print an array as JSON")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(append(watch.SpendKeys(), byBudget), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// byBudget asks for the budgets instead of sums.
const byBudget = "budget"

// printBudgets prints what was spent of each budget. broken is the error of budgets that could not be read, and returned.
func printBudgets(out io.Writer, budgets []watch.Budget, asJSON bool, broken error) error {
	switch {
	case broken != nil:
		return broken
	case asJSON:
		return printJSON(out, budgets)
	case len(budgets) == 0:
		_, err := fmt.Fprintln(out, "There is no budget: day, month, project_day and project_month of [budget] bound what all runs spend.")
		return err
	}
	w := tabwriter.NewWriter(plainWriter(out), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BUDGET\tSPENT\tOF\tHELD\tBEGINS ANEW")
	for _, b := range budgets {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", b.Name, limit.Dollars(b.Spent), limit.Dollars(b.Max), limit.Dollars(b.Held), b.Reset.Local().Format("2 Jan 15:04"))
	}
	return w.Flush()
}

// printSpend prints a row for each key and their sum.
func printSpend(out io.Writer, by, since string, rows []watch.Spent) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintf(out, "No run has asked a model through Plimsoll's proxy (--since %s).\n", app.Printable(since))
		return err
	}
	sum := watch.Sum(rows)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(key string, s *watch.Spent, runs string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s", key, runs, guessed(s, s.Input), limit.Tokens(s.Cached), guessed(s, s.Output), spentDollars(s))
		if sum.Plan > 0 {
			fmt.Fprintf(w, "\t%s", limit.Dollars(s.Plan))
		}
		if sum.Unpriced > 0 {
			fmt.Fprintf(w, "\t%s", limit.Tokens(s.Unpriced))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s\tRUNS\tREAD\tCACHED\tWRITTEN\tCOST", strings.ToUpper(by))
	if sum.Plan > 0 {
		fmt.Fprint(w, "\tPLAN")
	}
	if sum.Unpriced > 0 {
		fmt.Fprint(w, "\tNO PRICE")
	}
	fmt.Fprintln(w)
	for i := range rows {
		line(app.Printable(rows[i].Key), &rows[i], strconv.Itoa(rows[i].Runs))
	}
	runs := ""
	if by != "model" { // a run may have asked several
		runs = strconv.Itoa(sum.Runs)
	}
	if len(rows) > 1 {
		line("in all", &sum, runs)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if sum.Plan > 0 {
		fmt.Fprintln(out, "\nPLAN: what the tokens of your subscription would have cost without it.")
	}
	if len(sum.Plans) > 0 {
		fmt.Fprintln(out)
	}
	for _, p := range sum.Plans {
		fmt.Fprintln(out, app.Printable(watch.PlanWords(p, time.Now())))
	}
	if sum.Unpriced > 0 {
		fmt.Fprintln(out, "\nNO PRICE: tokens of models without a known price; write it into [models.\"NAME\"] (plimsoll config explain models).")
	}
	return nil
}

// guessed returns a number of tokens, marked where some of them are our own count.
func guessed(s *watch.Spent, n int64) string {
	if s.Guessed > 0 {
		return "~" + limit.Tokens(n)
	}
	return limit.Tokens(n)
}

// spentDollars returns what was paid, or - where nothing that was used has a price.
func spentDollars(s *watch.Spent) string {
	if s.Cost == 0 && s.Unpriced > 0 {
		return "-"
	}
	return limit.Dollars(s.Cost)
}
