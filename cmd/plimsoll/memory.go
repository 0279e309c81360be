package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/limit"
)

// newMemoryCommand returns the command memory with the commands about what is remembered.
func newMemoryCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "What is remembered of conversations: search, trace, forget it",
		Long: `What was said to agents and by them, what they noted down, and what you pinned: on this machine's
disk, within bounds, with its origin. "user" is what you typed, "agent" what a model wrote, "tool" all
else. Only your own words are put before a model by themselves, where the memory is on; see memory given.

Inside of plimsoll run these commands write as "agent", and do not pin, confirm or forget for you.`,
		Example: `  plimsoll memory search "which database did we choose"
  plimsoll memory add "Releases are cut on Tuesdays"
  plimsoll memory pin "Answer in English, with short sentences"
  plimsoll memory given --to "When do we cut releases?"
  plimsoll memory forget --query "launch code" --dry-run`,
	}
	cmd.AddCommand(
		newMemorySearchCommand(open), newMemoryListCommand(open), newMemoryShowCommand(open), newMemoryWhyCommand(open),
		newMemoryAddCommand(open), newMemoryEditCommand(open), newMemoryPinCommand(open), newMemoryForgetCommand(open), newMemoryGivenCommand(open), newMemoryNotCommand(open),
		newMemoryExportCommand(open), newMemoryImportCommand(open), newMemoryStatsCommand(open), newMemoryGCCommand(open), newMemoryLearnCommand(open),
	)
	return cmd
}

// withMemory opens the memory, calls do and closes the memory.
func withMemory(cmd *cobra.Command, open opener, do func(m *memories.Memory) error) (err error) {
	a, err := open(cmd)
	if err != nil {
		return err
	}
	m, err := memories.Open(a, memories.Options{Vectors: memories.VectorsOnSearch})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return do(m)
}

// printMemoryAnswer opens the memory for one question and prints the answer: as JSON, or by show.
func printMemoryAnswer[T any](cmd *cobra.Command, open opener, asJSON bool, ask func(m *memories.Memory) (T, error), show func(out io.Writer, answer T) error) error {
	return withMemory(cmd, open, func(m *memories.Memory) error {
		answer, err := ask(m)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), answer)
		}
		return show(plainWriter(cmd.OutOrStdout()), answer)
	})
}

// memoryFilter are the flags by which records are chosen.
type memoryFilter struct {
	q                   memories.Query
	since, before, asOf string
}

// addFlags adds the flags by which records are selected.
func (f *memoryFilter) addFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.q.Kind, "kind", "", "only these: "+strings.Join(memories.Kinds, ", "))
	fl.StringVar(&f.q.Origin, "origin", "", "only words of: "+strings.Join(memories.Origins, ", "))
	fl.StringVar(&f.q.Namespace, "namespace", "", "only those of user, project (of this directory), project/ID or agent/NAME")
	fl.StringVar(&f.since, "since", "", "only what was said within this time (90m, 12h, 7d), or since a date (2026-11-24)")
	fl.StringVar(&f.before, "before", "", "only what was said longer ago than this time, or before a date")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(memories.Kinds, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("origin", cobra.FixedCompletions(memories.Origins, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.FixedCompletions([]cobra.Completion{"user", "project"}, cobra.ShellCompDirectiveNoFileComp))
}

// toQuery returns the query that the flags describe. Times are relative to now, and a date for --as-of means the end of that day.
func (f *memoryFilter) toQuery(now time.Time) (q memories.Query, err error) {
	q = f.q
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"since", f.since, &q.Since}, {"before", f.before, &q.Until}, {"as-of", f.asOf, &q.AsOf}} {
		if *t.to, err = parseSince(t.text, now); err != nil {
			return q, errors.New(strings.Replace(err.Error(), "--since", "--"+t.flag, 1))
		}
	}
	if _, err := time.Parse(time.DateOnly, f.asOf); err == nil {
		q.AsOf = q.AsOf.AddDate(0, 0, 1).Add(-time.Millisecond) // the day counts whole
	}
	return q, nil
}

// newMemorySearchCommand returns the command memory search, which finds records by words.
func newMemorySearchCommand(open opener) *cobra.Command {
	var f memoryFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Find what was said, noted or learned",
		Long: "Finds what was said, noted or learned, the best first. Ask as you would ask a person: each word that says\n" +
			"something is looked for, and none has to be there.",
		Example: "  plimsoll memory search \"which database did we choose\"\n  plimsoll memory search deploy --origin user --since 7d\n  plimsoll memory search editor --kind fact --as-of 2026-11-01",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.toQuery(time.Now())
			if err != nil {
				return err
			}
			q.Text = strings.Join(args, " ")
			return withMemory(cmd, open, func(m *memories.Memory) error {
				found, err := m.Search(cmd.Context(), q)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), found.Items)
				}
				out := plainWriter(cmd.OutOrStdout())
				if len(found.Items) == 0 {
					_, err := fmt.Fprintln(out, "nothing is remembered that has one of these words")
					return err
				}
				for _, i := range found.Items {
					printMemory(out, i.Record)
					switch r := i.Replaced; {
					case i.ReplacedBy != "":
						fmt.Fprintf(out, "    no longer so: %s was said later\n", i.ReplacedBy)
					case r != nil:
						fmt.Fprintf(out, "    in the place of what was said on %s: %s\n", r.Said.Local().Format(time.DateOnly), oneLine(r.Text, 120))
					}
				}
				if left := found.Total - found.Offset - len(found.Items); left > 0 {
					fmt.Fprintf(out, "%d more; --offset %d shows the next\n", left, found.Offset+len(found.Items))
				}
				return nil
			})
		},
	}
	f.addFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.asOf, "as-of", "", "facts that counted at this time ago, or on a date")
	fl.IntVarP(&f.q.Limit, "limit", "n", 10, "how many at most")
	fl.IntVar(&f.q.Offset, "offset", 0, "how many of the best to pass over")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newMemoryListCommand returns the command memory list, which lists records, the newest first.
func newMemoryListCommand(open opener) *cobra.Command {
	var f memoryFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what is remembered, the newest first",
		Example: "  plimsoll memory list --kind note\n  plimsoll memory list --namespace project --since 1d",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.toQuery(time.Now())
			if err != nil {
				return err
			}
			return withMemory(cmd, open, func(m *memories.Memory) error {
				p, err := m.List(cmd.Context(), q)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), p.Records)
				}
				out := plainWriter(cmd.OutOrStdout())
				if p.Total == 0 {
					_, err := fmt.Fprintln(out, "nothing is remembered that matches")
					return err
				}
				for _, r := range p.Records {
					printMemory(out, r)
				}
				if left := p.Total - p.Offset - len(p.Records); left > 0 {
					fmt.Fprintf(out, "%d more; --offset %d shows the next\n", left, p.Offset+len(p.Records))
				}
				return nil
			})
		},
	}
	f.addFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.q.Conversation, "conversation", "", "only what was said in this one")
	fl.StringVar(&f.q.Run, "run", "", "only what was said in this run")
	fl.BoolVar(&f.q.Quarantined, "quarantined", false, "what waits for a person's word")
	fl.BoolVar(&f.q.Oldest, "oldest", false, "the oldest first")
	fl.IntVarP(&f.q.Limit, "limit", "n", 20, "how many at most")
	fl.IntVar(&f.q.Offset, "offset", 0, "how many to pass over")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newMemoryShowCommand returns the command memory show, which prints one record whole.
func newMemoryShowCommand(open opener) *cobra.Command {
	var around int
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "Show one record whole, and what was said around it",
		Args:              oneArg("id", "plimsoll memory show ID; plimsoll memory list has them"),
		ValidArgsFunction: completeMemory(open),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(m *memories.Memory) ([]memories.Record, error) { return m.Show(cmd.Context(), args[0], around) }
			return printMemoryAnswer(cmd, open, asJSON, ask, func(out io.Writer, found []memories.Record) error {
				for _, r := range found {
					printMemoryWhole(out, r)
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&around, "around", 0, "how many records of its conversation before and after it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newMemoryWhyCommand returns the command memory why, which tells where a record comes from and where it went.
func newMemoryWhyCommand(open opener) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "why ID",
		Short:             "Where a record comes from, what derives from it, and which conversations it was given to",
		Args:              oneArg("id", "plimsoll memory why ID; plimsoll memory list has them"),
		ValidArgsFunction: completeMemory(open),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printMemoryAnswer(cmd, open, asJSON, func(m *memories.Memory) (memories.Why, error) { return m.Why(cmd.Context(), args[0]) }, printWhy)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newMemoryAddCommand returns the command memory add, which notes a text down.
func newMemoryAddCommand(open opener) *cobra.Command {
	var namespace string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "add TEXT...",
		Short:   "Note something down",
		Long:    "Notes something down, in your own words. \"-\" reads the text from standard input.",
		Example: "  plimsoll memory add \"Releases are cut on Tuesdays\"\n  plimsoll memory add --namespace project \"The build needs gcc 14\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if text == "-" {
				body, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<20))
				if err != nil {
					return err
				}
				text = string(body)
			}
			ask := func(m *memories.Memory) (memories.Record, error) { return m.Add(cmd.Context(), namespace, text) }
			return printMemoryAnswer(cmd, open, asJSON, ask, func(out io.Writer, r memories.Record) error {
				who := "an agent" // inside of a run
				if r.Origin == "user" {
					who = "you"
				}
				_, err := fmt.Fprintf(out, "kept for %s, as said by %s: %s\n", placeWords(r.Namespace), who, r.ID)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&namespace, "namespace", "", "user (the default), project (of this directory), project/ID or agent/NAME")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.FixedCompletions([]cobra.Completion{"user", "project"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// completeMemory completes the ids of the newest records.
func completeMemory(open opener) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		_ = withMemory(cmd, open, func(m *memories.Memory) error {
			p, err := m.List(cmd.Context(), memories.Query{Limit: 50})
			for _, r := range p.Records {
				ids = append(ids, r.ID+"\t"+app.Printable(oneLine(r.Text, 60)))
			}
			return err
		})
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// person reports whether somebody is there to be asked.
func person() bool { return term.IsTerminal(int(os.Stdin.Fd())) && stderrIsTerminal() }

// newMemoryLearnCommand returns the command memory learn, which has a model draw facts from what was said.
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
			q, err := f.toQuery(time.Now())
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
	f.addFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Model, "model", "", "who is asked, as NAME or PROVIDER/NAME (default: by the key in the environment)")
	fl.StringVar(&o.BaseURL, "base-url", "", "where the model is asked, in the place of what is known")
	fl.IntVar(&o.TokensPerDay, "tokens", 0, "what may be spent in a day (UTC); 0 is facts_tokens of [memory], 20000")
	fl.BoolVarP(&o.DryRun, "dry-run", "n", false, "count what would be read, and ask nobody")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printLearned writes what was read, what became of the proposed facts, and what is left to read.
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
