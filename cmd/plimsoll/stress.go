package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/limit"
)

func newStressCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stress",
		Short: "Play what overwhelms agents' servers, and say what came of it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStressArgoCDCommand())
	return cmd
}

func newStressArgoCDCommand() *cobra.Command {
	var o app.StressOptions
	var which app.ArgoCDOptions
	var sim simulatorFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "argocd",
		Short: "Stress the Argo CD server: large lists, 50 queries at a time, 1000 in a row",
		Long: `Starts "plimsoll mcp argocd" in a process of its own and asks it, as agents do, for large lists again
and again, 5 and 50 things at a time, a thousand in a row, and for words that are everywhere. Prints
requests, times, the peak of the server's own memory and the largest answer of each case, in bytes on
the wire (10,000 of text are up to 12,500 there).

It runs against a simulated Argo CD, unless --server, --context or --instance names a real one, which
is only read. Exits with 1 when a case failed.`,
		Example: `  plimsoll stress argocd
  plimsoll stress argocd --simulator=100000,1000,1000,50 --queries 20
  plimsoll stress argocd --context staging --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			o.Server, o.Context, o.Instance = which.Server, which.Context, which.Instance
			real := o.Server != "" || o.Context != "" || o.Instance != ""
			if simulator, err := sim.options(cmd); err != nil && real {
				return err
			} else if simulator != nil {
				if real {
					return fmt.Errorf("--simulator and the address of a real Argo CD do not go together; leave one of them out")
				}
				o.Simulator = *simulator
			}
			o.Simulator.Faults = sim.faults
			out := plainWriter(cmd.OutOrStdout())
			var begun bool
			o.Stderr = os.Stderr
			o.Progress = func(r app.StressRow) {
				if asJSON {
					return
				}
				if !begun {
					begun = true
					fmt.Fprintf(out, stressLine, "CASE", "REQUESTS", "ERRORS", "P50", "P95", "PEAK RSS", "LARGEST", "", "")
				}
				stressRow(out, r)
			}
			report, err := a.StressArgoCD(cmd.Context(), o)
			if asJSON && len(report.Rows) > 0 {
				if e := printJSON(cmd.OutOrStdout(), stressJSON(report)); e != nil {
					return e
				}
			}
			if err != nil {
				return err
			}
			if !report.OK() {
				return &exitError{code: 1}
			}
			return nil
		},
	}
	argocdFlags(cmd, &which)
	sim.add(cmd)
	f := cmd.Flags()
	f.IntVar(&o.Queries, "queries", 0, "queries in the long case (default 1000; the others make a twentieth of it, at least 10)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// stressLine has fixed columns: a row is shown as soon as its case is over.
const stressLine = "%-24s %8s %7s %9s %9s %10s %9s  %-7s %s\n"

func stressRow(w io.Writer, r app.StressRow) {
	state := "ok"
	switch {
	case r.Skipped:
		state = "skipped"
	case !r.OK:
		state = "FAILED"
	}
	memory := "-"
	if r.PeakBytes > 0 {
		memory = limit.Bytes(r.PeakBytes).Human()
	}
	fmt.Fprintf(w, stressLine, r.Case, fmt.Sprint(r.Requests), fmt.Sprint(r.Errors), r.P50.Round(100*time.Microsecond), r.P95.Round(100*time.Microsecond),
		memory, limit.Bytes(r.MaxResponse).Human(), state, app.Printable(r.Note))
}

// stressJSON returns the report as scripts get it: bytes, and milliseconds.
func stressJSON(report app.StressReport) any {
	type row struct {
		Case             string  `json:"case"`
		Requests         int     `json:"requests"`
		Errors           int     `json:"errors"`
		P50              float64 `json:"p50_ms"`
		P95              float64 `json:"p95_ms"`
		PeakBytes        int64   `json:"peak_rss_anon_bytes"`
		MaxResponseBytes int     `json:"max_response_bytes"`
		OK               bool    `json:"ok"`
		Skipped          bool    `json:"skipped"`
		Note             string  `json:"note,omitempty"`
	}
	rows := make([]row, 0, len(report.Rows))
	for _, r := range report.Rows {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		rows = append(rows, row{r.Case, r.Requests, r.Errors, ms(r.P50), ms(r.P95), r.PeakBytes, r.MaxResponse, r.OK, r.Skipped, r.Note})
	}
	return rows
}
