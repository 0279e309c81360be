package main

import (
	"strings"
	"testing"
)

func TestTests(t *testing.T) {
	const (
		pass = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
		skip = `{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:3: no cgroup v2 here\n"}` + "\n" +
			`{"Action":"skip","Package":"p","Test":"TestB"}` + "\n"
		fail = `{"Action":"output","Package":"p","Test":"TestC","Output":"got 1, want 2\n"}` + "\n" +
			`{"Action":"fail","Package":"p","Test":"TestC"}` + "\n"
	)
	for _, c := range []struct{ name, in, want, err string }{
		{"passing output is dropped", `{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}` + "\n" + pass, "= tests: 1 passed, 0 failed, 0 skipped\n", ""},
		{"a skip tells why", pass + skip, "= skipped TestB: no cgroup v2 here\n= tests: 1 passed, 0 failed, 1 skipped\n", ""},
		{"a failure tells all", pass + fail, "--- FAIL p TestC (0.0 s)\ngot 1, want 2\n= tests: 1 passed, 1 failed, 0 skipped\n", "1 failed"},
		{"only skips check nothing", skip, "= skipped TestB: no cgroup v2 here\n= tests: 0 passed, 0 failed, 1 skipped\n", "nothing was checked"},
		{"cut off", pass + `{"Action":"pa`, `{"Action":"pa= tests: 1 passed, 0 failed, 0 skipped` + "\n", ""},
		{"empty", "", "= tests: 0 passed, 0 failed, 0 skipped\n", "nothing was checked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := reportTests(&out, strings.NewReader(c.in), nil)
			if out.String() != c.want {
				t.Errorf("wrote %q, want %q", out.String(), c.want)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	const row = `{"bench":"launch","case":"bare","metric":"median","value":0.891,"unit":"ms"}` + "\n"
	for in, want := range map[string]string{
		row:             "= launch, bare: median 0.891 ms\n",
		row + row:       "= launch, bare: median 0.891 ms\n= launch, bare: median 0.891 ms\n",
		"":              "",
		"{}":            "",
		"[]":            "",
		row[:20]:        "",
		"layer missing": "",
	} {
		var out strings.Builder
		err := reportFigures(&out, strings.NewReader(in))
		if (err == nil) != (want != "") || want != "" && out.String() != want {
			t.Errorf("%q: %v, wrote %q, want %q", in, err, out.String(), want)
		}
	}
}
