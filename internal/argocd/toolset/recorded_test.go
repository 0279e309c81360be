package toolset_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// totals are what the recorded lists hold.
var totals = map[argocd.Kind]int{
	argocd.Applications: 819, argocd.Projects: 236, argocd.ApplicationSets: 287, argocd.Clusters: 13,
}

// listTools are the tools that list, by kind.
var listTools = map[argocd.Kind]string{
	argocd.Applications: "list_applications", argocd.Projects: "project_list",
	argocd.ApplicationSets: "applicationset_list", argocd.Clusters: "cluster_service__list",
}

// recordedBody is a body as a real server sent it.
var recordedBody = func() func(t testing.TB, name string) []byte {
	var (
		mu     sync.Mutex
		bodies = map[string][]byte{}
	)
	return func(t testing.TB, name string) []byte {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if body := bodies[name]; body != nil {
			return body
		}
		f, err := os.Open(filepath.Join("..", "testdata", "recorded", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if bodies[name], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		return bodies[name]
	}
}()

// recordedObjects are the elements of a recorded list, decoded by encoding/json alone.
func recordedObjects(t testing.TB, kind argocd.Kind) []map[string]any {
	t.Helper()
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(recordedBody(t, string(kind)), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// A recordedServer plays the recorded lists. It honours fields= as the real server does for
// applications, and no filter.
type recordedServer struct {
	*httptest.Server
	t testing.TB

	mu     sync.Mutex
	lists  map[argocd.Kind]int // how often each was asked for
	tokens []string            // the Authorization of each list
	// instead answers lists in place of the recorded bodies; false leaves the answer to them.
	instead func(w http.ResponseWriter, r *http.Request, kind argocd.Kind) bool
}

func newRecordedServer(t testing.TB) *recordedServer {
	s := &recordedServer{t: t, lists: map[argocd.Kind]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *recordedServer) serve(w http.ResponseWriter, r *http.Request) {
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	kind := argocd.Kind(last)
	if r.URL.Path == "/api/version" {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"Version":"v3.5.1+109ca7c"}`)
		return
	}
	if totals[kind] == 0 || r.URL.Path != "/api/v1/"+last {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.lists[kind]++
	s.tokens = append(s.tokens, r.Header.Get("Authorization"))
	instead := s.instead
	s.mu.Unlock()
	if instead != nil && instead(w, r, kind) {
		return
	}
	if kind == argocd.Applications && r.URL.Query().Has("fields") {
		last = "applications-fields"
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(recordedBody(s.t, last))
}

// asked is how often a list was asked for.
func (s *recordedServer) asked(kind argocd.Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[kind]
}

// client is a client of that server.
func clientOf(t testing.TB, name, address, token string) *argocd.Client {
	t.Helper()
	o := argocd.Options{Name: name, URL: address}
	if token != "" {
		o.Token = func(context.Context) (string, error) { return token, nil }
	}
	c, err := argocd.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// newToolset is the tools against these instances.
func newToolset(t testing.TB, o toolset.Options, clients ...*argocd.Client) *toolset.Toolset {
	t.Helper()
	o.Instances = clients
	if o.Inventory.Dir == "" {
		o.Inventory.Dir = t.TempDir()
	}
	set, err := toolset.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// recordedToolset is the tools against the recorded lists.
func recordedToolset(t testing.TB, o toolset.Options) (*toolset.Toolset, *recordedServer) {
	t.Helper()
	s := newRecordedServer(t)
	return newToolset(t, o, clientOf(t, "argo", s.URL, "configured")), s
}

// callTool calls a tool as the server of tools does: an error is a text that is one.
func callTool(t testing.TB, set *toolset.Toolset, header http.Header, name, arguments string) (text string, failed bool) {
	t.Helper()
	for _, tool := range set.Tools() {
		if tool.Name != name {
			continue
		}
		r, err := tool.Run(t.Context(), &builtin.Call{
			Tool: name, Arguments: json.RawMessage(arguments), Principal: "p", Header: header,
			Progress: func(done, total float64, text string) {},
		})
		if err != nil {
			return err.Error(), true
		}
		if r.Stream == nil {
			return r.Text, r.IsError
		}
		var b strings.Builder
		if err := r.Stream(t.Context(), &b); err != nil {
			return b.String() + err.Error(), true
		}
		return b.String(), r.IsError
	}
	t.Fatalf("there is no tool %q", name)
	return "", true
}

// ask is callTool for what must succeed and be JSON.
func ask[T any](t testing.TB, set *toolset.Toolset, name, arguments string) (answer T, text string) {
	t.Helper()
	text, failed := callTool(t, set, nil, name, arguments)
	if failed {
		t.Fatalf("%s %s failed: %s", name, arguments, text)
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%s %s is no JSON: %v\n%.500s", name, arguments, err, text)
	}
	return answer, text
}

// refusedWith is callTool for what must be refused, with these words.
func refusedWith(t testing.TB, set *toolset.Toolset, name, arguments string, words ...string) string {
	t.Helper()
	text, failed := callTool(t, set, nil, name, arguments)
	if !failed {
		t.Fatalf("%s %s was answered: %.300s", name, arguments, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s %s: the error has no %q: %s", name, arguments, word, text)
		}
	}
	return text
}

// pageOf is an answer of a tool that lists.
type pageOf struct {
	Instance   string
	Pagination struct {
		Page        int
		PageSize    int  `json:"page_size"`
		TotalItems  int  `json:"total_items"`
		TotalPages  int  `json:"total_pages"`
		HasNext     bool `json:"has_next"`
		HasPrev     bool `json:"has_prev"`
		ShowingFrom int  `json:"showing_from"`
		ShowingTo   int  `json:"showing_to"`
	}
	Summary struct {
		Health, Sync, Connection, Projects map[string]int
		OtherProjects                      int `json:"other_projects"`
		InOtherProjects                    int `json:"in_other_projects"`
	}
	SummaryOnly bool   `json:"summary_only"`
	BaseURL     string `json:"argocd_base_url"`
	Link, Note  string
	LeftOut     []string `json:"left_out"`
	ReadAt      string   `json:"read_at"`
	Next        *struct {
		Tool      string
		Arguments json.RawMessage
	}
	Items []map[string]any
}
