package simulator

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestLatticeNamesAreSortedAndFound(t *testing.T) {
	t.Parallel()
	w := loadWords()
	for _, n := range []int{1, 2, 13, 819, 7499, 7500, 7501, 30_000} {
		for _, l := range []nameSequence{newNameSequence(n, w.Domains, w.Components, w.Places), newNameSequence(n, w.Domains, w.Teams)} {
			before := ""
			for i := range n {
				name := l.name(i)
				if name <= before {
					t.Fatalf("%d names: %q follows %q", n, name, before)
				}
				before = name
				if at, ok := l.find(name); !ok || at != i {
					t.Fatalf("%d names: %q is number %d, found as %d %v", n, name, i, at, ok)
				}
			}
		}
	}
	l := newNameSequence(100, w.Domains, w.Components, w.Places)
	for _, name := range []string{"", "-", "billing", "billing-api", "billing-api-", "billing-api-nowhere", "billing-api-dev-02", "billing-api-dev--", strings.Repeat("billing-", 1000)} {
		if i, ok := l.find(name); ok && l.name(i) != name {
			t.Errorf("%q found as %q", name, l.name(i))
		}
	}
}

func TestProjectsHaveDefaultInItsPlace(t *testing.T) {
	t.Parallel()
	for _, n := range []int{None, 1, 2, 236, 500} {
		s := sim(t, Options{Projects: n})
		all := names(items(t, s, "/api/v1/projects"))
		if len(all) != max(n, 0) || !slices.IsSorted(all) || n > 0 && !slices.Contains(all, "default") {
			t.Errorf("%d projects: %d, sorted %v", n, len(all), slices.IsSorted(all))
		}
		for _, name := range all {
			if w := do(s, http.MethodGet, "/api/v1/projects/"+name, ""); w.Code != http.StatusOK {
				t.Errorf("%s: %d", name, w.Code)
			}
		}
	}
}

func TestCountsAreWhatTheListsSay(t *testing.T) {
	t.Parallel()
	single(t)
	for _, o := range []Options{{}, {Seed: 7, Applications: 500, Projects: 40, ApplicationSets: None, Clusters: 300}, {Applications: None, Projects: None, Clusters: None}} {
		s := sim(t, o)
		c := s.Counts()
		health, sync, project := map[string]int{}, map[string]int{}, map[string]int{}
		all := items(t, s, "/api/v1/applications")
		for _, a := range all {
			health[text(a, "status", "health", "status")]++
			sync[text(a, "status", "sync", "status")]++
			project[text(a, "spec", "project")]++
		}
		if c.Applications != len(all) || !maps.Equal(c.Health, health) || !maps.Equal(c.Sync, sync) || !maps.Equal(c.ByProject, project) {
			t.Errorf("%+v: counted %v %v, listed %v %v", o, c.Health, c.Sync, health, sync)
		}
		for kind, n := range map[string]int{"projects": c.Projects, "applicationsets": c.ApplicationSets, "clusters": c.Clusters} {
			if got := len(items(t, s, "/api/v1/"+kind)); got != n {
				t.Errorf("%+v: %d %s, counted %d", o, got, kind, n)
			}
			if s.Requests(kind) != 1 {
				t.Errorf("%d requests of %s", s.Requests(kind), kind)
			}
		}
		if o.Projects != None {
			for name := range project {
				if !s.exists(projects, name) {
					t.Errorf("%+v: project %q has applications and does not exist", o, name)
				}
			}
		}
	}
}

func TestSeedsDifferAndRepeat(t *testing.T) {
	t.Parallel()
	single(t)
	list := func(seed uint64) string {
		return do(sim(t, Options{Seed: seed}), http.MethodGet, "/api/v1/applications", "").Body.String()
	}
	if one, again := list(3), list(3); one != again {
		t.Error("one seed, two installations")
	}
	if list(3) == list(4) {
		t.Error("two seeds, one installation")
	}
}

func TestOneObjectIsTheOneOfTheList(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{Applications: 60})
	for kind, every := range map[string]int{"applications": 1, "projects": 9, "applicationsets": 11} {
		for i, want := range items(t, s, "/api/v1/"+kind) {
			if i%every != 0 {
				continue
			}
			w := do(s, http.MethodGet, "/api/v1/"+kind+"/"+text(want, "metadata", "name"), "")
			var got map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !same(got, want) {
				t.Fatalf("%s %s: %d %v", kind, text(want, "metadata", "name"), w.Code, err)
			}
		}
	}
	for _, want := range items(t, s, "/api/v1/clusters") {
		for _, path := range []string{
			"/api/v1/clusters/" + url.QueryEscape(want["server"].(string)),
			"/api/v1/clusters/" + want["name"].(string) + "?id.type=name",
		} {
			w := do(s, http.MethodGet, path, "")
			var got map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !same(got, want) {
				t.Errorf("%s: %d %v", path, w.Code, err)
			}
		}
	}
	// A colon that is not escaped ends the path, as on the server.
	if w := do(s, http.MethodGet, "/api/v1/clusters/https:%2F%2F10.41.12.7:6443", ""); w.Code != http.StatusNotFound {
		t.Errorf("a colon that is not escaped: %d", w.Code)
	}
}

func TestFiltersSelectWhatAScanSelects(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{Applications: 120})
	all := items(t, s, "/api/v1/applications")
	one := all[16]
	project := text(one, "spec", "project")
	label := func(a map[string]any, key string) string { return text(a, "metadata", "labels", key) }
	has := func(a map[string]any, key string) bool { return lookup(a, "metadata", "labels", key) != nil }
	for query, takes := range map[string]func(map[string]any) bool{
		"limit=3&offset=7&page=2&search=x&sortBy=name": func(map[string]any) bool { return true },
		"projects=" + project:                          func(a map[string]any) bool { return text(a, "spec", "project") == project },
		"project=" + project:                           func(a map[string]any) bool { return text(a, "spec", "project") == project },
		"projects=" + project + "&projects=default":    func(a map[string]any) bool { p := text(a, "spec", "project"); return p == project || p == "default" },
		"projects=" + project + ",default":             func(map[string]any) bool { return false },
		"name=" + text(one, "metadata", "name"):        func(a map[string]any) bool { return text(a, "metadata", "name") == text(one, "metadata", "name") },
		"name=billing":                                 func(map[string]any) bool { return false },
		"appNamespace=argocd":                          func(map[string]any) bool { return true },
		"appNamespace=other":                           func(map[string]any) bool { return false },
		"selector=env%3Dprod":                          func(a map[string]any) bool { return label(a, "env") == "prod" },
		"selector=env+in+(prod,dr),region!%3Dus-east-1": func(a map[string]any) bool {
			return (label(a, "env") == "prod" || label(a, "env") == "dr") && label(a, "region") != "us-east-1"
		},
		"selector=!env": func(a map[string]any) bool { return !has(a, "env") },
		"selector=env,corp.example.net/tier+notin+(gold)":                  func(a map[string]any) bool { return has(a, "env") && label(a, "corp.example.net/tier") != "gold" },
		"repo=https%3A%2F%2Fgit.corp.example.net%2Finfra%2Fdashboards.git": func(map[string]any) bool { return false }, // never the first
		"repo=https%3A%2F%2Fcharts.corp.example.net": func(a map[string]any) bool {
			if many, ok := lookup(a, "spec", "sources").([]any); ok && len(many) > 0 { // the first alone is compared
				return text(many[0].(map[string]any), "repoURL") == "https://charts.corp.example.net"
			}
			return text(a, "spec", "source", "repoURL") == "https://charts.corp.example.net"
		},
	} {
		var want []string
		for _, a := range all {
			if takes(a) {
				want = append(want, text(a, "metadata", "name"))
			}
		}
		if got := names(items(t, s, "/api/v1/applications?"+query)); !slices.Equal(got, want) {
			t.Errorf("%s: %d applications, a scan finds %d", query, len(got), len(want))
		}
	}
	for query, want := range map[string]string{
		"fields=items.metadata,items.nosuch":                      `{}`,
		"fields=items.metadata.name&fields=items.spec.project":    `{"metadata":{"name":"` + text(all[0], "metadata", "name") + `"}}`,
		"fields=items.metadata.name,items.status.sync.status,x.y": `{"metadata":{"name":"` + text(all[0], "metadata", "name") + `"},"status":{"sync":{"status":"` + text(all[0], "status", "sync", "status") + `"}}}`,
	} {
		got := items(t, s, "/api/v1/applications?"+query)
		if len(got) != len(all) || string(marshal(got[0])) != want {
			t.Errorf("%s: %s", query, marshal(got[0]))
		}
	}
	body := do(s, http.MethodGet, "/api/v1/projects?fields=items.metadata.name,items.spec.description", "").Body.String()
	if !strings.HasPrefix(body, `{"items":[{"metadata":{"name":"`) || strings.Contains(body, "sourceRepos") {
		t.Errorf("projects with fields: %.200s", body)
	}
}

func TestUsersSeeTheirProjects(t *testing.T) {
	t.Parallel()
	_, srv := serving(t, Options{Token: adminToken, Tokens: map[string]Access{readerToken: {Name: "reader", Projects: []string{"payments-core", "payments-platform"}}}})
	reader := map[string]string{"Authorization": "Bearer " + readerToken}
	for kind, project := range map[string][]string{"applications": {"spec", "project"}, "projects": {"metadata", "name"}, "applicationsets": {"spec", "template", "spec", "project"}} {
		list := itemsOf(t, ask(t, srv, asking{path: "/api/v1/" + kind, header: reader}).body)
		if len(list) == 0 {
			t.Errorf("no %s", kind)
		}
		for _, i := range list {
			if p := text(i, project...); !strings.HasPrefix(p, "payments-") {
				t.Errorf("%s of %s", kind, p)
			}
		}
	}
	list := itemsOf(t, ask(t, srv, asking{path: "/api/v1/applications", header: reader}).body)
	name := text(list[0], "metadata", "name")
	got := ask(t, srv, asking{method: http.MethodPost, path: "/api/v1/applications/" + name + "/sync", body: `{}`, header: reader})
	if got.status != http.StatusForbidden {
		t.Errorf("a reader syncs: %d %.200s", got.status, got.body)
	}
}

func TestCompressedIsTheSame(t *testing.T) {
	t.Parallel()
	_, srv := serving(t, Options{Applications: 100})
	plain := ask(t, srv, asking{path: "/api/v1/applications"})
	packed := ask(t, srv, asking{path: "/api/v1/applications", header: map[string]string{"Accept-Encoding": "gzip"}})
	z, err := gzip.NewReader(strings.NewReader(string(packed.body)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || string(body) != string(plain.body) || packed.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%d bytes compressed to %d give %d, %v", len(plain.body), len(packed.body), len(body), err)
	}
}

// A large list passes while nothing of it stays; PLIMSOLL_GIB=1 makes it 100,000
// applications.
func TestLargeListIsNotHeld(t *testing.T) {
	n := 20_000
	switch {
	case os.Getenv("PLIMSOLL_GIB") != "":
		n = 100_000
	case raceEnabled:
		n = 5000
	}
	s := sim(t, Options{Applications: n})
	w := &watching{nowhere: nowhere{header: http.Header{}}}
	w.every = int64(n) * 9000 / 10
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	serveTo(s, w, "/api/v1/applications")
	if w.n < int64(n)*8000 || w.n > int64(n)*10_000 {
		t.Errorf("%d applications are %d bytes", n, w.n)
	}
	if w.peak > before+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes while they passed", before, w.peak)
	}
	if got := s.Counts().Applications; got != n {
		t.Errorf("%d of %d are counted", got, n)
	}
}

// watching measures the live heap now and then.
type watching struct {
	nowhere

	every, next int64
	peak        uint64
}

func (w *watching) Write(p []byte) (int, error) {
	if w.n >= w.next {
		w.next = w.n + w.every
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.peak = max(w.peak, m.HeapAlloc)
	}
	return w.nowhere.Write(p)
}

func TestCommonAndRareWords(t *testing.T) {
	t.Parallel()
	single(t)
	s := sim(t, Options{})
	var all []string
	for _, kind := range []string{"applications", "projects", "applicationsets", "clusters"} {
		var list struct{ Items []json.RawMessage }
		if err := json.Unmarshal(do(s, http.MethodGet, "/api/v1/"+kind, "").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		for _, i := range list.Items {
			all = append(all, string(i))
		}
	}
	count := func(word string) int {
		n := 0
		for _, i := range all {
			if strings.Contains(i, word) {
				n++
			}
		}
		return n
	}
	for word, least := range map[string]int{"prod": 500, "team": 500, "corp.example.net": 1000} {
		if n := count(word); n <= least {
			t.Errorf("%q is in %d objects, not in more than %d", word, n, least)
		}
	}
	if n := count("edge-pop-fleet"); n == 0 || n > 100 {
		t.Errorf("a rare word is in %d objects", n)
	}
}
