package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/limit"
)

// newMemoryForgetCommand returns the command memory forget, which removes records and what derives from them.
func newMemoryForgetCommand(open opener) *cobra.Command {
	var f memoryFilter
	var o memories.Forgetting
	var yes, dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "forget [ID...]",
		Short: "Remove records for good, with all that derives from them",
		Long: `Removes records from the disk: by ID, by words, by age, by conversation. What is derived from them goes with
them, and their words go from agents' notes and what else is kept of conversations. What stays is an id and a
digest, by which the same words are known, and not kept, when a client sends them again.

The words also go from kept compactions, notes, sessions and tasks of agents, results of tools, what is kept of runs
and jobs, and logs of MCP servers. --dry-run lists what would go from where.`,
		Example: "  plimsoll memory forget ID\n  plimsoll memory forget --query \"launch code\" --dry-run\n  plimsoll memory forget --before 90d --kind episode --yes\n  plimsoll memory forget --conversation 7f3a",

		ValidArgsFunction: completeMemory(open),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.toQuery(time.Now())
			if err != nil {
				return err
			}
			o.IDs, o.Rest = args, q
			if len(args) > 0 && (o.Query != "" || o.Conversation != "" || f.before != "") {
				return errors.New("name records by ID, or say which by --query, --before or --conversation")
			}
			if len(args) == 0 && o.Query == "" && o.Conversation == "" && f.before == "" && f.since == "" && q.Kind == "" && q.Origin == "" && q.Namespace == "" && q.Run == "" {
				return errors.New("nothing says what is to be forgotten: give an ID, --query, --before, --conversation, --run, --kind, --origin or --namespace")
			}
			return withMemory(cmd, open, func(m *memories.Memory) error { return forgetMemory(cmd, m, o, yes, dryRun, asJSON) })
		},
	}
	f.addFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Query, "query", "", "what a search for these words finds")
	fl.StringVar(&o.Conversation, "conversation", "", "all that was said in this one")
	fl.StringVar(&f.q.Run, "run", "", "all that was said in this run")
	fl.BoolVarP(&dryRun, "dry-run", "n", false, "list what would be removed, and remove nothing")
	fl.BoolVarP(&yes, "yes", "y", false, "without asking")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// forgetMemory removes the records that o selects, after it has listed them and the person has said yes, or with yes. With dryRun it only
// lists them.
func forgetMemory(cmd *cobra.Command, m *memories.Memory, o memories.Forgetting, yes, dryRun, asJSON bool) error {
	list, err := m.WouldForget(cmd.Context(), o)
	if err != nil {
		return err
	}
	out, errs := plainWriter(cmd.OutOrStdout()), plainWriter(cmd.ErrOrStderr())
	if dryRun && len(list) > 0 {
		return printWouldForget(cmd, m, list, asJSON)
	}
	switch {
	case len(list) == 0:
		if asJSON && dryRun {
			return printJSON(cmd.OutOrStdout(), memories.ForgetPreview{Records: []memories.Record{}, Places: []memories.Place{}})
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), memories.Forgotten{Records: []string{}})
		}
		_, err := fmt.Fprintln(out, "nothing that is remembered matches")
		return err
	case !yes:
		if !person() {
			return fmt.Errorf("%s would be removed for good; nobody is here to be asked: --yes removes them, --dry-run lists them", limit.Count(len(list), "record"))
		}
		const shown = 20
		for _, r := range list[:min(len(list), shown)] {
			printMemory(errs, r)
		}
		if len(list) > shown {
			fmt.Fprintf(errs, "… and %d more\n", len(list)-shown)
		}
		if !confirm(cmd, fmt.Sprintf("remove these %d for good?", len(list))) {
			return errors.New("nothing was removed")
		}
	}
	gone, err := m.Forget(cmd.Context(), list)
	if asJSON && len(gone.Records) > 0 {
		return joinPrinted(printJSON(cmd.OutOrStdout(), gone), err)
	}
	if len(gone.Records) > 0 {
		fmt.Fprintf(out, "%s forgotten, %s became free", limit.Count(len(gone.Records), "record"), limit.Bytes(gone.Bytes).Human())
		if gone.Elsewhere > 0 {
			fmt.Fprintf(out, "; their words went from %s", limit.Count(gone.Elsewhere, "more place"))
		}
		fmt.Fprintln(out)
		printPlaces(out, gone.Places, "")
	}
	return err
}

// printWouldForget prints what would be removed, and from which other stores the words would go.
func printWouldForget(cmd *cobra.Command, m *memories.Memory, list []memories.Record, asJSON bool) error {
	w, err := m.WouldForgetElsewhere(cmd.Context(), list)
	if asJSON {
		return joinPrinted(printJSON(cmd.OutOrStdout(), w), err)
	}
	out := plainWriter(cmd.OutOrStdout())
	for _, r := range list {
		printMemory(out, r)
	}
	printPlaces(out, w.Places, "would be ")
	_, printed := fmt.Fprintf(out, "%d would be removed for good; nothing was (--dry-run)\n", len(list))
	return joinPrinted(printed, err)
}

// printPlaces lists where the words were, by store, at most 10 of each; would stands before what is done to each. places is sorted by store.
func printPlaces(out io.Writer, places []memories.Place, would string) {
	const shown = 10
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].Store == places[0].Store {
			n++
		}
		fmt.Fprintf(out, "  %s:\n", places[0].Store)
		for _, p := range places[:min(n, shown)] {
			fmt.Fprintf(out, "    %s %s%s\n", app.Printable(oneLine(p.Name, 120)), would, p.Action)
		}
		if n > shown {
			fmt.Fprintf(out, "    … and %d more\n", n-shown)
		}
		places = places[n:]
	}
}
