// Command testreport reads what `go test -json` wrote and reports the outcome, for the gate: every failing test and package with all of its
// output, every skipped test with its reason, and one line of sums per file.
//
//	go test -json ./... >out.json; go run ./internal/testreport out.json
//	go run ./internal/testreport -again out.json        # what to run a second time, into out.again.json: see printRerun
//	go run ./internal/testreport -passed PACKAGE FILES  # a pattern for -skip, for a later step with more tools: see printPassed
//
// Lines that begin with "= " are the summary the gate keeps of a step that passed. A run in which no test passed is an error: it has checked
// nothing. With -bench the files hold rows of `./bench -json` instead, which must parse and not be empty.
//
// Files are read as streams, twice; of each failing test at most 1 MiB of output is kept.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	bench := flag.Bool("bench", false, "the files hold the JSON of a benchmark")
	again := flag.Bool("again", false, "print what to run a second time: lines of FILE, PACKAGE and a pattern for -run, between tabs")
	passed := flag.String("passed", "", "print a pattern for -skip: the tests of this `package` that passed whole")
	flag.Parse()
	var ok bool
	switch {
	case *bench:
		ok = figuresOf(os.Stdout, flag.Args())
	case *passed != "":
		ok = printPassed(os.Stdout, os.Stderr, *passed, flag.Args())
	case *again:
		ok = printRerun(os.Stdout, os.Stderr, flag.Args())
	default:
		ok = report(os.Stdout, flag.Args())
	}
	if !ok {
		os.Exit(1)
	}
}

// printRerun writes what to run a second time, and to why, why it may not be; false: some file could not be read, or something failed that
// must not be run again. A test that fails once and then passes alone must not stop the gate, and must not hide in it. Each line names the
// file, the package and a pattern for -run, between tabs:
//
//	go run ./internal/testreport -again out.json |
//		while IFS=$'\t' read -r file package tests; do go test -json -run "$tests" "$package" >>"${file%.json}.again.json"; done
//	go run ./internal/testreport out.json
//
// Nothing is written when a second run could cover up more than a test that is now and then too slow: a package that does not build or fails
// though no test of it did, a test binary that did not come to its end, a data race, or more than five failed top-level tests. A test that
// failed and then passed is told as flaky, with its first failure in full; one that failed again, was skipped or is missing fails the step.
func printRerun(w, why io.Writer, names []string) bool {
	var step []*failureSurvey
	good := true
	for _, name := range names {
		s, err := surveyFile(name)
		if err != nil {
			fmt.Fprintf(why, "outcome: %v\n", err)
			good = false
			continue
		}
		step = append(step, s)
	}
	if !good {
		return false
	}
	if reasons := whyNoRerun(step); len(reasons) > 0 {
		fmt.Fprintf(why, "outcome: no second run: %s\n", strings.Join(reasons, "; "))
		return false
	}
	for _, s := range step {
		for _, line := range s.rerunPatterns() {
			fmt.Fprintf(w, "%s\t%s\n", s.file, line)
		}
	}
	return true
}

// rerunPatterns returns a line for each package with failed tests: the package and a pattern of them.
func (s *failureSurvey) rerunPatterns() []string {
	var packages []string
	tests := map[string][]string{}
	for _, k := range s.failed {
		if !slices.Contains(packages, k.pkg) {
			packages = append(packages, k.pkg)
		}
		tests[k.pkg] = append(tests[k.pkg], regexp.QuoteMeta(k.test))
	}
	var lines []string
	for _, p := range packages {
		lines = append(lines, p+"\t^("+strings.Join(tests[p], "|")+")$")
	}
	return lines
}

// rerunFile returns the name of the file of the second run of a file.
func rerunFile(name string) string { return strings.TrimSuffix(name, ".json") + ".again.json" }

// printPassed writes a pattern for -skip: the top-level tests of pkg that passed in the files, and of which no part was
// skipped. It writes nothing when there is none: an empty -skip leaves out nothing.
func printPassed(w, why io.Writer, pkg string, names []string) bool {
	passed, partly := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		if err := passedIn(name, pkg, passed, partly); err != nil {
			fmt.Fprintf(why, "outcome: %v\n", err)
			return false
		}
	}
	var whole []string
	for test := range passed {
		if !partly[test] {
			whole = append(whole, regexp.QuoteMeta(test))
		}
	}
	if len(whole) > 0 {
		slices.Sort(whole)
		fmt.Fprintf(w, "^(%s)$\n", strings.Join(whole, "|"))
	}
	return true
}

// passedIn adds the top-level tests of pkg that passed to passed, and those that failed or of which a part was
// skipped to partly.
func passedIn(name, pkg string, passed, partly map[string]bool) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = eachEvent(f, func(e event) {
		if e.Package != pkg || e.Test == "" {
			return
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "pass":
			if k == k.top() {
				passed[k.test] = true
			}
		case "skip", "fail":
			partly[k.top().test] = true
		}
	}, func(string) {})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
