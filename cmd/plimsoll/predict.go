package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

func newPredictCommand(open opener) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "predict TOOL [ARG...]",
		Short: "Say how much memory the next run of a tool will need here",
		Long: `Say how much memory the next run of a tool will need in the project of the working directory,
as text, JSON, or the resource table of a Kubernetes container or a Nomad task.

What is said of make, npm, go, sh and their like goes by what they are told to do: name that too.`,
		Example: `  plimsoll predict claude
  plimsoll predict make test
  plimsoll predict claude --format k8s`,
		Args: func(cmd *cobra.Command, args []string) error {
			return oneArg("tool", "plimsoll predict claude")(cmd, args[:min(len(args), 1)])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := predictionFormats[format]
			if !ok {
				return fmt.Errorf("--format %q is unknown; there are text, json, k8s and nomad", format)
			}
			if args[0] == "" {
				return fmt.Errorf("the tool's name is empty; name one as in: plimsoll predict claude")
			}
			a, err := open(cmd)
			if err != nil {
				return err
			}
			p, err := a.Predict(cmd.Context(), args...)
			if err != nil {
				return err
			}
			return write(plainWriter(cmd.OutOrStdout()), p)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "text, json, k8s or nomad")
	return cmd
}

var predictionFormats = map[string]func(io.Writer, app.Prediction) error{
	"text": printPrediction,
	"json": func(w io.Writer, p app.Prediction) error { return printJSON(w, p) },
	"k8s": func(w io.Writer, p app.Prediction) error {
		_, err := fmt.Fprintf(w, "resources:\n  requests:\n    memory: %dMi\n  limits:\n    memory: %dMi\n", app.MiB(p.ReservationBytes), app.MiB(p.LimitBytes))
		return err
	},
	// Nomad counts in MB and means 2^20 bytes.
	"nomad": func(w io.Writer, p app.Prediction) error {
		_, err := fmt.Fprintf(w, "resources {\n  memory     = %d\n  memory_max = %d\n}\n", app.MiB(p.ReservationBytes), app.MiB(p.LimitBytes))
		return err
	},
}

func printPrediction(w io.Writer, p app.Prediction) error {
	_, err := fmt.Fprintf(w, "%s will need about %s (%s); its limit will be %s\n",
		config.NameTool(p.Tool, p.Variant), limit.Bytes(p.EstimateBytes).Human(), p.Because(), limit.Bytes(p.LimitBytes).Human())
	return err
}
