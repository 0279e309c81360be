package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/limit"
)

// showCuts lists what was cut from conversations: all of it, or of one conversation or run. One cut is printed whole: the messages that
// were changed, summarised or dropped, as they were before.
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

// completeCuts offers the IDs of cuts.
func completeCuts(a *core.Core) []string {
	entries, _ := watch.Cuts(a, "")
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID+"\t"+app.Printable(e.Model))
	}
	return ids
}

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
