package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/config"
)

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
