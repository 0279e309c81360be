package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/limit"
)

// newModelsCommand returns the command models, which lists the windows of models and their sources.
func newModelsCommand(open opener) *cobra.Command {
	var provider, refresh string
	var asJSON, reset bool
	cmd := &cobra.Command{
		Use:   "models [NAME]",
		Short: "List what is known of the windows of models, and from where",
		Long: "List what is known of the windows of models, in tokens, and where that comes from: what you have set, what\n" +
			"providers have said when they refused a request (kept for a day), and the built-in catalogue. With NAME,\n" +
			"what the model takes at each provider that serves it, and everywhere else. A window that is only a guess is\n" +
			"not held before the provider has refused once.\n\n" +
			"--refresh puts a newer catalogue in front of the built-in one: models.dev's api.json or LiteLLM's\n" +
			"model_prices_and_context_window.json, from a file or an address. Nothing is fetched without it.",
		Example: "  plimsoll models claude-opus-5-5\n" +
			"  plimsoll models --provider openai\n" +
			"  plimsoll models --refresh https://models.dev/api.json\n" +
			"  plimsoll models --refresh api.json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			switch {
			case reset:
				return resetModels(cmd.OutOrStdout(), a, asJSON)
			case cmd.Flags().Changed("refresh"):
				r, err := window.Refresh(cmd.Context(), a, refresh)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), r)
				}
				_, err = fmt.Fprintln(plainWriter(cmd.OutOrStdout()), refreshedWords(r))
				return err
			}
			list, err := window.Models(a, slices.Concat(args, []string{""})[0], provider)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			return printModels(plainWriter(cmd.OutOrStdout()), list, len(args) == 0 && provider == "", time.Now())
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "at this provider only; without NAME all of its models")
	_ = cmd.RegisterFlagCompletionFunc("provider", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return window.ModelProviders(), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.Flags().StringVar(&refresh, "refresh", "", "read a public catalogue from this file or address (https://…), and go by it from now on")
	cmd.Flags().BoolVar(&reset, "reset", false, "go by the built-in catalogue alone again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagFilename("refresh", "json")
	cmd.MarkFlagsMutuallyExclusive("refresh", "reset", "provider")
	return cmd
}

// resetModels removes the refreshed catalogue of models and says whether there was one.
func resetModels(out io.Writer, a *core.Core, asJSON bool) error {
	had, err := window.Reset(a)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, map[string]bool{"reset": had})
	}
	words := "the built-in catalogue counts again"
	if !had {
		words = "nothing was in front of the built-in catalogue"
	}
	_, err = fmt.Fprintln(plainWriter(out), words)
	return err
}

// refreshedWords describes a refreshed catalogue.
func refreshedWords(r window.Refreshed) string {
	words := fmt.Sprintf("%d models differ from the built-in catalogue and count now: %s, read on %s", r.Models, r.Origin, r.When.Format(time.DateOnly))
	if r.LeftOut > 0 {
		words += fmt.Sprintf("; %d entries made no sense and were left out", r.LeftOut)
	}
	return words
}

// printModels writes one row for each model, and in the overview how many the catalogue has.
func printModels(out io.Writer, list window.ModelList, overview bool, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(list.Models) > 0 {
		fmt.Fprintln(w, "MODEL\tAT\tWINDOW\tINPUT\tOUTPUT\tFROM")
	}
	for _, m := range list.Models {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", app.Printable(m.Model), app.Printable(m.Upstream), m.Context, tokensOrNone(m.Input), tokensOrNone(m.Output), limitOrigin(m, now))
	}
	if err := w.Flush(); err != nil || !overview {
		return err
	}
	if len(list.Models) > 0 {
		fmt.Fprintln(out)
	}
	total := 0
	for _, n := range list.Providers {
		total += n
	}
	if list.Refreshed != nil {
		fmt.Fprintln(out, refreshedWords(*list.Refreshed))
	}
	_, err := fmt.Fprintf(out, "the catalogue of %s has %s of %s; plimsoll models NAME, or --provider NAME, lists them\n", list.Catalogue, limit.Count(total, "model"), limit.Count(len(list.Providers), "provider"))
	return err
}

func tokensOrNone(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// limitOrigin returns the words for where the window of a model is known from.
func limitOrigin(m window.Model, now time.Time) string {
	switch {
	case m.Learned != nil:
		return "the provider said so, " + formatSince(*m.Learned, now)
	case m.Source == "config":
		return "your configuration"
	case m.Source == "refreshed":
		return "the refreshed catalogue"
	case m.Source == "elsewhere":
		return "a guess: what others give it"
	case m.Source == "family":
		return "a guess: its newest known sibling"
	case m.Source == "default":
		return "a guess: nothing is known of it"
	}
	return "the catalogue"
}
