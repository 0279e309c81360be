package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// must sends a write and returns the answer.
func must(t *testing.T, s *Simulator, method, path, body string) obj {
	t.Helper()
	w := do(s, method, path, body)
	if w.Code != http.StatusOK {
		t.Fatalf("%s %s: %d %.400s", method, path, w.Code, w.Body)
	}
	m, err := parse(w.Body.Bytes())
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return m
}

func refused(t *testing.T, s *Simulator, method, path, body string, status int, word string) {
	t.Helper()
	if w := do(s, method, path, body); w.Code != status || !strings.Contains(w.Body.String(), word) {
		t.Errorf("%s %s %s: %d %.300s, want %d %s", method, path, body, w.Code, w.Body, status, word)
	}
}

func get(t *testing.T, s *Simulator, name string) obj {
	t.Helper()
	return must(t, s, http.MethodGet, "/api/v1/applications/"+name, "")
}

// pick returns the first application that fits.
func pick(t *testing.T, s *Simulator, fits func(a obj) bool) string {
	t.Helper()
	for _, a := range items(t, s, "/api/v1/applications") {
		if fits(a) {
			return text(a, "metadata", "name")
		}
	}
	t.Fatal("no application fits")
	return ""
}

const newApp = `{"metadata":{"name":"my-app","labels":{"env":"prod"}},"spec":{"project":"default","source":{"repoURL":"https://git.corp.example.net/x.git","path":"."},"destination":{"server":"https://kubernetes.default.svc","namespace":"x"}}}`

func TestApplicationLives(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{Applications: 50})
	const path = "/api/v1/applications/my-app"
	must(t, s, http.MethodPost, "/api/v1/applications", newApp)
	all := names(items(t, s, "/api/v1/applications"))
	if len(all) != 51 || s.Counts().Applications != 51 {
		t.Errorf("%d applications, %d are counted", len(all), s.Counts().Applications)
	}
	for i := 1; i < len(all); i++ {
		if all[i] <= all[i-1] {
			t.Errorf("%s follows %s", all[i], all[i-1])
		}
	}
	if got := names(items(t, s, "/api/v1/applications?selector=env%3Dprod&repo=https%3A%2F%2Fgit.corp.example.net%2Fx.git")); len(got) != 1 {
		t.Errorf("selected: %v", got)
	}
	if got := string(marshal(items(t, s, "/api/v1/applications?name=my-app&fields=items.metadata.name,items.metadata.annotations,items.spec.project,items.status.health,items.status.resources,items.operation.sync")[0])); got != `{"metadata":{"annotations":null,"name":"my-app"},"spec":{"project":"default"},"status":{"health":{}}}` {
		t.Errorf("fields: %s", got)
	}
	refused(t, s, http.MethodPost, "/api/v1/applications", strings.Replace(newApp, `"path":"."`, `"path":"y"`, 1), 400, "use upsert flag")
	must(t, s, http.MethodPost, "/api/v1/applications?upsert=true", strings.Replace(newApp, `"path":"."`, `"path":"y"`, 1))
	if got := text(get(t, s, "my-app"), "spec", "source", "path"); got != "y" {
		t.Errorf("path %q", got)
	}
	must(t, s, http.MethodPut, path+"/spec", `{"project":"default","source":{"repoURL":"https://git.corp.example.net/x.git","chart":"c","targetRevision":"1.0.0"},"destination":{"name":"in-cluster","namespace":"x"}}`)
	must(t, s, http.MethodPatch, path, `{"patchType":"merge","patch":"{\"metadata\":{\"labels\":{\"env\":null,\"tier\":\"gold\"}}}"}`)
	must(t, s, http.MethodPatch, path, `{"patchType":"merge","patch":"{\"spec\":{\"source\":{\"targetRevision\":\"2.0.0\"},\"info\":[{\"name\":\"a\",\"value\":\"b\"}]}}"}`)
	a := get(t, s, "my-app")
	if string(marshal(lookup(a, "metadata", "labels"))) != `{"tier":"gold"}` || text(a, "spec", "source", "targetRevision") != "2.0.0" || string(marshal(lookup(a, "spec", "info"))) != `[{"name":"a","value":"b"}]` {
		t.Errorf("after the patches: %s", marshal(a))
	}
	refused(t, s, http.MethodDelete, path+"?cascade=false&propagationPolicy=foreground", "", 400, "cascading is disabled")
	refused(t, s, http.MethodDelete, path+"?propagationPolicy=sideways", "", 400, "sideways")
	must(t, s, http.MethodDelete, path+"?cascade=false", "")
	refused(t, s, http.MethodGet, path, "", 403, "permission denied")
	refused(t, s, http.MethodGet, path+"?project=default", "", 404, "not found")
	generated := s.names[applications].name(7)
	must(t, s, http.MethodDelete, "/api/v1/applications/"+generated, "")
	if n := len(items(t, s, "/api/v1/applications")); n != 49 {
		t.Errorf("%d applications are left of 50", n)
	}
	must(t, s, http.MethodPost, "/api/v1/applications", strings.Replace(newApp, "my-app", generated, 1))
	if n := len(items(t, s, "/api/v1/applications")); n != 50 {
		t.Errorf("%d applications after one came back", n)
	}
}

func TestBadApplicationsAreRefused(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{Applications: 5})
	for from, to := range map[string]string{
		`"project":"default"`:                        `"project":"nosuch"`,
		`"name":"my-app"`:                            `"name":"My App"`,
		`"server":"https://kubernetes.default.svc"`:  `"server":"https://nosuch"`,
		`"server":"https://kubernetes.default.svc",`: ``,
		`"path":"."`:                                 `"ref":""`,
		`"namespace":"x"`:                            `"name":"in-cluster"`,
		`{"repoURL":"https://git.corp.example.net/x.git","path":"."}`: `null`,
	} {
		body := strings.Replace(newApp, from, to, 1)
		if body == newApp {
			t.Fatalf("%s is not there", from)
		}
		refused(t, s, http.MethodPost, "/api/v1/applications", body, 400, "error")
	}
	refused(t, s, http.MethodPost, "/api/v1/applications", strings.Repeat("[", 100_000), 400, "")
	refused(t, s, http.MethodPost, "/api/v1/applications", `{"a":"`+strings.Repeat("x", 5<<20)+`"}`, 429, "larger than max")
	for _, patch := range []string{`{"patchType":"strategic"}`, `{"patchType":"json","patch":"[]"}`, `{"patchType":"merge","patch":"x"}`} {
		if w := do(s, http.MethodPatch, "/api/v1/applications/"+s.names[applications].name(0), patch); w.Code < 400 {
			t.Errorf("%s: %d", patch, w.Code)
		}
	}
}

func TestSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sim(t, Options{Applications: 150, SyncTakes: time.Minute})
		name := pick(t, s, func(a obj) bool {
			return !automated(a) && text(a, "status", "sync", "status") == "OutOfSync" && !hasOperation(a) && lookup(a, "spec", "sources") == nil && text(a, "spec", "source", "chart") == ""
		})
		path := "/api/v1/applications/" + name
		if a := must(t, s, http.MethodPost, path+"/sync", `{"prune":true,"dryRun":true}`); !hasOperation(a) {
			t.Error("no operation")
		}
		refused(t, s, http.MethodPost, path+"/sync", `{}`, 400, "another operation is already in progress")
		time.Sleep(2 * time.Minute) // virtual
		a := get(t, s, name)
		if hasOperation(a) || text(a, "status", "sync", "status") != "OutOfSync" || text(a, "status", "operationState", "phase") != "Succeeded" {
			t.Errorf("after a dry run: %s", marshal(a["status"]))
		}
		revision := strings.Repeat("ab", 20)
		must(t, s, http.MethodPost, path+"/sync", `{"prune":true,"revision":"`+revision+`"}`)
		time.Sleep(2 * time.Minute) // virtual
		a = get(t, s, name)
		if text(a, "status", "sync", "status") != "Synced" || text(a, "status", "sync", "revision") != revision {
			t.Errorf("after a sync: %s", marshal(lookup(a, "status", "sync")))
		}
		history, _ := lookup(a, "status", "history").([]any)
		if len(history) > 0 {
			last, _ := history[len(history)-1].(obj)
			if text(last, "revision") != revision {
				t.Errorf("the history ends with %v", last)
			}
			first, _ := history[0].(obj)
			must(t, s, http.MethodPost, path+"/rollback", string(marshal(obj{"id": first["id"]})))
			must(t, s, http.MethodDelete, path+"/operation", "")
			refused(t, s, http.MethodDelete, path+"/operation", "", 400, "No operation is in progress")
			time.Sleep(2 * time.Minute) // virtual
			if a := get(t, s, name); text(a, "status", "operationState", "message") != "Operation terminated" {
				t.Errorf("a terminated operation went on: %s", marshal(lookup(a, "status", "operationState")))
			}
		}
		refused(t, s, http.MethodPost, path+"/rollback", `{"id":99999}`, 400, "does not have deployment with id 99999")
		auto := pick(t, s, func(a obj) bool {
			return automated(a) && !hasOperation(a) && lookup(a, "metadata", "deletionTimestamp") == nil
		})
		refused(t, s, http.MethodPost, "/api/v1/applications/"+auto+"/rollback", `{"id":1}`, 400, "auto-sync is enabled")
		refused(t, s, http.MethodPost, "/api/v1/applications/"+auto+"/sync", `{"revision":"`+revision+`"}`, 400, "auto-sync currently set to")
	})
}

func TestResourcesAndActions(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{Applications: 100})
	name := pick(t, s, func(a obj) bool {
		return strings.Contains(string(marshal(lookup(a, "status", "resources"))), `"kind":"Deployment"`) && text(a, "status", "health", "status") == "Healthy"
	})
	a := get(t, s, name)
	resources, _ := lookup(a, "status", "resources").([]any)
	var r obj
	for _, v := range resources {
		if o, _ := v.(obj); text(o, "kind") == "Deployment" {
			r = o
		}
	}
	path := "/api/v1/applications/" + name + "/resource"
	query := "?group=apps&version=v1&kind=Deployment&namespace=" + text(r, "namespace") + "&resourceName=" + text(r, "name")
	manifest := must(t, s, http.MethodGet, path+query, "")
	if live, err := parse([]byte(text(manifest, "manifest"))); err != nil || text(live, "metadata", "name") != text(r, "name") {
		t.Errorf("%v: %s", err, marshal(manifest))
	}
	if list := must(t, s, http.MethodGet, path+"/actions"+query, ""); !strings.Contains(string(marshal(list)), "restart") {
		t.Errorf("%s", marshal(list))
	}
	must(t, s, http.MethodPost, path+"/actions"+query, `"restart"`)
	must(t, s, http.MethodPost, path+"/actions/v2", string(marshal(obj{"namespace": r["namespace"], "resourceName": r["name"], "version": "v1", "group": "apps", "kind": "Deployment", "action": "restart"})))
	refused(t, s, http.MethodPost, path+"/actions"+query, `"explode"`, 500, "built-in script does not exist")
	managed := must(t, s, http.MethodGet, "/api/v1/applications/"+name+"/managed-resources?kind=Deployment&name="+text(r, "name"), "")
	if all, _ := managed["items"].([]any); len(all) != 1 || all[0].(obj)["liveState"] == "null" {
		t.Errorf("%s", marshal(managed))
	}
	for _, below := range []string{"/events", "/syncwindows", "/links", "/manifests", "/resource-tree"} {
		must(t, s, http.MethodGet, "/api/v1/applications/"+name+below, "")
	}
}

func TestProjectsAndSets(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{Applications: 50})
	const project = `{"project":{"metadata":{"name":"mine"},"spec":{"description":"one","sourceRepos":["*"]}}}`
	must(t, s, http.MethodPost, "/api/v1/projects", project)
	refused(t, s, http.MethodPost, "/api/v1/projects", strings.Replace(project, "one", "two", 1), 400, "use upsert flag")
	must(t, s, http.MethodPut, "/api/v1/projects/mine", strings.Replace(project, "one", "two", 1))
	if got := must(t, s, http.MethodGet, "/api/v1/projects/mine/detailed", ""); text(got, "project", "spec", "description") != "two" {
		t.Errorf("%s", marshal(got))
	}
	must(t, s, http.MethodPost, "/api/v1/applications", strings.Replace(newApp, `"default"`, `"mine"`, 1))
	refused(t, s, http.MethodDelete, "/api/v1/projects/mine", "", 400, "referenced by 1 applications")
	refused(t, s, http.MethodDelete, "/api/v1/projects/default", "", 400, "reserved")
	must(t, s, http.MethodDelete, "/api/v1/applications/my-app", "")
	must(t, s, http.MethodDelete, "/api/v1/projects/mine", "")
	refused(t, s, http.MethodGet, "/api/v1/projects/mine", "", 404, "not found")

	const set = `{"metadata":{"name":"sets"},"spec":{"goTemplate":true,"generators":[{"list":{"elements":[{"cluster":"a"},{"cluster":"b"}]}}],"template":{"metadata":{"name":"x-{{ .cluster }}"},"spec":{"project":"default"}}}}`
	made := must(t, s, http.MethodPost, "/api/v1/applicationsets/generate", `{"applicationSet":`+set+`}`)
	if got := string(marshal(made)); !strings.Contains(got, `"name":"x-a"`) || !strings.Contains(got, `"name":"x-b"`) {
		t.Errorf("%s", got)
	}
	must(t, s, http.MethodPost, "/api/v1/applicationsets?dryRun=true", set)
	refused(t, s, http.MethodGet, "/api/v1/applicationsets/sets", "", 404, "not found")
	must(t, s, http.MethodPost, "/api/v1/applicationsets", set)
	if got := s.Counts().ApplicationSets; got != DefaultApplicationSets+1 {
		t.Errorf("%d sets", got)
	}
	refused(t, s, http.MethodPost, "/api/v1/applicationsets", strings.Replace(set, "x-", "y-", 1), 400, "use upsert flag")
	must(t, s, http.MethodPost, "/api/v1/applicationsets?upsert=true", strings.Replace(set, "x-", "y-", 1))
	must(t, s, http.MethodDelete, "/api/v1/applicationsets/sets", "")
	refused(t, s, http.MethodDelete, "/api/v1/applicationsets/sets", "", 404, "not found")
	refused(t, s, http.MethodPost, "/api/v1/applicationsets", strings.Replace(set, `"default"`, `"{{ .p }}"`, 1), 500, "templated")
}

// What writes leave behind is bounded, and a full store still lets go.
func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	var o store
	entry := func(name string, body []byte) *found { return &found{head: head{name: name}, index: -1, body: body} }
	for i := range maxChanged {
		if err := o.putObject(entry(fmt.Sprint(i), []byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.putObject(entry("more", []byte("x"))); err == nil || o.refused != 1 {
		t.Errorf("%v, refused %d", err, o.refused)
	}
	if err := o.putObject(entry("17", []byte("y"))); err != nil {
		t.Errorf("a change of what is there: %v", err)
	}
	if err := o.putObject(entry("17", nil)); err != nil {
		t.Error(err)
	}
	if err := o.putObject(entry("more", make([]byte, maxChangedBytes))); err == nil {
		t.Error("too many bytes are taken")
	}
	if err := o.putObject(entry("more", []byte("x"))); err != nil {
		t.Error(err)
	}
}

// Whatever is asked, the answer is a status with JSON where it says so, and the simulator
// goes on.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/api/v1/applications?selector=env+in+(a,b),!c&fields=items.metadata.name", "")
	f.Add("GET", "/api/v1/projects?fields=items.metadata", "")
	f.Add("POST", "/api/v1/applications", newApp)
	f.Add("PATCH", "/api/v1/applications/billing-admin-dev", `{"patchType":"merge","patch":"{\"spec\":{\"sources\":null}}"}`)
	f.Add("PATCH", "/api/v1/applications/billing-admin-dev", `{"patchType":"merge","patch":"{\"status\":{\"resources\":[1,{}],\"history\":[null]},\"metadata\":{\"labels\":[]}}"}`)
	f.Add("POST", "/api/v1/applications/billing-admin-dev/sync", `{"resources":[{"kind":"x"}],"prune":true}`)
	f.Add("POST", "/api/v1/applicationsets/generate", `{"applicationSet":{"spec":{"generators":[{"clusters":{}}],"template":{"spec":{"project":"default"}}}}}`)
	f.Add("GET", "/api/v1/clusters/https%3A%2F%2F10.41.12.7%3A6443", "")
	f.Add("GET", "/api/v1/applications/billing-admin-dev/logs?tailLines=-1&sinceSeconds=9223372036854775807", "")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if !strings.HasPrefix(path, "/") || strings.Contains(path, "follow") || strings.Contains(path, "stream") || strings.ContainsAny(path, " #\x00") {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		s := sim(t, Options{Applications: 3, Projects: 3, ApplicationSets: 3, SyncTakes: time.Hour})
		for range 2 {
			w := &kept{nowhere: nowhere{header: http.Header{}}}
			s.ServeHTTP(w, r.Clone(t.Context()))
			if w.header.Get("Content-Type") == "application/json" && !strings.Contains(path, "logs") && !json.Valid(w.body) {
				t.Fatalf("%s %s: %.300q is no JSON", method, path, w.body)
			}
		}
		s.Counts()
		if w := do(s, http.MethodGet, "/api/v1/applications?fields=items.metadata.name,items.operation.sync,items.status.operationState.finishedAt,items.status.sync.revision", ""); !json.Valid(w.Body.Bytes()) {
			t.Fatalf("the list is %.300q", w.Body)
		}
	})
}

type kept struct {
	nowhere

	body []byte
}

func (w *kept) Write(p []byte) (int, error) {
	w.body = append(w.body, p...)
	return len(p), nil
}

func FuzzParse(f *testing.F) {
	f.Add("latency=1s,cut=3,html", "a in (b,c),!d,e!=f,g>1")
	f.Add("1,2,3,4", "=")
	f.Fuzz(func(t *testing.T, text, labels string) {
		if o, err := ParseSize(text); err == nil {
			if _, err := New(o); err != nil {
				t.Errorf("%q is read and then refused: %v", text, err)
			}
		}
		if f, err := ParseFaults(text); err == nil && (f.Latency < 0 || f.CutAfter < 0 || f.Status != 0 && f.Status < 400) {
			t.Errorf("%q: %+v", text, f)
		}
		if s, err := parseSelector(labels); err == nil {
			s.matches([]label{{"a", "b"}, {"g", "2"}})
		}
	})
}
