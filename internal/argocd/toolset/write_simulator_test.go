package toolset_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

// A world is the tools over a simulated Argo CD, whose state really changes. Its operations
// run until they are ended.
type world struct {
	testing.TB
	set    *toolset.Toolset
	client *argocd.Client
}

func newWorld(t testing.TB) *world {
	sim, err := simulator.New(simulator.Options{Applications: 40, Projects: 8, ApplicationSets: 8, Clusters: 3, Token: "secret", SyncTakes: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	client := clientOf(t, "sim", server.URL, "secret")
	return &world{t, newToolset(t, toolset.Options{AllowWrites: true}, client), client}
}

// do makes a change: first without confirmation, when nothing may change, then as the plan
// says.
func (w *world) do(tool, arguments string, object ...string) reply {
	w.Helper()
	before := w.read(object...)
	plan, text, err := write(w, w.set, tool, arguments)
	if err != nil {
		w.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if *plan.Changed || plan.Do.Arguments == nil {
		w.Fatalf("%s %s: no plan: %s", tool, arguments, text)
	}
	if after := w.read(object...); after != before {
		w.Fatalf("%s %s changed something without confirmation: %s\nnow %s", tool, arguments, before, after)
	}
	confirmed, err := json.Marshal(plan.Do.Arguments)
	if err != nil {
		w.Fatal(err)
	}
	done, text, err := write(w, w.set, tool, string(confirmed))
	if err != nil {
		w.Fatalf("%s %s: %v", tool, confirmed, err)
	}
	if *done.Changed == (tool == "refresh_application") {
		w.Fatalf("%s %s: nothing was done: %s", tool, confirmed, text)
	}
	return done
}

// read gives an object of the API, "" when there is none.
func (w *world) read(path ...string) string {
	w.Helper()
	if len(path) == 0 {
		return ""
	}
	raw, err := w.client.Get(w.Context(), path, nil)
	if err != nil {
		return ""
	}
	return string(raw)
}

// cluster is the address of one that there is.
func (w *world) cluster() (server string) {
	w.Helper()
	if _, err := w.client.List(w.Context(), argocd.Clusters, argocd.Query{}, func(item []byte) error {
		var c struct{ Server string }
		if err := json.Unmarshal(item, &c); err != nil {
			return err
		}
		server = c.Server
		return nil
	}); err != nil || server == "" {
		w.Fatalf("no cluster: %v", err)
	}
	return server
}

// value follows keys of an object of the API.
func (w *world) value(path []string, keys ...string) any {
	w.Helper()
	var v any
	if err := json.Unmarshal([]byte(w.read(path...)), &v); err != nil {
		w.Fatalf("%v: %v", path, err)
	}
	for _, key := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

func TestAnApplicationFromItsCreationToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := []string{"applications", "made-here"}
	w.do("project_create", `{"name":"made","description":"of a test","sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}]}`, "projects", "made")
	w.do("create_application", fmt.Sprintf(`{"name":"made-here","project":"made","repo_url":"https://git.example.com/made.git","path":"deploy","dest_server":%q,"dest_namespace":"made","labels":{"team":"web"}}`, w.cluster()), app...)
	if got := fmt.Sprintln(w.value(app, "spec", "source", "path"), w.value(app, "spec", "project"), w.value(app, "metadata", "labels", "team")); got != "deploy made web\n" {
		t.Errorf("it was created with %s", got)
	}
	w.do("update_application", `{"name":"made-here","revision":"v2","spec":{"revisionHistoryLimit":3},"metadata":{"labels":{"team":null,"tier":"1"}}}`, app...)
	if got := fmt.Sprintln(w.value(app, "spec", "source", "targetRevision"), w.value(app, "spec", "source", "path"), w.value(app, "spec", "revisionHistoryLimit"), w.value(app, "metadata", "labels")); got != "v2 deploy 3 map[tier:1]\n" {
		t.Errorf("it was changed to %s", got)
	}
	w.do("update_application", `{"name":"made-here","revision":"v3","validate":false}`, app...)
	if got := w.value(app, "spec", "source", "targetRevision"); got != "v3" {
		t.Errorf("without validation it was changed to %v", got)
	}
	w.do("sync_application", `{"name":"made-here"}`, app...)
	if op, state := w.value(app, "operation"), w.value(app, "status", "operationState"); op == nil && state == nil {
		t.Error("there is no operation after a sync")
	}
	w.do("refresh_application", `{"name":"made-here"}`, app...)
	if _, _, err := write(t, w.set, "project_delete", `{"name":"made","confirm":"made"}`); err == nil || !strings.Contains(err.Error(), "referenced by 1 applications") {
		t.Errorf("a project in use: %v", err)
	}
	w.do("delete_application", `{"name":"made-here","cascade":true}`, app...)
	if got := w.read(app...); got != "" && w.value(app, "metadata", "deletionTimestamp") == nil {
		t.Errorf("after the end there is %s", got)
	}
	if _, _, err := write(t, w.set, "sync_application", `{"name":"no-such-app","project":"made","confirm":"no-such-app"}`); err == nil {
		t.Error("what does not exist was synced")
	}
}

func TestProjectsAndSetsChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	project := []string{"projects", "made"}
	w.do("project_create", `{"name":"made","description":"one","sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}]}`, project...)
	w.do("project_update", `{"param_name":"made","description":"two","spec":{"roles":[{"name":"ci"}]}}`, project...)
	if got := fmt.Sprintln(w.value(project, "spec", "description"), w.value(project, "spec", "sourceRepos")); got != "two [*]\n" {
		t.Errorf("the project was changed to %s", got)
	}
	w.do("project_delete", `{"name":"made"}`, project...)
	if got := w.read(project...); got != "" {
		t.Errorf("after the end there is %s", got)
	}
	set := []string{"applicationsets", "made-set"}
	const spec = `"spec":{"generators":[{"list":{"elements":[{"name":"a"},{"name":"b"}]}}],"template":{"metadata":{"name":"made-{{name}}"},"spec":{"project":"default","source":{"repoURL":"https://git.example.com/a.git","path":"."},"destination":{"server":"https://kubernetes.default.svc","namespace":"default"}}}}`
	w.do("applicationset_create", `{"metadata_name":"made-set",`+spec+`}`, set...)
	if w.read(set...) == "" {
		t.Error("the application set was not created")
	}
	w.do("applicationset_service__delete", `{"path_name":"made-set"}`, set...)
	if got := w.read(set...); got != "" {
		t.Errorf("after the end there is %s", got)
	}
}

// first gives the name of the first application that fits.
func (w *world) first(fits func(app map[string]any) bool) (name string) {
	w.Helper()
	if _, err := w.client.List(w.Context(), argocd.Applications, argocd.Query{}, func(item []byte) error {
		var app map[string]any
		if err := json.Unmarshal(item, &app); err != nil {
			return err
		}
		metadata, _ := app["metadata"].(map[string]any)
		if metadata["namespace"] == "argocd" && metadata["deletionTimestamp"] == nil && name == "" && fits(app) {
			name, _ = metadata["name"].(string)
		}
		return nil
	}); err != nil {
		w.Fatal(err)
	}
	if name == "" {
		w.Fatal("no application fits")
	}
	return name
}

func TestOperationsOnWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quiet := func(app map[string]any) bool {
		spec, _ := app["spec"].(map[string]any)
		status, _ := app["status"].(map[string]any)
		policy, _ := spec["syncPolicy"].(map[string]any)
		state, _ := status["operationState"].(map[string]any)
		history, _ := status["history"].([]any)
		return policy["automated"] == nil && app["operation"] == nil && (state == nil || state["finishedAt"] != nil) && len(history) > 0
	}
	name := w.first(quiet)
	app := []string{"applications", name}
	history, _ := w.value(app, "status", "history").([]any)
	deployed, _ := history[0].(map[string]any)
	id := fmt.Sprint(deployed["id"])
	w.do("rollback_application", fmt.Sprintf(`{"name":%q,"id":%s}`, name, id), app...)
	if state := w.value(app, "status", "operationState"); state == nil && w.value(app, "operation") == nil {
		t.Errorf("there is no operation after a rollback of %s", name)
	}
	running := w.first(func(app map[string]any) bool {
		status, _ := app["status"].(map[string]any)
		state, _ := status["operationState"].(map[string]any)
		return app["operation"] != nil && state["phase"] == "Running"
	})
	w.do("terminate_operation", fmt.Sprintf(`{"name":%q}`, running), "applications", running)
	if phase := w.value([]string{"applications", running}, "status", "operationState", "phase"); phase == "Running" {
		t.Errorf("the operation of %s is %v", running, phase)
	}
	// An action on a deployment, found by its kind and name alone.
	var deployment string
	withDeployment := w.first(func(app map[string]any) bool {
		status, _ := app["status"].(map[string]any)
		resources, _ := status["resources"].([]any)
		for _, r := range resources {
			if m, _ := r.(map[string]any); m["kind"] == "Deployment" {
				deployment, _ = m["name"].(string)
				return true
			}
		}
		return false
	})
	w.do("run_resource_action", fmt.Sprintf(`{"name":%q,"action":"restart","kind":"Deployment","resource_name":%q}`, withDeployment, deployment))
}
