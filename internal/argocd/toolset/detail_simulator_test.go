package toolset_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

// Every tool for details, against a server that answers as Argo CD does: an answer or an
// error that the server gave, short, and JSON where it is no log.
func TestDetailsAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	set, _ := simulated(t, simulator.Options{Applications: 40, Projects: 10, ApplicationSets: 10, Clusters: 5}, toolset.Options{})
	run := caller(set)
	first := func(tool string) string {
		t.Helper()
		var list struct {
			Items []struct{ Name, Server string }
		}
		if err := json.Unmarshal([]byte(run(t, tool, `{}`)), &list); err != nil || len(list.Items) == 0 {
			t.Fatalf("%s: %v", tool, err)
		}
		if tool == "cluster_service__list" {
			return list.Items[0].Server
		}
		return list.Items[0].Name
	}
	app, project, appset, cluster := first("list_applications"), first("project_list"), first("applicationset_list"), first("cluster_service__list")
	var tree treePage
	for _, call := range [][2]string{
		{"get_application_details", `{"name":"` + app + `"}`},
		{"get_application_resource_tree", `{"name":"` + app + `"}`},
		{"get_application_managed_resources", `{"name":"` + app + `"}`},
		{"application_service__list_resource_events", `{"name":"` + app + `"}`},
		{"application_service__list_links", `{"name":"` + app + `"}`},
		{"get_application_sync_windows", `{"name":"` + app + `"}`},
		{"get_application_history", `{"name":"` + app + `"}`},
		{"applicationset_service__get", `{"name":"` + appset + `"}`},
		{"application_set_service__generate", `{"name":"` + appset + `"}`},
		{"project_get", `{"name":"` + project + `"}`},
		{"cluster_service__get", `{"cluster":"` + cluster + `"}`},
		{"repository_list", `{}`},
		{"certificate_service__list_certificates", `{}`},
		{"account_service__can_i", `{"resource":"applications","action":"get","subresource":"*"}`},
		{"account_service__can_i", `{"resource":"applications","action":"sync","subresource":"default/some-app"}`},
		{"version_service__version", `{}`},
	} {
		text := run(t, call[0], call[1])
		holdsToBounds(t, call[0], text)
		if !json.Valid([]byte(text)) {
			t.Errorf("%s: %.300s", call[0], text)
		}
		if call[0] == "get_application_resource_tree" {
			if err := json.Unmarshal([]byte(text), &tree); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(tree.Items) == 0 {
		t.Fatal("the application has no resources")
	}
	r := tree.Items[0]
	kind := r.Kind[strings.LastIndexByte(r.Kind, '/')+1:]
	manifest := run(t, "get_resource", `{"name":"`+app+`","kind":"`+kind+`","resource_name":"`+r.Name+`"}`)
	if !strings.Contains(manifest, r.Name) {
		t.Errorf("%.300s", manifest)
	}
	run(t, "list_resource_actions", `{"name":"`+app+`","kind":"`+kind+`","resource_name":"`+r.Name+`"}`)
	if text, failed := callTool(t, set, nil, "application_service__pod_logs", `{"name":"`+app+`","tail_lines":5}`); failed && !strings.Contains(text, "granular") || text == "" {
		t.Errorf("logs: %q", text)
	}
}
