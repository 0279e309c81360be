package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/limit"
)

// What agents in a cluster ask for stands beside what their tools have shown to need, and as a patch.
func TestRecommend(t *testing.T) {
	container := func(tool string) string {
		return `{"spec": {"containers": [{"name": "agent", "command": ["/plimsoll-bin/plimsoll", "run", "--", "` + tool + `"], "resources": {"requests": {"memory": "4Gi"}}}]}}`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/apps/v1/namespaces/agents/deployments":
			fmt.Fprintf(w, `{"items": [{"metadata": {"name": "reviewer"}, "spec": {"template": %s}}, {"metadata": {"name": "new"}, "spec": {"template": %s}}]}`, container("reviewer"), container("unheard-of"))
		case "/apis/batch/v1/namespaces/agents/cronjobs":
			fmt.Fprintf(w, `{"items": [{"metadata": {"name": "nightly"}, "spec": {"jobTemplate": {"spec": {"template": %s}}}}]}`, container("reviewer"))
		case "/apis/extensions.agents.x-k8s.io":
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = io.WriteString(w, `{"items": []}`)
		}
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("current-context: lab\ncontexts: [{name: lab, context: {cluster: c, namespace: agents}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", server.URL)
	testfile.Write(t, config, text)
	t.Setenv("KUBECONFIG", config)
	f := newFixture(t)
	f.record(t, f.project, "reviewer", 700*limit.MiB, 800*limit.MiB, 750*limit.MiB, 800*limit.MiB)

	table := output(t, newRecommendCommand(f.open), "--on", "kubernetes")
	for _, want := range []string{"Deployment  reviewer  reviewer", "CronJob ", "4 GiB", "No run of unheard-of has shown a need here; plimsoll stats unheard-of --all"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
	var rows []struct {
		Name     string      `json:"name"`
		Request  limit.Bytes `json:"request_bytes"`
		Learned  limit.Bytes `json:"learned_request_bytes"`
		Most     limit.Bytes `json:"learned_limit_bytes"`
		Samples  int         `json:"samples"`
		Patching any         `json:"patch"`
	}
	if err := json.Unmarshal([]byte(output(t, newRecommendCommand(f.open), "--json")), &rows); err != nil || len(rows) != 3 {
		t.Fatalf("%v: %+v", err, rows)
	}
	for _, r := range rows {
		learned := r.Samples == 4 && r.Learned >= 800*limit.MiB && r.Learned < 2*limit.GiB && r.Most > r.Learned && r.Patching != nil
		if r.Request != 4*limit.GiB || learned != (r.Name != "new") || r.Name == "new" && (r.Learned != 0 || r.Patching != nil) {
			t.Errorf("%+v", r)
		}
	}
	patches := output(t, newRecommendCommand(f.open), "--format", "patch", "nightly")
	var patch struct {
		Kind string
		Spec struct {
			JobTemplate struct{ Spec struct{ Template any } } `yaml:"jobTemplate"`
		}
	}
	if err := yaml.Unmarshal([]byte(patches), &patch); err != nil || patch.Kind != "CronJob" || patch.Spec.JobTemplate.Spec.Template == nil {
		t.Errorf("%v, %+v of\n%s", err, patch, patches)
	}
	for args, want := range map[string]string{
		"gone": `nothing of the name "gone" in namespace agents`, "--on slurm": "plimsoll stats TOOL --format slurm", "--format xml": "there are text, json, patch",
		"--context elsewhere": `no context "elsewhere"; there is lab`,
	} {
		cmd := newRecommendCommand(f.open)
		cmd.SetArgs(strings.Fields(args))
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
