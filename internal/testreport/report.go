package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxOutput bounds what is kept of one test's output, in bytes.
const maxOutput = 1 << 20

// report prints the outcome of a step: of its files, and of those that were run a second time. It returns false if the step has failed.
func report(w io.Writer, names []string) bool {
	var step []*failureSurvey
	for _, name := range names {
		if s, err := surveyFile(name); err == nil { // else it is told below
			step = append(step, s)
		}
	}
	reasons := whyNoRerun(step)
	good := true
	for _, name := range names {
		if len(names) > 1 {
			fmt.Fprintf(w, "= %s\n", strings.TrimSuffix(filepath.Base(name), ".json"))
		}
		if err := reportFile(w, name, reasons); err != nil {
			fmt.Fprintf(w, "%s: %v\n", name, err)
			good = false
		}
	}
	return good
}

// reportFile prints the outcome of one file; reasons are why the step's failures must not be run again.
func reportFile(w io.Writer, name string, reasons []string) error {
	first, err := surveyFile(name)
	if err != nil {
		return err
	}
	second, err := surveyFile(rerunFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		second, err = nil, nil
	}
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	flaky := map[key]bool{}
	if second != nil && len(reasons) == 0 && len(second.reasons) == 0 {
		for _, k := range first.failed {
			flaky[k] = second.ended[k] == "pass"
		}
	}
	err = reportTests(w, f, flaky)
	if err == nil && len(first.unended) > 0 {
		err = fmt.Errorf("%v did not come to its end", first.unended[0])
	}
	if err == nil || second == nil {
		return err
	}
	fmt.Fprintln(w, "the second run, alone:")
	g, openErr := os.Open(rerunFile(name))
	if openErr != nil {
		return openErr
	}
	defer g.Close()
	if reportTests(w, g, nil) != nil {
		err = fmt.Errorf("%w, and in the second run too", err)
	}
	return err
}

// reportTests prints a report on the events in r. The error says that a test failed, or that none ran. flaky are the tests that failed here
// and passed when they were run again.
func reportTests(w io.Writer, r io.Reader, flaky map[key]bool) error {
	output := map[key]*strings.Builder{}
	excused := map[key]*strings.Builder{} // what failed of a flaky test, and of its package
	count := map[string]int{}
	stands := map[string]bool{}      // packages with a failure that is not excused
	skipped := map[string][]string{} // reason to tests
	err := eachEvent(r, func(e event) {
		k := key{e.Package, e.Test}
		switch e.Action {
		case "output", "build-output":
			appendOutput(output, k, e.Output)
		case "fail", "build-fail":
			text := fmt.Sprintf("--- FAIL %s %s (%.1f s)\n", e.Package, e.Test, e.Elapsed)
			if b := output[k]; b != nil {
				text += b.String()
			}
			delete(output, k)
			switch {
			case flaky[k.top()]:
				appendOutput(excused, k.top(), text)
				if k == k.top() {
					count["flaky"]++
					fmt.Fprintf(w, "= flaky: %v passed on the second run; the first:\n", k)
					for line := range strings.Lines(excused[k].String()) {
						fmt.Fprintf(w, "=   %s\n", strings.TrimRight(line, "\r\n"))
					}
					delete(excused, k)
				}
			case e.Test == "" && !stands[e.Package] && hasPackage(flaky, e.Package):
			default:
				count["fail"]++
				stands[e.Package] = true
				fmt.Fprint(w, text)
			}
		case "pass", "skip":
			if e.Test != "" {
				count[e.Action]++
			}
			if b := output[k]; b != nil && e.Action == "skip" && e.Test != "" {
				why := skipReason(b.String())
				skipped[why] = append(skipped[why], e.Test)
			}
			delete(output, k)
		}
	}, func(line string) { fmt.Fprint(w, line) })
	if err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		names := skipped[why]
		more := ""
		if len(names) > 3 {
			names, more = names[:3], fmt.Sprintf(" and %d more", len(skipped[why])-3)
		}
		fmt.Fprintf(w, "= skipped %s%s: %s\n", strings.Join(names, ", "), more, why)
	}
	sums := fmt.Sprintf("= tests: %d passed, %d failed, %d skipped", count["pass"], count["fail"], count["skip"])
	if count["flaky"] > 0 {
		sums += fmt.Sprintf(", %d flaky", count["flaky"])
	}
	fmt.Fprintln(w, sums)
	switch {
	case count["fail"] > 0:
		return fmt.Errorf("%d failed", count["fail"])
	case count["pass"]+count["flaky"] == 0:
		return errors.New("no test passed: nothing was checked")
	}
	return nil
}

// appendOutput adds text to the output of a test, unless that has maxOutput bytes already.
func appendOutput(output map[key]*strings.Builder, k key, text string) {
	b := output[k]
	if b == nil {
		b = new(strings.Builder)
		output[k] = b
	}
	if b.Len() < maxOutput {
		b.WriteString(text)
	}
}

// hasPackage reports whether a flaky test is of the package.
func hasPackage(flaky map[key]bool, pkg string) bool {
	for k, yes := range flaky {
		if yes && k.pkg == pkg {
			return true
		}
	}
	return false
}

// skipReason returns the reason of a skipped test: its last line that is not the framework's own.
func skipReason(output string) string {
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

// figuresOf checks the files and prints their rows; false: not all of them are what they should be.
func figuresOf(w io.Writer, names []string) bool {
	good := true
	for _, name := range names {
		f, err := os.Open(name)
		if err == nil {
			err = reportFigures(w, f)
			f.Close()
		}
		if err != nil {
			fmt.Fprintf(w, "%s: %v\n", name, err)
			good = false
		}
	}
	return good
}

// reportFigures checks that r has JSON objects that name what they measured, and prints each in one line.
func reportFigures(w io.Writer, r io.Reader) error {
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
