package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// put writes a file for the step in dir and returns its name.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	testfile.Write(t, name, text)
	return name
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	b := testfile.Read(t, filepath.Join("testdata", name+".json"))
	return string(b)
}

// failing is a package of n tests that fail.
func failing(pkg string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"Action":"start","Package":%q}`+"\n", pkg)
	for i := range n {
		for _, action := range []string{"run", "fail"} {
			fmt.Fprintf(&b, `{"Action":%q,"Package":%q,"Test":"Test%d"}`+"\n", action, pkg, i)
		}
	}
	fmt.Fprintf(&b, `{"Action":"output","Package":%q,"Output":"FAIL\n"}`+"\n"+`{"Action":"fail","Package":%q}`+"\n", pkg, pkg)
	return b.String()
}

func TestWhatMayRunAgain(t *testing.T) {
	const passed = `{"Action":"start","Package":"p"}` + "\n" + `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" +
		`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n"
	for name, c := range map[string]struct {
		files []string
		want  string // with FILE0 and so on for the names
		why   string // else
	}{
		"nothing failed":        {[]string{passed}, "", ""},
		"a subtest":             {[]string{recorded(t, "flaky")}, "FILE0\texample.com/rec/flaky\t^(TestSometimes)$\n", ""},
		"two packages":          {[]string{recorded(t, "flaky") + recorded(t, "steady")}, "FILE0\texample.com/rec/flaky\t^(TestSometimes)$\nFILE0\texample.com/rec/steady\t^(TestSometimes)$\n", ""},
		"two files":             {[]string{failing("p", 2), passed, failing("q", 1)}, "FILE0\tp\t^(Test0|Test1)$\nFILE2\tq\t^(Test0)$\n", ""},
		"five":                  {[]string{failing("p", 5)}, "FILE0\tp\t^(Test0|Test1|Test2|Test3|Test4)$\n", ""},
		"six":                   {[]string{failing("p", 6)}, "", "6 top-level tests failed, more than 5"},
		"six in two files":      {[]string{failing("p", 3), failing("q", 3)}, "", "6 top-level tests failed, more than 5"},
		"no build":              {[]string{recorded(t, "build")}, "", "does not build"},
		"no build, and a test":  {[]string{recorded(t, "flaky"), recorded(t, "build")}, "", "does not build"},
		"a race":                {[]string{recorded(t, "race")}, "", "data race in example.com/rec/race TestRaces"},
		"a race in a subtest":   {[]string{strings.ReplaceAll(recorded(t, "race"), `"Test":"TestRaces","Out`, `"Test":"TestRaces/x","Out`)}, "", "data race in example.com/rec/race TestRaces/x"},
		"a panic":               {[]string{recorded(t, "panics")}, "", "example.com/rec/panics TestOther did not come to its end"},
		"a panic of a subtest":  {[]string{recorded(t, "sub")}, "", "the tests of example.com/rec/sub broke off"},
		"the runtime's own":     {[]string{recorded(t, "fatal")}, "", "TestDeadlock did not come to its end"},
		"an exit":               {[]string{recorded(t, "exit0")}, "", "TestExits did not come to its end"},
		"a timeout":             {[]string{recorded(t, "timeout")}, "", "TestHangs did not come to its end"},
		"no test of it":         {[]string{recorded(t, "leak")}, "", "example.com/rec/leak failed, though no test of it did"},
		"cut off":               {[]string{failing("p", 1), strings.Join(strings.SplitAfter(passed, "\n")[:3], "")}, "", "p did not come to its end"},
		"cut off within a test": {[]string{strings.Join(strings.SplitAfter(recorded(t, "flaky"), "\n")[:4], "")}, "", "did not come to its end"},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			dir := t.TempDir()
			for i, text := range c.files {
				names = append(names, put(t, dir, fmt.Sprintf("%d.json", i), text))
			}
			var out, why strings.Builder
			good := printRerun(&out, &why, names)
			got := out.String()
			for i, name := range names {
				got = strings.ReplaceAll(got, name, fmt.Sprintf("FILE%d", i))
			}
			if good != (c.why == "") || got != c.want || !strings.Contains(why.String(), c.why) || c.why == "" && why.Len() > 0 {
				t.Errorf("%v: %q, and said: %q; want %q, %q", good, got, why.String(), c.want, c.why)
			}
		})
	}
	var out, why strings.Builder
	if printRerun(&out, &why, []string{filepath.Join(t.TempDir(), "none.json")}) || !strings.Contains(why.String(), "none.json") {
		t.Errorf("a file that is missing: %q, %q", out.String(), why.String())
	}
}

func TestTheSecondRunDecides(t *testing.T) {
	first, second := recorded(t, "flaky"), recorded(t, "flaky.again")
	const name = "example.com/rec/flaky TestSometimes"
	for what, c := range map[string]struct {
		second string
		beside string // a second file of the step
		good   bool
		want   []string
		not    string
	}{
		"passed": {second, "", true, []string{
			"= flaky: " + name + " passed on the second run; the first:\n=   --- FAIL example.com/rec/flaky TestSometimes/inner (0.0 s)\n",
			"=       a_test.go:8: got 1, want 2\n", "= skipped TestSkipped: no cgroup v2 here\n", "= tests: 1 passed, 0 failed, 1 skipped, 1 flaky\n",
		}, "\n--- FAIL"},
		"no second run":     {"", "", false, []string{"--- FAIL " + name, "3 failed"}, "flaky:"},
		"failed again":      {first, "", false, []string{"--- FAIL " + name, "the second run, alone:\n", "3 failed, and in the second run too"}, "flaky:"},
		"skipped then":      {strings.Replace(second, `"pass","Package":"example.com/rec/flaky","Test":"TestSometimes",`, `"skip","Package":"example.com/rec/flaky","Test":"TestSometimes",`, 1), "", false, []string{"--- FAIL " + name}, "flaky:"},
		"broke off then":    {second[:strings.LastIndex(second[:len(second)-1], "\n")+1], "", false, []string{"--- FAIL " + name}, "flaky:"},
		"a race then":       {second + `{"Action":"output","Package":"example.com/rec/flaky","Output":"WARNING: DATA RACE\n"}` + "\n", "", false, []string{"--- FAIL " + name}, "flaky:"},
		"another test then": {strings.ReplaceAll(second, "TestSometimes", "TestSteady"), "", false, []string{"--- FAIL " + name}, "flaky:"},
		"too many beside":   {second, failing("p", 5), false, []string{"--- FAIL " + name}, "flaky:"},
		"no build beside":   {second, recorded(t, "build"), false, []string{"--- FAIL " + name}, "flaky:"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			names := []string{put(t, dir, "test.json", first)}
			if c.second != "" {
				put(t, dir, "test.again.json", c.second)
			}
			if c.beside != "" {
				names = append(names, put(t, dir, "beside.json", c.beside))
			}
			var out strings.Builder
			if good := report(&out, names); good != c.good {
				t.Errorf("passed: %v, want %v: %s", good, c.good, out.String())
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing: %s", want, out.String())
				}
			}
			if strings.Contains(out.String(), c.not) {
				t.Errorf("it says %q: %s", c.not, out.String())
			}
		})
	}
}

// Of two tests that failed one passes: the other one stands, and so does its package.
func TestOneFlakyTestExcusesNoOther(t *testing.T) {
	dir := t.TempDir()
	name := put(t, dir, "test.json", failing("p", 2))
	second := failing("p", 2)
	put(t, dir, "test.again.json", strings.Replace(second, `"fail","Package":"p","Test":"Test0"`, `"pass","Package":"p","Test":"Test0"`, 1))
	var out strings.Builder
	if report(&out, []string{name}) {
		t.Error("passed")
	}
	for _, want := range []string{"= flaky: p Test0 passed", "--- FAIL p Test1", "--- FAIL p  (0.0 s)", "= tests: 0 passed, 2 failed, 0 skipped, 1 flaky", "and in the second run too"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing: %s", want, out.String())
		}
	}
}

func TestAFileThatBreaksOffHasNotPassed(t *testing.T) {
	text := recorded(t, "leak")
	name := put(t, t.TempDir(), "test.json", text[:strings.LastIndex(text[:len(text)-1], "\n")+1])
	var out strings.Builder
	if report(&out, []string{name}) || !strings.Contains(out.String(), "example.com/rec/leak did not come to its end") {
		t.Error(out.String())
	}
}

func FuzzStream(f *testing.F) {
	for _, name := range []string{"flaky", "flaky.again", "sub", "build"} {
		b := testfile.Read(f, filepath.Join("testdata", name+".json"))
		f.Add(string(b))
	}
	f.Add(`{"Action":"fail","Package":"p","Test":"/"}` + "\n[]\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := surveyOf(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.reasons) > maxReasons || len(s.rerunPatterns()) > len(s.failed) {
			t.Errorf("%+v", s)
		}
		flaky := map[key]bool{}
		for _, k := range s.failed {
			flaky[k] = true
		}
		var out strings.Builder
		if reportTests(&out, strings.NewReader(text), nil) == nil && len(s.failed) > 0 {
			t.Errorf("passed, with %v failed", s.failed)
		}
		out.Reset()
		if reportTests(&out, strings.NewReader(text), flaky); strings.Count("\n"+out.String(), "\n= flaky: ") < len(flaky) {
			t.Errorf("%v failed and passed then, which is not told: %s", s.failed, out.String())
		}
	})
}
