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
			err := tests(&out, strings.NewReader(c.in))
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
	for in, ok := range map[string]bool{
		`[{"name":"launch","ms":1.5}]`: true,
		`[]`:                           false,
		`{}`:                           false,
		`[{"name":`:                    false,
	} {
		if err := figures(new(strings.Builder), strings.NewReader(in)); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}
