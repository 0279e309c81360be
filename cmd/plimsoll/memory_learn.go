package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/limit"
)

func newMemoryLearnCommand(open opener) *cobra.Command {
	var f memoryFilter
	var o agents.LearnOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "learn",
		Short: "Draw facts from what was said, with a model of yours",
		Long: `Has a language model propose facts: subject, attribute, value, and the words that say so. A proposal whose words do
not stand in the passage letter by letter is dropped and counted. Which of two values counts, and since when, is
decided by when they were said.

It is the one command here that sends words to a model. It costs at most --tokens a day, over all calls and together with
what plimsoll serve does in the background where [memory] facts is on. Without --model it asks facts_model of the
settings with its own key, or else the model whose key is in the environment.`,
		Example: "  plimsoll memory learn --dry-run\n  plimsoll memory learn --namespace project --since 7d --model openai/gpt-5-mini",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query(time.Now())
			if err != nil {
				return err
			}
			o.From = q
			a, err := open(cmd)
			if err != nil {
				return err
			}
			l, err := agents.Learn(cmd.Context(), a, o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), l)
			}
			return printLearned(plainWriter(cmd.OutOrStdout()), l)
		},
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Model, "model", "", "who is asked, as NAME or PROVIDER/NAME (default: by the key in the environment)")
	fl.StringVar(&o.BaseURL, "base-url", "", "where the model is asked, in the place of what is known")
	fl.IntVar(&o.TokensPerDay, "tokens", 0, "what may be spent in a day (UTC); 0 is facts_tokens of [memory], 20000")
	fl.BoolVarP(&o.DryRun, "dry-run", "n", false, "count what would be read, and ask nobody")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printLearned(out io.Writer, l agents.Learned) error {
	if l.DryRun {
		_, err := fmt.Fprintf(out, "%d episodes without a fact would be read by %s; nobody was asked (--dry-run)\n", l.Episodes, l.Model)
		return err
	}
	s := l.Facts
	fmt.Fprintf(out, "%s, %s to %s, %s\n", limit.Count(l.Episodes, "episode"), limit.Count(s.Requests, "request"), l.Model, limit.Count(s.Tokens, "token"))
	fmt.Fprintf(out, "%d facts are new, %d were known; dropped: %d without their words in the passage, %d with a value of nobody's, %d malformed\n",
		s.Kept, s.Known, s.RejectedQuote, s.RejectedUnsupported, s.RejectedForm)
	if l.Problem != "" {
		fmt.Fprintf(out, "%d requests failed, the last one: %s\n", s.Failed, l.Problem)
	}
	if l.Spent {
		fmt.Fprintln(out, "the day's tokens are spent; --tokens allows more")
	}
	_, err := fmt.Fprintf(out, "%d episodes wait for another call\n", l.Waiting)
	return err
}
