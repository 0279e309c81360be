package kubernetes

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/jobs"
)

// right names what a request takes, as a Role says it: "create batch/jobs".
func right(r *http.Request) string {
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	before, behind, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return "" // discovery, which everybody may
	}
	group, _, named := strings.Cut(before, "/")
	if !named {
		group = ""
	}
	parts := strings.Split(behind, "/")
	resource, verb := parts[1], map[string]string{"POST": "create", "DELETE": "delete", "GET": "list"}[r.Method]
	if len(parts) > 2 && r.Method == http.MethodGet {
		verb = "get"
	}
	if len(parts) > 3 {
		resource += "/" + parts[3]
	}
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	}
	return verb + " " + group + "/" + resource
}

// The Role of the guide allows what the engine does, and nothing beside it.
func TestRoleOfTheGuide(t *testing.T) {
	guide := testfile.Read(t, "../../../docs/kubernetes.md")
	_, rest, _ := strings.Cut(string(guide), "```yaml role\n")
	text, _, _ := strings.Cut(rest, "```")
	var role struct {
		Rules []struct {
			APIGroups        []string `yaml:"apiGroups"`
			Resources, Verbs []string
		}
	}
	if err := yaml.Unmarshal([]byte(text), &role); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				allowed[verb+" "+rule.APIGroups[0]+"/"+resource] = false
			}
		}
	}

	a := &api{kueue: true}
	e := start(t, a, images())
	var broken bool
	a.before = func(w http.ResponseWriter, r *http.Request) bool {
		if name := right(r); name != "" {
			if _, ok := allowed[name]; !ok {
				t.Errorf("the Role does not allow to %s", name)
			}
			a.mu.Lock()
			allowed[name] = true
			a.mu.Unlock()
		}
		if broken && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs") {
			refuse(w, 500, "a fault")
			return true
		}
		return false
	}
	a.log = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "2026-11-29T10:00:00Z x\n") }
	a.put("localqueues", object{"metadata": map[string]any{"name": "team"}})
	j := newJob("true")
	j.Env, j.Queue = []string{"A=b"}, "team"
	at, err := e.Submit(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	ref := jobs.Ref{ID: j.ID, At: at}
	made := a.all("jobs")[0]
	made["spec"].(map[string]any)["suspend"] = true
	for range 2 {
		if _, err := e.Status(t.Context(), []jobs.Ref{ref}); err != nil {
			t.Fatal(err)
		}
		made["spec"].(map[string]any)["suspend"] = false
	}
	done := make(chan error, 1)
	go func() { done <- e.Output(t.Context(), ref, io.Discard, io.Discard) }()
	a.set("pods", parsed(t, endedAs("Succeeded", "0", "Completed", `""`)))
	a.changes <- struct{}{}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := e.waitForChange(t.Context(), e.open[[2]string{}], ref, "1"); err != nil {
		t.Error(err)
	}
	if err := e.Cancel(t.Context(), ref); err != nil {
		t.Error(err)
	}
	broken = true
	if _, err := e.Submit(t.Context(), j); err == nil { // looks for what it has left
		t.Error("a fault is none")
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if !allowed[name] {
			t.Errorf("nobody needs to %s", name)
		}
	}
}
