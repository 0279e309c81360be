package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

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
	err = events(f, func(e event) {
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
