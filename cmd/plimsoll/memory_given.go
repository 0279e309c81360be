package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/memories"
)

// newMemoryGivenCommand returns the command memory given, which tells what was given to whom and why.
func newMemoryGivenCommand(open opener) *cobra.Command {
	var to memories.Recipient
	var prompt, namespace string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "given",
		Short: "What was given to whom and why, or would be added to a prompt",
		Long: `Lists what was put before models, the newest first: in which conversation, by which words of the prompt. With
--to: what would be added to that prompt now if it began a conversation, and what was found for it and is not
added, with the reason. That asks the same as the proxy of a run does, also while the memory is not on.`,
		Example: "  plimsoll memory given\n  plimsoll memory given --run 7f3a\n  plimsoll memory given --to \"When do we ship?\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("a prompt goes behind --to: plimsoll memory given --to %q", strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("to") {
				a, err := open(cmd)
				if err != nil {
					return err
				}
				w, err := memories.PreviewGifts(cmd.Context(), a, prompt, namespace)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), w)
				}
				return printWouldGive(plainWriter(cmd.OutOrStdout()), w)
			}
			if namespace != "" {
				return errors.New("--namespace says where the conversation of a prompt is: give the prompt with --to")
			}
			ask := func(m *memories.Memory) ([]memories.Given, error) { return m.Given(cmd.Context(), to) }
			return printMemoryAnswer(cmd, open, asJSON, ask, printGiven)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&prompt, "to", "", "what would be added to this prompt")
	fl.StringVar(&namespace, "namespace", "", "with --to: the conversation is in project (of this directory, the default), project/ID, agent/NAME or user")
	fl.StringVar(&to.Run, "run", "", "only what was given to this run")
	fl.StringVar(&to.Conversation, "conversation", "", "only what was given to this conversation")
	fl.IntVarP(&to.Limit, "limit", "n", 20, "how many at most")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	for _, other := range []string{"run", "conversation", "limit"} {
		cmd.MarkFlagsMutuallyExclusive("to", other)
	}
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.FixedCompletions([]cobra.Completion{"user", "project"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// printGiven writes to whom each record was given, when and why.
func printGiven(out io.Writer, list []memories.Given) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "nothing was given to anybody")
		return err
	}
	for _, g := range list {
		fmt.Fprintf(out, "%s · %s\n    %s  %s\n", useLine(g.Use), g.Why, g.ID, oneLine(g.Text, 160))
	}
	return nil
}

// printWouldGive writes what would be added to a prompt, and what was found and would not be, each with the reason.
func printWouldGive(out io.Writer, w memories.WouldGive) error {
	if w.Note != "" {
		fmt.Fprintln(out, w.Note)
	}
	for _, g := range w.Given {
		score := ""
		if g.Score > 0 {
			score = fmt.Sprintf("%.2f · ", g.Score)
		}
		fmt.Fprintf(out, "given   %s  %s%s\n        %s\n", g.ID, score, g.Why, oneLine(g.SentenceWithin(360), 360))
	}
	if len(w.Given) == 0 {
		fmt.Fprintln(out, "nothing would be added")
	}
	if w.Why != "" {
		fmt.Fprintf(out, "why     %s\n", w.Why)
	}
	for _, m := range w.Missed {
		fmt.Fprintf(out, "missed  %s  %.2f · %s\n        %s\n", m.ID, m.Score, m.Why, oneLine(m.Text, 160))
	}
	return nil
}

// newMemoryNotCommand returns the command memory not, which takes records back, or lists those taken back.
func newMemoryNotCommand(open opener) *cobra.Command {
	var undo, asJSON bool
	cmd := &cobra.Command{
		Use:   "not [ID...]",
		Short: "Take back what was given: it is not put before a model by itself any more",
		Long: `Takes a record back, from the next request on and in runs that are going on: neither it nor what is about the
same is added to prompts again. What a conversation was given before stays in it until its next cut. Searches
find it still, marked. Without an ID: lists what was taken back. memory forget removes a record for good.`,
		Example:           "  plimsoll memory not ID\n  plimsoll memory not ID --undo\n  plimsoll memory not",
		ValidArgsFunction: completeMemory(open),
		RunE: func(cmd *cobra.Command, args []string) error {
			if undo && len(args) == 0 {
				return errors.New("--undo needs an ID; plimsoll memory not lists what was taken back")
			}
			ask := func(m *memories.Memory) ([]memories.TakenBack, error) {
				if len(args) > 0 {
					if err := m.TakeBack(cmd.Context(), undo, args...); err != nil {
						return nil, err
					}
				}
				return m.TakenBack(cmd.Context())
			}
			return printMemoryAnswer(cmd, open, asJSON, ask, func(out io.Writer, list []memories.TakenBack) (err error) {
				switch {
				case undo:
					_, err = fmt.Fprintf(out, "%s may be given again\n", strings.Join(args, ", "))
				case len(args) > 0:
					_, err = fmt.Fprintf(out, "%s and what is about the same are not given any more; --undo takes that back\n", strings.Join(args, ", "))
				case len(list) == 0:
					_, err = fmt.Fprintln(out, "nothing was taken back")
				default:
					for _, w := range list {
						text := oneLine(w.Text, 120)
						if w.Text == "" {
							text = "(there no longer; what is about the same stays taken back)"
						}
						fmt.Fprintf(out, "%s  since %s\n    %s\n", w.ID, w.At.Local().Format("2006-01-02 15:04"), text)
					}
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "these may be given again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
