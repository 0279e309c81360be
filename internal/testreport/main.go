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
