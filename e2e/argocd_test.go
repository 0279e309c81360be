//go:build linux || darwin

package e2e

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

// The Argo CD server through the command itself.

// argocdPage is what its lists answer with.
type argocdPage struct {
	Items      []map[string]any
	Pagination struct {
		Page        int
		TotalItems  int  `json:"total_items"`
		TotalPages  int  `json:"total_pages"`
		HasNext     bool `json:"has_next"`
		ShowingFrom int  `json:"showing_from"`
		ShowingTo   int  `json:"showing_to"`
	}
	Summary struct{ Health, Sync map[string]int }
}

// page reads an answer of a list, which must be whole and small.
func (r reply) page(t *testing.T) (p argocdPage) {
	t.Helper()
	text := r.text()
	if r.Error != nil || r.Result.IsError {
		t.Fatalf("an error: %s", clip(r.raw))
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s", err, clip(text))
	}
	if len(text) > 10_000 {
		t.Errorf("an answer of %d bytes", len(text))
	}
	return p
}

// recordedArgoCD serves the bodies of a real server.
func recordedArgoCD(t *testing.T) *httptest.Server {
	t.Helper()
	bodies := map[string][]byte{}
	for _, kind := range []string{"applications", "projects", "applicationsets", "clusters"} {
		f, err := os.Open(filepath.Join("..", "internal", "argocd", "testdata", "recorded", kind+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err == nil {
			bodies["/api/v1/"+kind], err = io.ReadAll(z)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		switch {
		case r.URL.Path == "/api/version":
			fmt.Fprint(w, `{"Version":"v3.5.1"}`)
		case r.Header.Get("Authorization") != "Bearer "+argocdToken:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"no session information","code":16,"message":"no session information"}`)
		case ok:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

const argocdToken = "e2e-token-of-argocd"

func TestArgoCDRecordedListsHaveTheirTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := recordedArgoCD(t)
	w.variables = append(w.variables, "ARGOCD_SERVER="+server.URL, "ARGOCD_AUTH_TOKEN="+argocdToken)
	c := w.wire("", "argocd").begin()
	for tool, want := range map[string]int{"list_applications": 819, "project_list": 236, "applicationset_list": 287, "cluster_service__list": 13} {
		p := c.call(tool, `{}`).page(t)
		if p.Pagination.TotalItems != want || len(p.Items) != min(20, want) || p.Pagination.TotalPages != (want+19)/20 || p.Pagination.ShowingTo != min(20, want) {
			t.Errorf("%s: %+v with %d items, want %d in all", tool, p.Pagination, len(p.Items), want)
		}
		last := c.call(tool, fmt.Sprintf(`{"page":%d}`, p.Pagination.TotalPages)).page(t)
		if last.Pagination.HasNext || last.Pagination.ShowingTo != want {
			t.Errorf("%s, last page: %+v", tool, last.Pagination)
		}
		if r := c.call(tool, `{"page":999}`); !strings.Contains(r.text(), fmt.Sprint(p.Pagination.TotalPages)) || r.Result == nil || !r.Result.IsError {
			t.Errorf("%s beyond the end: %s", tool, clip(r.raw))
		}
	}
	p := c.call("list_applications", `{"page":7}`).page(t)
	if h := p.Summary.Health; h["Healthy"] != 584 || h["Degraded"] != 76 || h["Progressing"] != 63 || h["Unknown"] != 32 || h["Missing"] != 29 || h["Suspended"] != 25 {
		t.Errorf("health of all, on page 7: %v", h)
	}
	if s := p.Summary.Sync; s["Synced"] != 609 || s["OutOfSync"] != 148 || s["Unknown"] != 52 {
		t.Errorf("sync of all, on page 7: %v", s)
	}
	if r := c.call("search_argocd_resources", `{"query":"[broken"}`); r.Result == nil || !r.Result.IsError || !strings.Contains(r.text(), "literal") {
		t.Errorf("an invalid pattern: %s", clip(r.raw))
	}
	if r := c.call("search_argocd_resources", `{"query":"."}`); r.Result == nil || !r.Result.IsError || !strings.Contains(r.text(), "1,355") && !strings.Contains(r.text(), "1355") {
		t.Errorf("more matches than are given out: %s", clip(r.raw))
	}
	c.end()
}

func TestArgoCDThatCannotBeUsedIsToldApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := recordedArgoCD(t)
	for _, c := range []struct {
		what string
		env  []string
		args []string
		want []string
	}{
		{"no token", []string{"ARGOCD_SERVER=" + server.URL}, nil, []string{"token"}},
		{"nobody listens", []string{"ARGOCD_SERVER=http://" + freePort(t), "ARGOCD_AUTH_TOKEN=x"}, nil, []string{"127.0.0.1", "refused"}},
		{"a login page", nil, []string{"--simulator=10", "--faults", "html"}, []string{"Argo CD"}},
		{"an expired token", nil, []string{"--simulator=10", "--faults", "expired"}, []string{"expired"}},
		{"a list that breaks off", nil, []string{"--simulator=100", "--faults", "cut=20000"}, []string{"broke"}},
		{"an error of the server", nil, []string{"--simulator=10", "--faults", "status=500"}, []string{"500"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newWorld(t)
			w.variables = c.env
			client := w.wire("", append([]string{"argocd"}, c.args...)...).begin()
			r := client.call("list_applications", `{}`)
			if r.Result == nil || !r.Result.IsError {
				t.Fatalf("no error: %s", clip(r.raw))
			}
			for _, words := range c.want {
				if !strings.Contains(strings.ToLower(r.text()), strings.ToLower(words)) {
					t.Errorf("does not say %q: %s", words, r.text())
				}
			}
			if strings.Contains(r.raw, argocdToken) {
				t.Errorf("the token is shown: %s", clip(r.raw))
			}
			client.end()
		})
	}
	if r := w.run(nil, plimsoll, "mcp", "argocd"); r.status != 125 || !strings.Contains(r.stderr, "argocd_simulator") || !strings.Contains(r.stderr, "ARGOCD_SERVER") {
		t.Errorf("without any Argo CD: status %d, %s", r.status, r.stderr)
	}
}

// A hundred thousand applications, 900 MB of JSON: one pass for each answer, in constant memory.
func TestArgoCDHundredThousandApplications(t *testing.T) {
	long(t, "it lists 100,000 applications")
	t.Parallel()
	w := newWorld(t)
	url := newWorld(t).simulator("-size", "100000,1000,1000,50")
	w.variables = append(w.variables, "ARGOCD_SERVER="+url, "ARGOCD_AUTH_TOKEN=any")
	c := w.wire("", "argocd").begin()
	most := watchMemory(c.cmd.Process.Pid)
	passes := func() (n map[string]int64) {
		r, err := http.Get(url + "/-/requests")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, page := range []int{1, 5000} {
		before := passes()["applications"]
		p := c.call("list_applications", fmt.Sprintf(`{"page":%d}`, page)).page(t)
		if p.Pagination.TotalItems != 100_000 || len(p.Items) != 20 || p.Pagination.ShowingTo != 20*page {
			t.Errorf("page %d: %+v, %d items", page, p.Pagination, len(p.Items))
		}
		if n := passes()["applications"] - before; n != 1 {
			t.Errorf("page %d took %d passes", page, n)
		}
	}
	before := passes()
	if r := c.call("search_argocd_resources", `{"query":"prod"}`); r.Result == nil || !r.Result.IsError || !strings.Contains(r.text(), "1000") && !strings.Contains(r.text(), "1,000") {
		t.Errorf("a common word: %s", clip(r.raw))
	}
	after := passes()
	for kind, n := range after {
		if n != before[kind]+1 {
			t.Errorf("a search read %s %d times", kind, n-before[kind])
		}
	}
	got := most()
	t.Logf("most anonymous memory of the server: %s", got.Human())
	if got > 32*limit.MiB || got == 0 && runtime.GOOS == "linux" {
		t.Errorf("the server took %s, want at most 32M", got.Human())
	}
	c.end()
}

// simulator starts a simulated Argo CD in a process of its own and returns its address.
func (w *world) simulator(flags ...string) string {
	w.t.Helper()
	path := filepath.Join(bin, "argocdsim")
	if _, err := exec.LookPath(path); err != nil {
		w.t.Skipf("there is no simulator beside plimsoll (go build -o %s ./internal/argocd/simulator/argocdsim): %v", bin, err)
	}
	ready := filepath.Join(w.t.TempDir(), "simulator")
	w.background(append([]string{path, "-ready-file", ready}, flags...)...)
	url := ""
	w.until("the simulator listens", func() bool {
		text, _ := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return url != ""
	})
	return url
}

// Over HTTP each user acts with a token of his own.
func TestArgoCDUsersHaveTheirOwnTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := recordedArgoCD(t)
	w.variables = []string{"ARGOCD_SERVER=" + server.URL}
	c := &web{t: t, url: w.gateway("argocd", "--user-tokens", "require", "--snapshot-ttl", "1m")}
	c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`)
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if r := c.call("list_applications", `{}`); r.Result == nil || !r.Result.IsError || !strings.Contains(r.text(), "X-Argocd-Api-Token") {
		t.Errorf("without a token: %s", clip(r.raw))
	}
	for _, who := range []struct {
		header, value string
		ok            bool
	}{{"X-Argocd-Api-Token", argocdToken, true}, {"Authorization", "Bearer " + argocdToken, true}, {"X-Argocd-Api-Token", "somebody-else", false}} {
		c := &web{t: t, url: c.url, header: map[string]string{who.header: who.value}}
		c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`)
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		r := c.call("list_applications", `{}`)
		if r.Result == nil || r.Result.IsError == who.ok || strings.Contains(r.raw, who.value) {
			t.Errorf("%s: %s", who.header, clip(r.raw))
		}
	}
}
