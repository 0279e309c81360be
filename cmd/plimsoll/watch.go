package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/watch/top"
	"github.com/plimsoll/plimsoll/internal/config"
)

// newWatchCommand returns the command watch, which serves a page about the runs of this machine.
func newWatchCommand() *cobra.Command {
	var o watch.Options
	var url bool
	var notify string
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show the runs of this machine in a browser",
		Long: "Serve the dashboard, alone, and print its address with its token: the runs that live and those that have\n" +
			"ended, with their timelines, what was cut from conversations, sizes of tools' results, who holds memory, and\n" +
			"alerts. It only reads, and nothing has to run for it but this. plimsoll serve has the same dashboard at /;\n" +
			"--url prints the address of the one that is there.\n\n" +
			"--notify tells beside that of each run of this user, once, that it was killed, or a child of it was, that\n" +
			"it was refused, waits for five minutes, got its turn, or died: on the desktop, by a POST of JSON to a URL,\n" +
			"or by a command, without a shell: a pipe or a variable in it needs sh -c '…'.",
		Example: "  plimsoll watch\n  xdg-open \"$(plimsoll watch --url)\"\n  plimsoll watch --notify desktop\n  plimsoll watch --notify 'notify-team --channel builds'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Service, err = listen.TakeService(); err != nil {
				return err
			}
			var flags []config.Flag
			if o.Notify = cmd.Flags().Changed("notify"); o.Notify {
				flags = append(flags, config.Flag{Name: "--notify", Key: "watch.notify", Value: notify})
			}
			a, err := openApp(cmd, flags)
			if err != nil {
				return err
			}
			if url {
				address, err := watch.URL(a)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), address)
				return err
			}
			o.Version, o.Stdout, o.Stderr = version(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return watch.Serve(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "", "address to listen on; without it a free port of 127.0.0.1")
	cmd.Flags().StringVar(&notify, "notify", "", "tell of all runs: desktop, a URL, or a command")
	cmd.Flags().BoolVar(&url, "url", false, "print the address of the dashboard that is there, with its token")
	return cmd
}

// newTopCommand returns the command top, which shows every run on the terminal.
func newTopCommand(open opener) *cobra.Command {
	var o top.Options
	var order string
	var once, asJSON bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch every run on this host, and on all of a fleet",
		Long: "Shows the runs of this user on this host, once a second: state, memory now and at most against limit and\n" +
			"reservation, processor, window, compactions, the largest result, kills and age; above them what the host has\n" +
			"free and who waits. Runs that ended in the last minutes follow, faint. Keys: enter opens a run, t shows its\n" +
			"processes, s sorts, / filters, p pauses, c continues, + gives more memory, e ends (asks first), ? lists all, q leaves.\n" +
			"With a [fleet] the runs of all its hosts are there; --filter with the name of a host keeps those of one.\n\n" +
			"--replay shows the same screen as it was: from a time (15:04, 2006-01-02 15:04, or 20m for twenty minutes\n" +
			"ago), or from the beginning of a run, with --once at its end. Without a terminal, or on one that can't place a cursor (TERM=dumb), it\n" +
			"prints one frame, as with --once.",
		Example: "  plimsoll top\n  plimsoll top --once --json\n  plimsoll top --replay 20m\n  plimsoll top --replay last",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			o.Sort = top.Sort(order)
			if asJSON && !once && isScreen() {
				return errors.New("--json prints one look: write --once --json")
			}
			if !once && !asJSON && isScreen() {
				return top.Show(cmd.Context(), a, o)
			}
			snap, err := top.Once(cmd.Context(), a, o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), snap)
			}
			s := top.Screen{Width: screenWidth(), Sort: o.Sort, Filter: o.Filter}
			_, err = fmt.Fprintln(plainWriter(cmd.OutOrStdout()), top.Frame(snap, &s))
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "print one frame and end")
	f.BoolVar(&asJSON, "json", false, "with --once: print JSON")
	f.StringVar(&o.Replay, "replay", "", "show what was: from a time, or from the beginning of a run (ID, tool or last)")
	f.StringVar(&order, "sort", "", "memory (default), cpu, window, result, cost, age, tool or project")
	f.StringVar(&o.Filter, "filter", "", "only runs with these words in tool, project, host, state or ID")
	f.BoolVar(&o.Trees, "tree", false, "with the processes of every run")
	_ = cmd.RegisterFlagCompletionFunc("sort", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, s := range top.Sorts() {
			names = append(names, string(s))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	for _, name := range []string{"replay", "filter"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// isScreen reports whether standard input and output are a terminal that takes a screen that changes, so one that is not "dumb".
func isScreen() bool {
	return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb"
}

// screenWidth returns the width of the terminal, or the one set in COLUMNS; 80 where neither is known.
func screenWidth() int { return cmp.Or(screenColumns(os.Stdout), 80) }

// newMetricsCommand returns the command metrics, which prints the metrics of every run.
func newMetricsCommand(open opener) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Print the metrics of every run, as Prometheus reads them",
		Long: "Print the metrics of every run of this user: what runs and waits, memory, outcomes, deaths for memory,\n" +
			"compactions, results. plimsoll serve and plimsoll watch offer the same at /metrics; this is for hosts with\n" +
			"neither. With --textfile the file is replaced whole, for node_exporter's textfile collector.",
		Example: "  plimsoll metrics\n  plimsoll metrics --textfile /var/lib/prometheus/node-exporter/plimsoll.prom",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			if file != "" {
				return watch.WriteMetricsFile(a, file)
			}
			return watch.WriteMetrics(a, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&file, "textfile", "", "replace this file, which ends with .prom, instead of printing")
	return cmd
}
