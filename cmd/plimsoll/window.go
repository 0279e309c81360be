package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/limit"
)

func newWindowCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "window",
		Short: "Look at what was cut from conversations",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWindowShowCommand(open))
	return cmd
}

func newWindowShowCommand(open opener) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "List what was cut, or print one cut whole",
		Long: "Without an ID: every time that a conversation was shortened, the newest first. With the ID of a\n" +
			"conversation: those of this one. With the ID of a cut, or its first letters: the messages that were\n" +
			"changed, summarised or dropped, as they were before, one JSON value a line. What an earlier cut had\n" +
			"changed already is shown whole by that one.",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			a, err := open(cmd)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			entries, _ := a.Cuts("")
			var ids []string
			for _, e := range entries {
				ids = append(ids, e.ID+"\t"+app.Printable(e.Model))
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			of := strings.Join(args, "")
			entries, err := a.Cuts(of)
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
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printCuts(out io.Writer, entries []app.CutEntry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(out, "nothing was cut from any conversation")
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

func printCut(cmd *cobra.Command, a *app.App, id string, asJSON bool) error {
	cut, err := a.Cut(id)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return printJSON(out, struct {
			app.CutEntry
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
