package toolset_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// A writable server gives single objects and takes down what would change them.
type writable struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]string // path below /api/v1/ to JSON
	version string
	wrote   []written
	// answers are given to writes, by method and path; else the object there, else {}.
	answers map[string]string
	refuse  int  // status of every write, if it is not 0
	gone    bool // a write that is refused finds nothing any more
	// after is called after each write.
	after func()
}

// written is one request that changes something.
type written struct {
	Method, Path, Query string
	Body                any
}

func newWritable(t testing.TB, objects map[string]string) *writable {
	s := &writable{objects: objects, version: "v3.5.1", answers: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *writable) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v1/")
	if path == "/api/version" {
		fmt.Fprintf(w, `{"Version":%q}`, s.version)
		return
	}
	if r.Method != http.MethodGet || r.URL.Query().Has("refresh") {
		if s.after != nil {
			defer s.after()
		}
		in := written{Method: r.Method, Path: path, Query: r.URL.RawQuery}
		if body, _ := io.ReadAll(r.Body); len(body) > 0 {
			_ = json.Unmarshal(body, &in.Body)
		}
		s.wrote = append(s.wrote, in)
		if s.refuse != 0 {
			w.WriteHeader(s.refuse)
			if s.gone {
				delete(s.objects, path)
				io.WriteString(w, `{"error":"permission denied or not found","code":5,"message":"permission denied or not found"}`)
				return
			}
			io.WriteString(w, `{"error":"another operation is already in progress","code":9,"message":"another operation is already in progress"}`)
			return
		}
		answer := s.answers[r.Method+" "+path]
		if answer == "" {
			answer = s.objects[strings.Join(strings.Split(path, "/")[:min(2, strings.Count(path, "/")+1)], "/")]
		}
		if answer == "" {
			answer = "{}"
		}
		io.WriteString(w, answer)
		return
	}
	if body, has := s.objects[path]; has {
		io.WriteString(w, body)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	io.WriteString(w, `{"error":"not found","code":5,"message":"not found"}`)
}

// writes gives what was changed since the last time.
func (s *writable) writes() []written {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.wrote
	s.wrote = nil
	return all
}

// writer is the tools that write, against s.
func writer(t testing.TB, s *writable) *toolset.Toolset {
	return newToolset(t, toolset.Options{AllowWrites: true}, clientOf(t, "prod", s.URL, "secret"))
}

// reply is what the tools that write answer.
type reply struct {
	Changed  *bool           `json:"changed"`
	Plan     string          `json:"plan"`
	Done     string          `json:"done"`
	Instance string          `json:"instance"`
	Warnings []string        `json:"warnings"`
	Current  map[string]any  `json:"current"`
	State    map[string]any  `json:"state"`
	Change   json.RawMessage `json:"change"`
	Next     string          `json:"next"`
	Do       struct {
		Tool      string            `json:"tool"`
		Arguments map[string]any    `json:"arguments"`
		Add       map[string]string `json:"the_same_arguments_and"`
	} `json:"to_do_it"`
}

// write calls a tool that writes. An error is that of the tool.
func write(t testing.TB, set *toolset.Toolset, name, arguments string) (reply, string, error) {
	t.Helper()
	for _, tool := range set.Tools() {
		if tool.Name != name {
			continue
		}
		r, err := tool.Run(t.Context(), &builtin.Call{Tool: name, Arguments: json.RawMessage(arguments), Progress: func(float64, float64, string) {}})
		if err != nil {
			return reply{}, "", err
		}
		var out reply
		if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
			t.Fatalf("%s: %v: %s", name, err, r.Text)
		}
		if out.Changed == nil || r.IsError {
			t.Fatalf("%s does not say whether it changed something: %s", name, r.Text)
		}
		return out, r.Text, nil
	}
	t.Fatalf("there is no tool %s", name)
	return reply{}, "", nil
}

const guestbook = `{"metadata":{"name":"guestbook","namespace":"argocd","resourceVersion":"7","labels":{"team":"web"},"finalizers":["resources-finalizer.argocd.argoproj.io"]},
"spec":{"project":"shop","source":{"repoURL":"https://git.example.com/shop.git","path":"guestbook","targetRevision":"v1","helm":{"parameters":[{"name":"db.password","value":"hunter2"},{"name":"replicas","value":"2"}]}},
"destination":{"server":"https://kubernetes.default.svc","namespace":"shop"}},
"status":{"sync":{"status":"OutOfSync","revision":"aaa"},"health":{"status":"Healthy"},
"history":[{"id":3,"revision":"one","deployedAt":"2026-01-01T00:00:00Z"},{"id":4,"revision":"two","deployedAt":"2026-02-01T00:00:00Z"}],
"resources":[{"group":"apps","version":"v1","kind":"Deployment","namespace":"shop","name":"ui","status":"OutOfSync"},{"version":"v1","kind":"Service","namespace":"shop","name":"ui","status":"Synced"},
{"version":"v1","kind":"ConfigMap","namespace":"shop","name":"old","status":"OutOfSync","requiresPruning":true}],
"operationState":{"phase":"Succeeded","startedAt":"2026-02-01T00:00:00Z","finishedAt":"2026-02-01T00:01:00Z","message":"done"}}}`

const several = `{"metadata":{"name":"many","namespace":"argocd"},"spec":{"project":"shop","sources":[{"repoURL":"https://git.example.com/values.git","targetRevision":"v1","ref":"values"},{"repoURL":"https://charts.example.com","chart":"web","targetRevision":"1.0.0"}],
"destination":{"name":"edge","namespace":"shop"},"syncPolicy":{"automated":{"prune":true}}},"status":{"sync":{"status":""},"health":{}}}`

const shop = `{"metadata":{"name":"shop","resourceVersion":"41","generation":9007199254740993},"spec":{"description":"the shop","sourceRepos":["*"],"destinations":[{"server":"*","namespace":"shop"}],"roles":[{"name":"ci","policies":["p, a, b, c, d, allow"],"jwtTokens":[{"iat":1700000000,"id":"x"}]}]}}`

const fleet = `{"metadata":{"name":"fleet","finalizers":["keep.me"]},"spec":{"generators":[],"template":{}},"status":{"resources":[{"name":"fleet-a"},{"name":"fleet-b"}]}}`

// treeOf23 are nodes of one kind and name in 23 namespaces.
var treeOf23 = func() (nodes string) {
	for n := range 23 {
		nodes += fmt.Sprintf(`,{"version":"v1","kind":"ConfigMap","namespace":"n%d","name":"everywhere"}`, n)
	}
	return nodes
}()

var tree = `{"nodes":[{"group":"apps","version":"v1","kind":"Deployment","namespace":"shop","name":"ui"},{"version":"v1","kind":"Service","namespace":"shop","name":"ui"},{"version":"v1","kind":"Pod","namespace":"shop","name":"same"},{"version":"v1","kind":"Pod","namespace":"other","name":"same"}` + treeOf23 + `]}`

func writableObjects() map[string]string {
	return map[string]string{
		"applications/guestbook": guestbook, "applications/many": several, "projects/shop": shop, "applicationsets/fleet": fleet,
		"applications/guestbook/resource-tree":    tree,
		"applications/guestbook/resource/actions": `{"actions":[{"name":"restart"},{"name":"resume","disabled":true}]}`,
		"applications/guestbook/syncwindows":      `{"canSync":false,"assignedWindows":[{"kind":"allow","schedule":"0 6 * * 5","duration":"1h"}]}`, // closed, and no other is open
	}
}
