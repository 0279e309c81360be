package toolset_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// A playedServer answers by escaped path with bodies as a real server sent them.
type playedServer struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string]string
	asked  map[string]url.Values // the last query of each path
	sent   map[string]string     // the last body of each path
}

func played(t testing.TB, bodies map[string]string) (*toolset.Toolset, *playedServer) {
	t.Helper()
	s := &playedServer{bodies: bodies, asked: map[string]url.Values{}, sent: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v1/")
		sent, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked[path], s.sent[path] = r.URL.Query(), string(sent)
		body, there := s.bodies[path]
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if !there {
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"error":"permission denied","code":7,"message":"permission denied"}`)
			return
		}
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return newToolset(t, toolset.Options{}, clientOf(t, "argo", s.URL, "")), s
}

func (s *playedServer) query(path string) url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func body(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// maxDefault is what a default answer may have.
const maxDefault, maxDefaultTokens = 10_000, 3_500

func holdsToBounds(t *testing.T, what, text string) {
	t.Helper()
	if len(text) > maxDefault {
		t.Errorf("%s has %d bytes", what, len(text))
	}
	// A byte pair encoder makes no more tokens than bytes: what is short need not be counted.
	if len(text) > maxDefaultTokens {
		if n := tokensOf(t, text); n > maxDefaultTokens {
			t.Errorf("%s has %d tokens in %d bytes", what, n, len(text))
		}
	}
}

func TestDetailsOfEveryRecordedApplication(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{}
	// All special ones, and of the others as many as a slow machine answers in seconds.
	objects := recordedObjects(t, argocd.Applications)
	objects = slices.DeleteFunc(objects, func(object map[string]any) bool {
		name := at(object, "metadata", "name").(string)
		special := at(object, "spec", "sources") != nil || at(object, "spec", "destination", "name") != nil || at(object, "status", "sync", "status") == nil
		return !(special && name[0] < 'j') && len(name)%9 != 0
	})
	if len(objects) < 100 {
		t.Fatalf("only %d applications", len(objects))
	}
	for _, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		bodies["applications/"+at(object, "metadata", "name").(string)] = string(raw)
	}
	set, _ := played(t, bodies)
	calls := caller(set)
	largest := 0
	for i, object := range objects {
		name := at(object, "metadata", "name").(string)
		type answer struct {
			Name, Namespace, Project, Link string
			Health, Sync                   struct{ Status string }
			Destination                    map[string]any
			Source                         map[string]any
			Sources                        []any
			Resources                      struct{ Total int }
			LeftOut                        []string `json:"left_out"`
		}
		text := calls(t, "get_application_details", fmt.Sprintf(`{"name":%q}`, name))
		var a answer
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(text))
		if len(text) > maxDefault {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		if i%50 == 0 {
			holdsToBounds(t, name, text)
		}
		none := func(keys ...string) string {
			if s, _ := at(object, keys...).(string); s != "" {
				return s
			}
			return "none"
		}
		if a.Name != name || a.Project != at(object, "spec", "project") || a.Health.Status != none("status", "health", "status") || a.Sync.Status != none("status", "sync", "status") {
			t.Errorf("%s: %s", name, text)
		}
		resources, _ := at(object, "status", "resources").([]any)
		if a.Resources.Total != len(resources) {
			t.Errorf("%s has %d resources, not %d", name, a.Resources.Total, len(resources))
		}
		missed := strings.Join(a.LeftOut, " ")
		if sources, _ := at(object, "spec", "sources").([]any); len(a.Sources) != len(sources) && !strings.Contains(missed, "sources") {
			t.Errorf("%s: %d of %d sources, %s", name, len(a.Sources), len(sources), missed)
		}
		if dest, _ := at(object, "spec", "destination").(map[string]any); !maps.EqualFunc(a.Destination, dest, func(x, y any) bool { return x == y }) {
			t.Errorf("%s: destination %v, not %v", name, a.Destination, dest)
		}
		if strings.Contains(text, "managedFields\":") || strings.Contains(text, `"history":[`) {
			t.Errorf("%s has what only machines read", name)
		}
	}
	t.Logf("largest answer of %d: %d bytes", len(objects), largest)
}

// caller calls tools of a set that is made once: schemas take their time.
func caller(set *toolset.Toolset) func(t testing.TB, name, arguments string) string {
	tools := map[string]builtin.Tool{}
	for _, tool := range set.Tools() {
		tools[tool.Name] = tool
	}
	return func(t testing.TB, name, arguments string) string {
		t.Helper()
		r, err := tools[name].Run(t.Context(), &builtin.Call{Tool: name, Arguments: json.RawMessage(arguments), Progress: func(float64, float64, string) {}})
		if err != nil || r.IsError {
			t.Fatalf("%s %s: %v, %+v", name, arguments, err, r)
		}
		return r.Text
	}
}

func TestWholeObjectsAreGivenOnRequest(t *testing.T) {
	t.Parallel()
	set, s := played(t, map[string]string{"applications/a%2Fb%20c": body(t, "app-get-single")})
	a, _ := ask[struct {
		Object  map[string]any
		LeftOut []string `json:"left_out"`
		How     string   `json:"how_to_see_it"`
	}](t, set, "get_application_details", `{"path_name":"a/b c","full":true,"param_appNamespace":"ns","param_project":"p","refresh":""}`)
	if at(a.Object, "status", "resources") == nil || at(a.Object, "metadata", "managedFields") != nil || len(a.LeftOut) == 0 || !strings.Contains(a.How, "include") {
		t.Errorf("%v %q", a.LeftOut, a.How)
	}
	if q := s.query("applications/a%2Fb%20c"); q.Get("appNamespace") != "ns" || q.Get("project") != "p" {
		t.Errorf("asked with %v", q)
	}
	all, _ := ask[struct{ Object map[string]any }](t, set, "get_application_details", `{"name":"a/b c","include":["managed_fields","history"]}`)
	if at(all.Object, "metadata", "managedFields") == nil || at(all.Object, "status", "history") == nil {
		t.Error("include included nothing")
	}
	refusedWith(t, set, "get_application_details", `{"name":"a/b c","include":["everything"]}`, "everything", "managed_fields")
	refusedWith(t, set, "get_application_details", `{"name":"nobody's"}`, "permission denied")
	refusedWith(t, set, "get_application_details", `{"name":" "}`, "name")
	refusedWith(t, set, "get_application_details", `{"name":"a","nmae":"b"}`, "nmae")
}

// Whatever an object holds, a default answer is short, is JSON, and says what it lacks.
func TestObjectsAreBounded(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{}
	var calls [][2]string
	add := func(path, tool, arguments string, object any) {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		bodies[path] = string(raw)
		calls = append(calls, [2]string{tool, arguments})
	}
	for i, p := range recordedObjects(t, argocd.Projects) {
		if i%4 != 0 {
			continue
		}
		name := at(p, "metadata", "name").(string)
		add("projects/"+name+"/detailed", "project_get", fmt.Sprintf(`{"name":%q}`, name), map[string]any{"project": p})
	}
	for i, s := range recordedObjects(t, argocd.ApplicationSets) {
		if i%4 != 0 {
			continue
		}
		name := at(s, "metadata", "name").(string)
		add("applicationsets/"+name, "applicationset_service__get", fmt.Sprintf(`{"name":%q}`, name), s)
	}
	for _, c := range recordedObjects(t, argocd.Clusters) {
		name := at(c, "name").(string)
		add("clusters/"+url.PathEscape(name), "cluster_service__get", fmt.Sprintf(`{"cluster":%q}`, name), c)
	}
	long := strings.Repeat("repositories ", 4000)
	many := map[string]any{}
	for i := range 3000 {
		many[fmt.Sprintf("label-%04d", i)] = "v"
	}
	add("projects/huge/detailed", "project_get", `{"name":"huge"}`, map[string]any{
		"project":      map[string]any{"metadata": map[string]any{"name": "huge", "labels": many}, "spec": map[string]any{"description": long, "sourceRepos": slices.Repeat([]string{"https://git.example.net/x"}, 2000)}},
		"repositories": slices.Repeat([]any{map[string]any{"repo": "https://ci:hunter2@git.example.net/x", "password": "hunter2"}}, 500),
	})
	set, _ := played(t, bodies)
	run := caller(set)
	largest := 0
	for i, call := range calls {
		text := run(t, call[0], call[1])
		var a struct {
			Object  map[string]any
			LeftOut []string `json:"left_out"`
			How     string   `json:"how_to_see_it"`
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(text))
		if len(text) > maxDefault || len(a.Object) == 0 || strings.Contains(text, "hunter2") || len(a.LeftOut) > 0 && a.How == "" {
			t.Errorf("%s %s: %d bytes: %.300s", call[0], call[1], len(text), text)
		}
		if i%50 == 0 || i == len(calls)-1 {
			holdsToBounds(t, call[1], text)
		}
	}
	t.Logf("largest of %d: %d bytes", len(calls), largest)
	whole, failed := callTool(t, set, nil, "project_get", `{"name":"huge","full":true}`)
	if failed || len(whole) < len(long) || strings.Contains(whole, "hunter2") {
		t.Errorf("the whole object has %d bytes", len(whole))
	}
}

func TestClustersAreFoundByNameAndByURL(t *testing.T) {
	t.Parallel()
	one := `{"server":"https://10.0.0.1:6443","name":"a b","config":{"bearerToken":"hunter2","tlsClientConfig":{"keyData":"aHVudGVyMg=="}}}`
	byURL := "clusters/https%3A%2F%2F10.0.0.1%3A6443"
	set, s := played(t, map[string]string{byURL: one, "clusters/a%20b": one})
	for arguments, path := range map[string]string{
		`{"cluster":"https://10.0.0.1:6443"}`:                  byURL,
		`{"path_id_value":"a b","param_id_type":"name"}`:       "clusters/a%20b",
		`{"cluster":"a b"}`:                                    "clusters/a%20b",
		`{"cluster":"https://10.0.0.1:6443","id_type":"name"}`: byURL,
	} {
		_, text := ask[any](t, set, "cluster_service__get", arguments)
		if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVy") {
			t.Errorf("%s shows a credential: %s", arguments, text)
		}
		want := "name"
		if strings.Contains(arguments, "://") && !strings.Contains(arguments, "id_type") {
			want = ""
		}
		if got := s.query(path).Get("id.type"); got != want {
			t.Errorf("%s asked for id.type %q, want %q", arguments, got, want)
		}
	}
	refusedWith(t, set, "cluster_service__get", `{"cluster":"x","id_type":"uid"}`, "uid", "name or server")
}

// What a source hydrator does, and why it failed, is shown with the application; so are the branches.
func TestHydrationIsShown(t *testing.T) {
	t.Parallel()
	set, _ := played(t, map[string]string{
		"applications/h": `{"metadata":{"name":"h","namespace":"argocd"},"spec":{"project":"p","sourceHydrator":{"drySource":{"repoURL":"https://git/dry","targetRevision":"main","path":"c"},"syncSource":{"targetBranch":"env/prod","path":"h"},"hydrateTo":{"targetBranch":"env/prod-next"}}},` +
			`"status":{"sync":{"status":"Synced"},"sourceHydrator":{"lastSuccessfulOperation":{"drySHA":"aaa","hydratedSHA":"bbb"},"currentOperation":{"phase":"Failed","message":"failed to hydrate app: manifest error","startedAt":"2026-11-01T10:00:00Z","drySHA":"ccc"}}}}`,
	})
	got, text := ask[struct {
		Hydration struct {
			Phase, Message string
			Last           string `json:"last_good_dry_revision"`
		}
		Hydrator struct {
			Sync struct{ TargetBranch string } `json:"syncSource"`
			To   struct{ TargetBranch string } `json:"hydrateTo"`
		} `json:"source_hydrator"`
	}](t, set, "get_application_details", `{"name":"h"}`)
	if got.Hydration.Phase != "Failed" || !strings.Contains(got.Hydration.Message, "manifest error") || got.Hydration.Last != "aaa" || got.Hydrator.Sync.TargetBranch != "env/prod" || got.Hydrator.To.TargetBranch != "env/prod-next" {
		t.Error(text)
	}
}

// A whole object does not recommend the argument that it was asked for with.
func TestWholeObjectsDoNotRecommendThemselves(t *testing.T) {
	t.Parallel()
	set, _ := played(t, map[string]string{"applications/s": body(t, "app-get-single")})
	for arguments, full := range map[string]bool{`{"name":"s"}`: true, `{"name":"s","full":true}`: false} {
		got, _ := ask[struct {
			How string `json:"how_to_see_it"`
		}](t, set, "get_application_details", arguments)
		if strings.Contains(got.How, "full=true") != full || !strings.Contains(got.How, "include=") {
			t.Errorf("%s: %q", arguments, got.How)
		}
	}
}

func TestHistoryAndSyncWindows(t *testing.T) {
	t.Parallel()
	set, _ := played(t, map[string]string{
		"applications/m":             body(t, "app-multi-source"),
		"applications/s":             body(t, "app-get-single"),
		"applications/w/syncwindows": `{"canSync":false,"activeWindows":[{"kind":"deny","schedule":"* * * * *","duration":"1h","manualSync":false}],"assignedWindows":[{"kind":"deny","schedule":"* * * * *","duration":"1h","manualSync":false},{"kind":"allow","schedule":"0 6 * * 5","duration":"72h","manualSync":true}]}`,
		"applications/n/syncwindows": `{"canSync":true}`,
	})
	type history struct {
		Items []struct {
			ID        int64
			Revision  string
			Revisions []string
			Sources   []string
			By        string
		}
	}
	multi, _ := ask[history](t, set, "get_application_history", `{"name":"m"}`)
	if len(multi.Items) != 1 || multi.Items[0].ID != 226 || len(multi.Items[0].Revisions) != 2 || len(multi.Items[0].Sources) != 2 || multi.Items[0].By != "chen.wei" {
		t.Errorf("%+v", multi)
	}
	single, _ := ask[history](t, set, "get_application_history", `{"name":"s"}`)
	if !slices.IsSortedFunc(single.Items, func(a, b struct {
		ID        int64
		Revision  string
		Revisions []string
		Sources   []string
		By        string
	},
	) int {
		return int(b.ID - a.ID)
	}) || len(single.Items) == 0 {
		t.Errorf("%+v", single)
	}
	closed, text := ask[struct {
		CanSync  bool `json:"can_sync_now"`
		Active   []any
		Assigned []any
	}](t, set, "get_application_sync_windows", `{"name":"w"}`)
	if closed.CanSync || len(closed.Active) != 1 || len(closed.Assigned) != 2 || !strings.Contains(text, "A deny window is active") || !strings.Contains(text, "not possible now") {
		t.Error(text)
	}
	if _, text := ask[any](t, set, "get_application_sync_windows", `{"name":"n"}`); !strings.Contains(text, "at any time") {
		t.Error(text)
	}
}
