// Command outcome reads what `go test -json` wrote and says what came of it, for the
// gate: every failing test and package with all of its output, every skipped test with
// its reason, and one line of sums per file.
//
//	go test -json ./... >out.json; go run ./internal/outcome out.json
//
// A passing test's output is dropped. Lines that begin with "= " are the summary the
// gate keeps of a step that passed. A run in which no test passed is an error: it has
// checked nothing. With -bench the files hold rows of `./bench -json` instead, which must parse
// and not be empty.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// maxOutput bounds what is kept of one test's output, in bytes.
const maxOutput = 1 << 20

func main() {
	bench := flag.Bool("bench", false, "the files hold the JSON of a benchmark")
	flag.Parse()
	judge := tests
	if *bench {
		judge = figures
	}
	status := 0
	for _, name := range flag.Args() {
		f, err := os.Open(name)
		if err == nil {
			err = judge(os.Stdout, f)
			f.Close()
		}
		if err != nil {
			fmt.Printf("%s: %v\n", name, err)
			status = 1
		}
	}
	os.Exit(status)
}

// event is a line of go test -json, as `go doc cmd/test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// tests reports on the events in r; the error says that a test failed, or that none ran.
func tests(w io.Writer, r io.Reader) error {
	type key struct{ pkg, test string }
	output := map[key]*strings.Builder{}
	count := map[string]int{}
	skipped := map[string][]string{} // reason to tests
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(w, line) // the go command also writes plain words there
				continue
			}
			k := key{e.Package, e.Test}
			switch e.Action {
			case "output", "build-output":
				b := output[k]
				if b == nil {
					b = new(strings.Builder)
					output[k] = b
				}
				if b.Len() < maxOutput {
					b.WriteString(e.Output)
				}
			case "fail", "build-fail":
				count["fail"]++
				fmt.Fprintf(w, "--- FAIL %s %s (%.1f s)\n", e.Package, e.Test, e.Elapsed)
				if b := output[k]; b != nil {
					fmt.Fprint(w, b)
				}
				delete(output, k)
			case "pass", "skip":
				if e.Test != "" {
					count[e.Action]++
				}
				if b := output[k]; b != nil && e.Action == "skip" && e.Test != "" {
					why := reason(b.String())
					skipped[why] = append(skipped[why], e.Test)
				}
				delete(output, k)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		names := skipped[why]
		more := ""
		if len(names) > 3 {
			names, more = names[:3], fmt.Sprintf(" and %d more", len(skipped[why])-3)
		}
		fmt.Fprintf(w, "= skipped %s%s: %s\n", strings.Join(names, ", "), more, why)
	}
	fmt.Fprintf(w, "= tests: %d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	switch {
	case count["fail"] > 0:
		return fmt.Errorf("%d failed", count["fail"])
	case count["pass"] == 0:
		return errors.New("no test passed: nothing was checked")
	}
	return nil
}

// reason is what a skipped test said: its last line that is not the framework's own.
func reason(output string) string {
	why := "no reason given"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		// "file_test.go:12: reason"
		if _, words, ok := strings.Cut(line, ": "); ok && strings.Contains(line, "_test.go:") {
			line = words
		}
		why = line
	}
	return why
}

// figures checks that r holds JSON objects that name what they measured, and prints each
// in one line.
func figures(w io.Writer, r io.Reader) error {
	dec := json.NewDecoder(r)
	for n := 0; ; n++ {
		var row struct {
			Bench, Case, Metric, Unit string
			Value                     float64
		}
		if err := dec.Decode(&row); errors.Is(err, io.EOF) {
			if n == 0 {
				return errors.New("empty: nothing was measured")
			}
			return nil
		} else if err != nil {
			return fmt.Errorf("row %d is not the JSON that bench promises: %w", n+1, err)
		}
		if row.Bench == "" || row.Case == "" || row.Metric == "" {
			return fmt.Errorf("row %d does not say what it measured: %+v", n+1, row)
		}
		fmt.Fprintf(w, "= %s, %s: %s %.3g %s\n", row.Bench, row.Case, row.Metric, row.Value, row.Unit)
	}
}
