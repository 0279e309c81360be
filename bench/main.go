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
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
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

// Out is to a benchmark what testing.B is to one of Go's: it takes its rows and notes, and cleans up behind it. What is made for tests takes
// it for a test.
type Out struct {
	testing.TB // for the methods that nothing here calls

	name     string
	asJSON   bool
	rows     []Row
	w        io.Writer
	notes    []string
	ctx      context.Context
	cleanups []func()
}

// stopped is the panic of a benchmark that ends with an error.
type stopped struct{ error }

// check ends the benchmark where there is an error, as Fatal ends a test. It is for the benchmark's own goroutine.
func check(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// must returns a value that came without an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func (o *Out) Fatal(args ...any)                 { check(errors.New(fmt.Sprint(args...))) }
func (o *Out) Fatalf(format string, args ...any) { check(fmt.Errorf(format, args...)) }
func (o *Out) Skip(args ...any)                  { o.Fatal(args...) }
func (o *Out) Helper()                           {}

// Cleanup calls f when the benchmark has ended.
func (o *Out) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

// TempDir makes a folder that goes when the benchmark has ended.
func (o *Out) TempDir() string {
	dir := must(os.MkdirTemp("", "plimsoll-bench-"))
	o.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// measure runs a benchmark and its clean-ups, and returns the error with which it stopped itself, or that of its context.
func (o *Out) measure(run func(*Out, []string), args []string) (err error) {
	defer func() {
		for _, f := range slices.Backward(o.cleanups) {
			f()
		}
	}()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stopped:
			err = r.error
		default:
			panic(r)
		}
	}()
	run(o, args)
	return o.ctx.Err()
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

// printRows prints the table of rows, unless they were printed as JSON already, and the notes.
func (o *Out) printRows() {
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
	run         func(o *Out, args []string)
}

// benchmarks are those of every system; launch_linux.go adds those of Linux.
var benchmarks = []benchmark{
	{"estimate", "back-test of the estimators; --traces DIR replays Nextflow traces, --history your own history", benchEstimate},
	{"estimates", "the constants of the estimators, fitted on all workflows but one and held against that one; --traces DIR has the Nextflow traces", benchEstimates},
	{"facts", "what sessions must not lose: how much of it survives a compaction, and many in a small window, against dropping and masking at the same tokens", benchFacts},
	{"fleet", "a simulation of 1,000 hosts and 100,000 agents: learned requests against the traces' own and against VPA's; --traces DIR has Nextflow traces (5 min)", fleetBench},
	{"loops", "loops of any agent: what is found in the requests of whole sessions, and what a look takes; --dir DIR has DIALECT-NAME.json each", benchLoops},
	{"memory", "search in memory: recall of the turns that answer a question; --locomo FILE, --beam DIR (data of others, read from there)", benchMemory},
	{"rate", "40 agents at a provider with strict rates: failures, use of what it allows, fairness; with us, without, and through LiteLLM", rateBench},
	{"spool", "the spool of results: write, page and search against cat and grep; --size 256M", benchSpool},
	{"stress", "what overwhelms Argo CD's servers, played against `plimsoll mcp argocd`: requests, times, memory, largest answer (1 min; --server, --context or --instance names a real Argo CD, which is only read; --simulator SIZE, --faults FAULTS, --queries N)", stressBench},
	{"tokens", "counting tokens (MB/s, allocations per MB) against tiktoken-go", benchTokens},
}

func main() {
	asJSON := flag.Bool("json", false, "print one JSON object a line")
	flag.Usage = printUsage
	flag.Parse()
	args := flag.Args()
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
		o := &Out{name: b.name, asJSON: *asJSON, w: os.Stdout, ctx: ctx}
		err := o.measure(b.run, args[1:])
		o.printRows()
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
	slices.SortFunc(benchmarks, func(a, b benchmark) int { return strings.Compare(a.name, b.name) })
	for _, b := range benchmarks {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", b.name, b.about)
	}
}

// argNumber returns the number in the first argument of a benchmark, or otherwise if there is none. Anything but a positive number stops
// the benchmark.
func argNumber(args []string, otherwise int) int {
	if len(args) == 0 {
		return otherwise
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		check(fmt.Errorf("%q is no positive number", args[0]))
	}
	return n
}

// build builds programs of this module into a folder that is removed at the end, and returns it. A failure stops the benchmark.
func (o *Out) build(packages ...string) (dir string) {
	dir = o.TempDir()
	build := exec.CommandContext(o.ctx, "go", "build", "-o", dir+"/")
	for _, p := range packages {
		build.Args = append(build.Args, "github.com/plimsoll/plimsoll/"+p)
	}
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	must(timed(build))
	return dir
}

// binary returns the program, built unless the environment names one: a machine without Go has one built elsewhere.
func (o *Out) binary() string {
	if binary := os.Getenv("PLIMSOLL_BENCH_BINARY"); binary != "" {
		return binary
	}
	return filepath.Join(o.build("cmd/plimsoll"), "plimsoll")
}

// A child is a process that is spoken with over its standard streams. Its input is its leash: it ends when that closes.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log bytes.Buffer // its standard error, where that goes nowhere else
}

// startChild starts a process with pipes for its standard input and output; its standard error is kept in c.log unless cmd has one.
func startChild(cmd *exec.Cmd) *child {
	c := &child{cmd: cmd}
	if cmd.Stderr == nil {
		cmd.Stderr = &c.log
	}
	c.in = must(cmd.StdinPipe())
	c.out = bufio.NewReaderSize(must(cmd.StdoutPipe()), 1<<20)
	check(cmd.Start())
	return c
}

func (c *child) stop() {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait()
}

// startRole starts this program again with other arguments, until the benchmark ends.
func (o *Out) startRole(args ...string) *child {
	cmd := exec.CommandContext(o.ctx, must(os.Executable()), args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it has folders to remove
	c := startChild(cmd)
	o.Cleanup(c.stop)
	return c
}

// post sends JSON.
func post(ctx context.Context, url string, header map[string]string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return postBytes(ctx, http.DefaultClient, url, header, text)
}

func postBytes(ctx context.Context, client *http.Client, url string, header map[string]string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return client.Do(r)
}
