package stress_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/stress"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// TestTheToolsStandIt plays the cases against the tools, over a simulated installation. It
// is a small one with a limit to match: the cases are the same, and each reading is short.
func TestTheToolsStandIt(t *testing.T) {
	t.Parallel()
	const matches = 70
	sim, err := simulator.New(simulator.Options{Applications: 60, Projects: 25, ApplicationSets: 25, Clusters: 3})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	client, err := argocd.New(argocd.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	set, err := toolset.New(toolset.Options{Instances: []*argocd.Client{client}, Inventory: inventory.Options{Dir: t.TempDir(), MaxMatches: matches}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	tools := map[string]builtin.Tool{}
	for _, tool := range set.Tools() {
		tools[tool.Name] = tool
	}
	report, err := stress.Run(t.Context(), stress.Target{
		Call: func(ctx context.Context, name string, args map[string]any) (stress.Answer, error) {
			raw, err := json.Marshal(args)
			if err != nil {
				return stress.Answer{}, err
			}
			r, err := tools[name].Run(ctx, &builtin.Call{Tool: name, Arguments: raw, Progress: func(float64, float64, string) {}})
			if err != nil {
				return stress.Answer{Text: err.Error(), IsError: true}, nil // as the protocol gives it
			}
			text := r.Text
			if r.Stream != nil {
				var b strings.Builder
				if err := r.Stream(ctx, &b); err != nil {
					return stress.Answer{}, err
				}
				text = b.String()
			}
			return stress.Answer{Text: text, IsError: r.IsError}, nil
		},
	}, stress.Options{Queries: 10, MaxPages: 4, MaxMatches: matches})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Rows {
		if !r.OK || r.Skipped || r.MaxResponse > 10_000 {
			t.Errorf("%+v", r)
		}
		t.Logf("%+v", r)
	}
	if len(report.Rows) != 10 {
		t.Errorf("%d cases", len(report.Rows))
	}
}
