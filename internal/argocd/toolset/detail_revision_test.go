package toolset_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What a revision would change is compared with the cluster, resource by resource, and nothing is deployed.
func TestDifferencesAtARevision(t *testing.T) {
	t.Parallel()
	object := func(version, kind, namespace, name, more string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q%s}%s}`, version, kind, name, namespace, more)
	}
	in := `,"namespace":"shop"`
	list := func(of ...string) string { text, _ := json.Marshal(of); return string(text) }
	live := func(group, kind, namespace, name, state string) string {
		text, _ := json.Marshal(map[string]any{"group": group, "kind": kind, "namespace": namespace, "name": name, "liveState": state, "targetState": "", "modified": true})
		return string(text)
	}
	set, s := played(t, map[string]string{
		"applications/a": `{"metadata":{"name":"a"},"spec":{"project":"p","source":{"repoURL":"r"},"destination":{"namespace":"shop"}}}`,
		"applications/m": `{"metadata":{"name":"m"},"spec":{"project":"p","sources":[{"repoURL":"r"},{"repoURL":"q"}]}}`,
		"applications/a/manifests": `{"revision":"abc123","manifests":` + list(
			object("apps/v1", "Deployment", "", "ui", `,"spec":{"replicas":5}`),
			object("v1", "Service", in, "ui", `,"spec":{"type":"ClusterIP"}`),
			object("v1", "Secret", in, "key", `,"data":{"k":"++++"}`),
			object("v1", "ConfigMap", "", "new", ``),
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"before","annotations":{"argocd.argoproj.io/hook":"PreSync"}}}`,
			object("rbac.authorization.k8s.io/v1", "ClusterRole", in, "all", `,"rules":[]`),
		) + `}`,
		"applications/a/managed-resources": `{"items":[` + strings.Join([]string{
			live("apps", "Deployment", "shop", "ui", object("apps/v1", "Deployment", in, "ui", `,"spec":{"replicas":3,"paused":false}`)),
			live("", "Service", "shop", "ui", object("v1", "Service", in, "ui", `,"spec":{"type":"ClusterIP","clusterIP":"10.0.0.1"}`)),
			live("", "Secret", "shop", "key", object("v1", "Secret", in, "key", `,"data":{"k":"++++++++"}`)),
			live("", "ConfigMap", "shop", "old", object("v1", "ConfigMap", in, "old", ``)),
			live("rbac.authorization.k8s.io", "ClusterRole", "", "all", object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "all", `,"rules":[]`)),
		}, ",") + `]}`,
	})
	got, text := ask[struct {
		Note    string
		Summary map[string]map[string]int
		Items   []struct {
			Kind, Name, State string
			Diff              []string
		}
	}](t, set, "get_application_managed_resources", `{"name":"a","revision":"v2"}`)
	var rows []string
	for _, r := range got.Items {
		rows = append(rows, strings.Join(append([]string{r.Kind, r.Name, r.State}, r.Diff...), " "))
	}
	want := "ConfigMap new missing in the cluster\nConfigMap old to be pruned\napps/Deployment ui differs ~ spec.replicas: 3 → 5"
	if strings.Join(rows, "\n") != want || got.Summary["by_state"]["in sync"] != 3 || got.Summary["by_state"]["hook"] != 1 || !strings.Contains(got.Note, "v2 (abc123)") {
		t.Errorf("%s\nwant %s\n%s", strings.Join(rows, "\n"), want, text)
	}
	if q := s.query("applications/a/manifests"); q.Get("revision") != "v2" {
		t.Errorf("asked with %v", q)
	}
	refusedWith(t, set, "get_application_managed_resources", `{"name":"m","revision":"v2"}`, "2 sources")
}

// Who may read an application may have it compared anew: it is a reading call of Argo CD.
func TestReadersRefresh(t *testing.T) {
	t.Parallel()
	set, s := played(t, map[string]string{"applications/a": `{"metadata":{"name":"a","namespace":"argocd"},"spec":{"project":"p"}}`})
	for arguments, want := range map[string]string{`{"name":"a"}`: "", `{"name":"a","refresh":"normal"}`: "normal", `{"name":"a","refresh":"hard","full":true}`: "hard", `{"name":"a","refresh":""}`: ""} {
		ask[map[string]any](t, set, "get_application_details", arguments)
		if got := s.query("applications/a").Get("refresh"); got != want {
			t.Errorf("%s: refresh %q", arguments, got)
		}
	}
	refusedWith(t, set, "get_application_details", `{"name":"a","refresh":"now"}`, "normal, hard")
}

// How far a progressive sync is stands in one sentence.
func TestProgressiveSyncsAreShort(t *testing.T) {
	t.Parallel()
	set, _ := played(t, map[string]string{
		"applicationsets/r": `{"metadata":{"name":"r"},"spec":{"strategy":{"type":"RollingSync","rollingSync":{"steps":[{},{},{}]}}},"status":{"applicationStatus":[` +
			`{"application":"dev-1","status":"Healthy","step":"1"},{"application":"dev-2","status":"Healthy","step":"1"},{"application":"stg-1","status":"Progressing","step":"2"},{"application":"old","status":"Healthy","step":"-1"}]}}`,
		"applicationsets/n": `{"metadata":{"name":"n"},"spec":{}}`,
	})
	type answer struct{ Note string }
	if got, text := ask[answer](t, set, "applicationset_service__get", `{"name":"r"}`); got.Note != "Progressive sync in 3 steps; step 1: 2 Healthy; step 2: 1 Progressing (stg-1 is Progressing); step 3: no application." {
		t.Error(text)
	}
	if got, text := ask[answer](t, set, "applicationset_service__get", `{"name":"n"}`); got.Note != "" {
		t.Error(text)
	}
}
