package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
)

func newSlotsCommand(open opener) *cobra.Command {
	var asJSON, tree bool
	cmd := &cobra.Command{
		Use:   "slots",
		Short: "List who holds memory and slots, and who waits",
		Long: "List the runs of this user on this host: what each has reserved, what it uses now, and who waits in\n" +
			"which order. With shared_ledger set, the runs of other users are listed too. A run is stale when its\n" +
			"plimsoll was killed and nothing has cleaned up after it yet; the next run does, or plimsoll gc. Orphans are\n" +
			"processes whose parent has ended; --tree shows them and all others.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			slots, err := a.Slots(cmd.Context(), tree)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), slots)
			}
			if err := printSlots(plainWriter(cmd.OutOrStdout()), slots, time.Now()); err != nil || !tree {
				return err
			}
			return printTrees(plainWriter(cmd.OutOrStdout()), slots)
		},
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "show the processes of each run: memory, processor time, state and age")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printSlots writes two tables: who holds, and who waits.
func printSlots(out io.Writer, slots []app.Slot, now time.Time) error {
	if len(slots) == 0 {
		_, err := fmt.Fprintln(out, "nothing runs under plimsoll")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	holding, waiting := 0, 0
	for _, s := range slots {
		if s.Position > 0 { // it waits
			if waiting++; waiting == 1 {
				if holding > 0 {
					fmt.Fprintln(w)
				}
				fmt.Fprintln(w, "WAITING\tTOOL\tPROJECT\tPID\tASKS FOR\tSINCE")
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\n", s.Position, s.Tool, s.Project, s.PID, s.ReservationBytes.Human(), formatSince(s.Since, now))
			continue
		}
		if holding++; holding == 1 {
			fmt.Fprintln(w, "TOOL\tPROJECT\tPID\tRESERVED\tUSED\tSINCE\tSTATE")
		}
		whose, pid := s.Project, strconv.Itoa(s.PID)
		if s.User != "" {
			whose, pid = "user "+s.User, "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			s.Tool, whose, pid, s.ReservationBytes.Human(), s.CurrentBytes.Human(), formatSince(s.Since, now), stateOf(s))
	}
	return w.Flush()
}

func stateOf(s app.Slot) string {
	text := string(s.State)
	switch {
	case s.StaleWhy != "":
		text += ": " + s.StaleWhy
	case s.Parent != "":
		text = "inside " + s.Parent
	}
	if s.Forced {
		text += ", forced"
	}
	switch {
	case s.Orphans == 1:
		text += ", 1 orphan"
	case s.Orphans > 1:
		text += fmt.Sprintf(", %d orphans", s.Orphans)
	}
	return text
}

// formatSince writes when something began: the time of day and how long that is ago.
func formatSince(since, now time.Time) string {
	d := max(0, now.Sub(since)).Round(time.Second)
	if d >= 24*time.Hour {
		return since.Local().Format("Jan 02 15:04")
	}
	return fmt.Sprintf("%s (%s)", since.Local().Format("15:04:05"), d)
}
