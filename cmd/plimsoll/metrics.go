package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/watch"
)

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
