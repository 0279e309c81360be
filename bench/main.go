// Command bench measures Plimsoll against baselines in the same run.
//
//	go run ./bench launch          a table
//	go run ./bench -json launch    one JSON object a line
//	go run ./bench                 the names
//
// Machines are noisy, so every figure stands beside a baseline that was measured in turn
// with it, and the ratio is what to quote. Nothing here asserts: timed tests lie.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Row is one figure. Ratio is Value over BaselineValue.
type Row struct {
	Bench         string  `json:"bench"`
	Case          string  `json:"case"`
	Metric        string  `json:"metric"`
	Value         float64 `json:"value"`
	Unit          string  `json:"unit"`
	Baseline      string  `json:"baseline"`
	BaselineValue float64 `json:"baseline_value"`
	Ratio         float64 `json:"ratio"`
}

// Out takes the rows and the remarks of a benchmark.
type Out struct {
	name   string
	asJSON bool
	rows   []Row
	w      io.Writer
	notes  []string
}

// Add reports one figure beside its baseline; a baseline of 0 has no ratio.
func (o *Out) Add(r Row) {
	r.Bench = o.name
	if r.BaselineValue != 0 {
		r.Ratio = r.Value / r.BaselineValue
	}
	o.rows = append(o.rows, r)
	if o.asJSON {
		_ = json.NewEncoder(o.w).Encode(r)
	}
}

// Note prints a note on what the figures rest on, or on what could not be measured and why.
func (o *Out) Note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

func (o *Out) flush() {
	if !o.asJSON {
		t := tabwriter.NewWriter(o.w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "CASE\tMETRIC\tVALUE\tUNIT\tBASELINE\t\tRATIO")
		for _, r := range o.rows {
			ratio := ""
			if r.Ratio != 0 {
				ratio = strconv.FormatFloat(r.Ratio, 'g', 3, 64)
			}
			fmt.Fprintf(t, "%s\t%s\t%.4g\t%s\t%s\t%.4g\t%s\n", r.Case, r.Metric, r.Value, r.Unit, r.Baseline, r.BaselineValue, ratio)
		}
		_ = t.Flush()
	}
	notes := o.w
	if o.asJSON {
		notes = os.Stderr
	}
	for _, n := range o.notes {
		fmt.Fprintln(notes, n)
	}
}

// benchmark measures something. args are the arguments behind its name.
type benchmark struct {
	name, about string
	run         func(ctx context.Context, o *Out, args []string) error
}

// benchmarks are filled by the init functions of the other files.
var benchmarks []benchmark

func register(name, about string, run func(context.Context, *Out, []string) error) {
	benchmarks = append(benchmarks, benchmark{name, about, run})
}

func main() {
	asJSON := flag.Bool("json", false, "print one JSON object a line")
	flag.Usage = printUsage
	flag.Parse()
	args := flag.Args()
	if i := slices.IndexFunc(args, func(a string) bool { return a == "-json" || a == "--json" }); i >= 0 {
		*asJSON, args = true, slices.Delete(args, i, i+1)
	}
	if len(args) == 0 {
		printUsage()
		os.Exit(2)
	}
	for _, b := range benchmarks {
		if b.name != args[0] {
			continue
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		o := &Out{name: b.name, asJSON: *asJSON, w: os.Stdout}
		err := b.run(ctx, o, args[1:])
		o.flush()
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", b.name, err)
			os.Exit(1)
		}
		return
	}
	fmt.Fprintf(os.Stderr, "bench: there is no benchmark %q\n", args[0])
	printUsage()
	os.Exit(2)
}

func printUsage() {
	fmt.Fprintln(os.Stderr, "usage: go run ./bench [-json] NAME [ARG...]")
	slices.SortFunc(benchmarks, func(a, b benchmark) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	for _, b := range benchmarks {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", b.name, b.about)
	}
}

// builtBinary returns the program, built into dir unless the environment names one: a machine without Go has one built elsewhere.
func builtBinary(ctx context.Context, dir string) (string, error) {
	if binary := os.Getenv("PLIMSOLL_BENCH_BINARY"); binary != "" {
		return binary, nil
	}
	binary := filepath.Join(dir, "plimsoll")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/plimsoll/plimsoll/cmd/plimsoll")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build plimsoll: %w\n%s", err, out)
	}
	return binary, nil
}
