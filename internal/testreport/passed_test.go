package main

import (
	"strings"
	"testing"
)

func TestPassedLeavesOutWhatWasSkippedInPart(t *testing.T) {
	line := func(action, pkg, test string) string {
		return `{"Action":"` + action + `","Package":"` + pkg + `","Test":"` + test + `"}` + "\n"
	}
	all := line("pass", "p", "TestWhole") + line("pass", "p", "TestWhole/sub") +
		line("skip", "p", "TestPart/sub") + line("pass", "p", "TestPart") +
		line("skip", "p", "TestNone") + line("fail", "p", "TestBad") + line("pass", "q", "TestOther")
	for name, c := range map[string]struct{ in, want string }{
		"whole ones of this package":    {all, "^(TestWhole)$\n"},
		"none":                          {line("skip", "p", "TestNone"), ""},
		"passed once and failed before": {line("fail", "p", "TestA") + line("pass", "p", "TestA"), ""},
		"sorted":                        {line("pass", "p", "TestB") + line("pass", "p", "TestA"), "^(TestA|TestB)$\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, why strings.Builder
			if !printPassed(&out, &why, "p", []string{put(t, t.TempDir(), "out.json", c.in)}) {
				t.Fatal(why.String())
			}
			if out.String() != c.want {
				t.Errorf("wrote %q, want %q", out.String(), c.want)
			}
		})
	}
	var out, why strings.Builder
	if printPassed(&out, &why, "p", []string{"missing.json"}) || out.Len() > 0 {
		t.Errorf("a file that is not there: wrote %q", out.String())
	}
}
