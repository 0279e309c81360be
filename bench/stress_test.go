package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
)

// The Argo CD server holds against what overwhelms others; and where it does not, as with a named Argo CD whose lists break off, that is
// found.
func TestStress(t *testing.T) {
	built := &Out{ctx: t.Context()}
	t.Cleanup(func() { _ = built.measure(func(*Out, []string) {}, nil) }) // which cleans up
	t.Setenv("PLIMSOLL_BENCH_BINARY", built.binary())
	t.Setenv("PLIMSOLL_STATE_DIR", t.TempDir())
	t.Setenv("PLIMSOLL_CACHE_DIR", t.TempDir())
	named, err := mcp.Simulate(t.Context(), mcp.SimulatorOptions{Size: "50", Faults: "cut=9000"})
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	t.Setenv("ARGOCD_AUTH_TOKEN", named.Token)
	for name, c := range map[string]struct {
		args  []string
		fails string
	}{
		"simulated": {args: []string{"--queries", "10"}},
		"named":     {args: []string{"--queries", "10", "--server", named.URL}, fails: "broke off"},
	} {
		var text bytes.Buffer
		o := &Out{name: "stress", asJSON: true, w: &text, ctx: t.Context()}
		err := o.measure(stressBench, c.args)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want an error with %q", name, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cases := map[string]bool{}
		for dec := json.NewDecoder(&text); dec.More(); {
			var r Row
			if err := dec.Decode(&r); err != nil {
				t.Fatal(err)
			}
			cases[r.Case] = true
			measured := runtime.GOOS == "linux" || r.Metric != "peak RssAnon"
			if r.Metric == "requests" && r.Value == 0 || r.Metric == "errors" && r.Value != 0 || r.Metric == "largest answer" && r.Value > 12_500 ||
				r.Metric == "peak RssAnon" && (measured && r.Value == 0 || r.Value > float64(stressMemory)) {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if len(cases) < 10 {
			t.Errorf("%s: %d cases", name, len(cases))
		}
	}
}
