package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/limit"
)

// api plays the part of an API server that these tests need: it keeps objects and selects by the label of a job. before may answer in its place.
type api struct {
	before func(w http.ResponseWriter, r *http.Request) bool
	log    func(w http.ResponseWriter, r *http.Request)
	kueue  bool

	mu      sync.Mutex
	objects map[string][]object // by their plural
	asked   []string
	changes chan struct{} // what a watch of pods waits for
}

func (a *api) put(plural string, o object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[plural] = append(a.objects[plural], o)
}

// set replaces what there is of a kind, and wakes who watches.
func (a *api) set(plural string, all ...object) {
	a.mu.Lock()
	a.objects[plural] = all
	a.mu.Unlock()
	select {
	case a.changes <- struct{}{}:
	default:
	}
}

func (a *api) all(plural string) []object {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.objects[plural])
}

func metaOf(o object) object { m, _ := o["metadata"].(map[string]any); return m }

func refuse(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{"kind": "Status", "message": message})
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	a.mu.Unlock()
	if a.before != nil && a.before(w, r) {
		return
	}
	a.serve(w, r)
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	at := slices.Index(parts, "namespaces")
	switch {
	case r.URL.Path == "/apis/kueue.x-k8s.io" && a.kueue:
		_ = json.NewEncoder(w).Encode(object{"preferredVersion": object{"groupVersion": "kueue.x-k8s.io/v1beta2"}})
		return
	case at < 0 || len(parts) < at+3:
		refuse(w, 404, "the server could not find the requested resource")
		return
	case parts[len(parts)-1] == "log":
		a.log(w, r)
		return
	}
	plural, name := parts[at+2], strings.Join(parts[at+3:], "/")
	find := func() int {
		return slices.IndexFunc(a.objects[plural], func(o object) bool { return metaOf(o)["name"] == name })
	}
	if r.URL.Query().Get("watch") != "" {
		select {
		case <-a.changes:
			_, _ = io.WriteString(w, `{"type":"MODIFIED"}`+"\n")
		case <-r.Context().Done():
		}
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		var o object
		_ = json.NewDecoder(r.Body).Decode(&o)
		name, _ = metaOf(o)["name"].(string)
		if find() >= 0 {
			refuse(w, 409, fmt.Sprintf("%s %q already exists", plural, name))
			return
		}
		metaOf(o)["uid"] = "uid-of-" + name
		a.objects[plural] = append(a.objects[plural], o)
		w.WriteHeader(201)
		_ = json.NewEncoder(w).Encode(o)
	case http.MethodDelete:
		var options struct {
			PropagationPolicy string
			Preconditions     struct{ UID string }
		}
		_ = json.NewDecoder(r.Body).Decode(&options)
		switch i := find(); {
		case i < 0:
			refuse(w, 404, "not found")
		case options.Preconditions.UID != metaOf(a.objects[plural][i])["uid"] || options.PropagationPolicy != "Background":
			refuse(w, 409, "the UID in the precondition does not match")
		default:
			a.objects[plural] = slices.Delete(a.objects[plural], i, i+1)
		}
	case http.MethodGet:
		if name != "" {
			if i := find(); i >= 0 {
				_ = json.NewEncoder(w).Encode(a.objects[plural][i])
			} else {
				refuse(w, 404, plural+" not found")
			}
			return
		}
		list := []object{}
		names, selects := strings.CutPrefix(r.URL.Query().Get("labelSelector"), labelKey+" in (")
		for _, o := range a.objects[plural] {
			labels, _ := metaOf(o)["labels"].(map[string]any)
			if label, _ := labels[labelKey].(string); !selects || slices.Contains(strings.Split(strings.TrimSuffix(names, ")"), ","), label) {
				list = append(list, o)
			}
		}
		_ = json.NewEncoder(w).Encode(object{"metadata": object{"resourceVersion": "1"}, "items": list})
	}
}

// start serves an API and returns an engine that speaks to it, as people have it: by a kubeconfig.
func start(t *testing.T, a *api, o Options) *Engine {
	t.Helper()
	a.objects, a.changes = map[string][]object{}, make(chan struct{}, 100)
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("current-context: lab/one\ncontexts: [{name: lab/one, context: {cluster: c, namespace: agents}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", server.URL)
	testfile.Write(t, config, text)
	t.Setenv("KUBECONFIG", config)
	o.Open = func(context, namespace string) (*kubeapi.Cluster, error) {
		c, err := kubeapi.Open(context, namespace)
		if err == nil {
			c.Waits = []time.Duration{0}
		}
		return c, err
	}
	if o.Told == nil {
		o.Told = func(text string) { t.Log(text) }
	}
	e := New(o)
	e.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return e
}

func images() Options { return Options{Image: "agent:1", Plimsoll: "plimsoll:1"} }

func newJob(argv ...string) *jobs.Job {
	return &jobs.Job{
		ID: "claude-1", Tool: "claude", Argv: argv, Flags: []string{"--memory-max=2147483648", "--wait"},
		Memory: 900 * limit.MiB, MemoryLimit: 2 * limit.GiB, CPUs: 1.5, Time: time.Hour,
	}
}

// as reads a part of an object, by a path of names and indexes.
func as(t *testing.T, o any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := o.(map[string]any)
			if !ok {
				t.Fatalf("%v: no object at %q", path, step)
			}
			o = m[step]
		case int:
			list, ok := o.([]any)
			if !ok || len(list) <= step {
				t.Fatalf("%v: no list at %d", path, step)
			}
			o = list[step]
		}
	}
	return o
}

func text(v any) string {
	body, _ := json.Marshal(v)
	return string(body)
}
