package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

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
	if reasons := allowed(step); len(reasons) > 0 {
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
