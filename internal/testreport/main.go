// Command testreport reads what `go test -json` wrote and reports the outcome, for the
// gate: every failing test and package with all of its output, every skipped test with
// its reason, and one line of sums per file.
//
//	go test -json ./... >out.json; go run ./internal/testreport out.json
//
// A passing test's output is dropped. Lines that begin with "= " are the summary the
// gate keeps of a step that passed. A run in which no test passed is an error: it has
// checked nothing. With -bench the files hold rows of `./bench -json` instead, which must parse
// and not be empty.
//
// # A second run
//
// A test that fails once and then passes alone must not stop the gate, and must not hide in it. With -again the
// files are all those of one step, and what is printed is what to run a second time: a line for each package that
// names the file, the package and a pattern for -run, between tabs. Nothing is printed, and standard error
// says why, when a second run could cover up more than a test that is now and then too slow:
//
//   - a package that does not build, or fails though no test of it did;
//   - a test binary that did not come to its end: a panic, an exit, a timeout. What had not run by then
//     would never run;
//   - a data race: it was there, whether or not the next run meets it;
//   - more than five failed top-level tests in the step: that is no accident.
//
// What the second run of out.json wrote is expected in out.again.json. A top-level test that failed
// and then passed is told as flaky, with its first failure in full, and fails nothing; one that failed again, was
// skipped or is missing there fails the step.
//
//	go run ./internal/testreport -again out.json |
//		while IFS=$'\t' read -r file package tests; do go test -json -run "$tests" "$package" >>"${file%.json}.again.json"; done
//	go run ./internal/testreport out.json
//
// # What need not run a second time
//
// With -passed PACKAGE the answer is a pattern for -skip: the top-level tests of that package that passed, and of which no
// part was skipped. A later step that has more tools installed runs the others only.
//
// # Memory and tests
//
// Files are read as streams, twice; of each failing test at most 1 MiB of output is kept. The tests read
// streams that go test really wrote, in testdata/, and the reader of them is fuzzed.
package main

import (
	"flag"
	"os"
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
