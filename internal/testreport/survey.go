package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// failureSurvey lists the failures in a file, without their output.
type failureSurvey struct {
	file    string
	failed  []key          // top-level tests, in the order in which they ended
	ended   map[key]string // action that ended a top-level test, or a package
	unended []key          // tests and packages that began and did not end
	reasons []string       // why nothing of it may be run again
}

// maxReasons bounds the reasons that are told; one is enough to act on.
const maxReasons = 5

// maxFailed is the number of top-level tests of a step that may fail and be run again.
const maxFailed = 5

func surveyFile(name string) (*failureSurvey, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := surveyOf(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.file = name
	return s, nil
}

// surveyOf reads the events of a test run: which tests failed, and whether something failed that must not be run again.
func surveyOf(r io.Reader) (*failureSurvey, error) {
	s := &failureSurvey{ended: map[key]string{}}
	var (
		begun  []key // tests and packages, in order
		seen   = map[key]bool{}
		toEnd  = map[string]bool{} // packages whose tests ran to the end and failed
		failed = map[string]int{}  // tests by package
	)
	err := eachEvent(r, func(e event) {
		k := key{e.Package, e.Test}
		if k != k.top() {
			if strings.Contains(e.Output, dataRace) {
				s.forbidRerun("data race in %v", k)
			}
			return
		}
		switch e.Action {
		case "start", "run":
			if !seen[k] {
				seen[k] = true
				begun = append(begun, k)
			}
		case "output", "build-output":
			if strings.Contains(e.Output, dataRace) {
				s.forbidRerun("data race in %v", k)
			}
			if e.Test == "" && e.Output == "FAIL\n" { // package testing, at the very end
				toEnd[e.Package] = true
			}
		case "build-fail":
			s.forbidRerun("a package does not build")
		case "pass", "fail", "skip":
			if e.Action == "fail" && e.Test != "" {
				failed[e.Package]++
				s.failed = append(s.failed, k)
			}
			s.ended[k] = e.Action
		}
	}, func(string) {})
	if err != nil {
		return nil, err
	}
	for _, k := range begun {
		switch action, ended := s.ended[k]; {
		case !ended:
			s.unended = append(s.unended, k)
			s.forbidRerun("%v did not come to its end", k)
		case k.test == "" && action == "fail" && failed[k.pkg] == 0:
			s.forbidRerun("%v failed, though no test of it did", k)
		case k.test == "" && action == "fail" && !toEnd[k.pkg]:
			s.forbidRerun("the tests of %v broke off", k)
		}
	}
	return s, nil
}

// dataRace is the line that the race detector writes above each report.
const dataRace = "WARNING: DATA RACE"

func (s *failureSurvey) forbidRerun(format string, args ...any) {
	if reason := fmt.Sprintf(format, args...); len(s.reasons) < maxReasons && !slices.Contains(s.reasons, reason) {
		s.reasons = append(s.reasons, reason)
	}
}

// whyNoRerun returns the reasons why the failures of a step may not be run again; none if they may.
func whyNoRerun(step []*failureSurvey) (reasons []string) {
	failed := 0
	for _, s := range step {
		failed += len(s.failed)
		for _, reason := range s.reasons {
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	if failed > maxFailed {
		reasons = append(reasons, fmt.Sprintf("%d top-level tests failed, more than %d", failed, maxFailed))
	}
	return reasons
}

// event is a line of go test -json, as `go doc cmd/test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// key names a test, or with an empty test a package.
type key struct{ pkg, test string }

// top returns the top-level test that k belongs to.
func (k key) top() key {
	k.test, _, _ = strings.Cut(k.test, "/")
	return k
}

func (k key) String() string { return strings.TrimSpace(k.pkg + " " + k.test) }

// eachEvent calls each for every event of r, and plain for every other line, since the go command writes plain text there too.
func eachEvent(r io.Reader, each func(event), plain func(line string)) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				plain(line)
			} else {
				each(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
