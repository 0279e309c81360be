package toolset_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

// Applications give their cluster by address or by name, and who asks for one means both.
func TestApplicationsOfACluster(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, lasting())
	apps, clusters := recordedObjects(t, argocd.Applications), recordedObjects(t, argocd.Clusters)
	sum := 0
	for i, cluster := range clusters {
		name, address := cluster["name"].(string), cluster["server"].(string)
		byName, byAddress := 0, 0
		for _, app := range apps {
			if at(app, "spec", "destination", "name") == name {
				byName++
			} else if at(app, "spec", "destination", "server") == address {
				byAddress++
			}
		}
		sum += byName + byAddress
		spellings := []string{name, address, strings.ToUpper(name), address + "/", strings.TrimPrefix(address, "https://")}
		if i%3 > 0 {
			spellings = spellings[i%3-1 : i%3]
		}
		for _, called := range spellings {
			arguments, _ := json.Marshal(map[string]string{"cluster": called})
			got, text := ask[pageOf](t, set, "list_applications", string(arguments))
			if got.Pagination.TotalItems != byName+byAddress || strings.TrimSpace(strings.ReplaceAll(got.Note, "Rows are short here: a smaller page_size or a filter shows more.", "")) != "" && byName+byAddress > 0 {
				t.Errorf("%s: %d applications, want %d by name and %d by address; note %q", called, got.Pagination.TotalItems, byName, byAddress, got.Note)
			}
			if len(text) > maxApplications {
				t.Errorf("%s: %d bytes", called, len(text))
			}
		}
	}
	if sum == 0 || sum > len(apps) {
		t.Fatalf("%d applications on all clusters", sum)
	}
	// What was kept for one cluster is not shown for another, nor for all.
	if got, _ := ask[pageOf](t, set, "list_applications", `{}`); got.Pagination.TotalItems != 819 {
		t.Errorf("%d applications in all", got.Pagination.TotalItems)
	}
	got, _ := ask[pageOf](t, set, "list_applications", `{"cluster":"nosuch"}`)
	if got.Pagination.TotalItems != 0 || !strings.Contains(got.Note, `"nosuch"`) || !strings.Contains(got.Note, "cluster_service__list") {
		t.Errorf("%+v", got)
	}
	// Who may not read clusters still gets what applications say themselves.
	server.mu.Lock()
	server.instead = func(w http.ResponseWriter, _ *http.Request, kind argocd.Kind) bool {
		if kind != argocd.Clusters {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"error":"permission denied","code":7,"message":"permission denied"}`)
		return true
	}
	server.mu.Unlock()
	got, _ = ask[pageOf](t, set, "list_applications", `{"cluster":"in-cluster"}`)
	want := 0
	for _, app := range apps {
		if at(app, "spec", "destination", "name") == "in-cluster" || at(app, "spec", "destination", "server") == "https://kubernetes.default.svc" {
			want++
		}
	}
	if got.Pagination.TotalItems != want || !strings.Contains(got.Note, "may not be read") {
		t.Errorf("in-cluster: %d applications, want %d; note %q", got.Pagination.TotalItems, want, got.Note)
	}
}

// longNames is an installation whose names are as long as Kubernetes has them.
func longNames(t *testing.T) *httptest.Server {
	long := strings.Repeat("abcdefghi-", 25) // 253 bytes are allowed in a name
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var items []any
		for i := range 40 {
			id := string(rune('a'+i/26)) + string(rune('a'+i%26))
			metadata := map[string]any{"name": long[:60] + id, "namespace": "argocd", "labels": map[string]string{"team": "x-" + long[:50]}}
			source := map[string]any{"repoURL": "https://git.example.com/" + long + "/" + id + ".git", "path": "deploy/" + long, "targetRevision": long[:200]}
			to := map[string]any{"server": "https://" + long[:180] + ".example.com:6443", "namespace": long[:60]}
			spec := map[string]any{"project": long[:50], "destination": to, "sources": []any{source, source, source}}
			if strings.HasSuffix(r.URL.Path, "/applicationsets") {
				spec = map[string]any{"template": map[string]any{"metadata": map[string]any{"name": long}, "spec": spec}, "generators": []any{map[string]any{"git": map[string]any{"repoURL": "https://" + long}}}}
			}
			item := map[string]any{"metadata": metadata, "spec": spec, "status": map[string]any{"health": map[string]any{"status": "Degraded"}, "sync": map[string]any{"status": "OutOfSync"}}}
			switch {
			case strings.HasSuffix(r.URL.Path, "/projects"):
				item["spec"] = map[string]any{"description": "a " + strings.Repeat("long description ", 20), "sourceRepos": []string{long, "b" + long}, "destinations": []any{to, to, to}}
			case strings.HasSuffix(r.URL.Path, "/clusters"):
				item = map[string]any{"name": metadata["name"], "server": to["server"], "labels": metadata["labels"], "namespaces": []string{long, "c" + long}}
			case strings.HasSuffix(r.URL.Path, "/version"):
				io.WriteString(w, `{"Version":"v2.10.0"}`)
				return
			}
			items = append(items, item)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{}, "items": items}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// An installation may be unlike any that was recorded: what is default stays small anyhow,
// and says what rows have lost.
func TestLongRowsAreShortened(t *testing.T) {
	t.Parallel()
	set := newToolset(t, toolset.Options{}, clientOf(t, "a", longNames(t).URL, ""))
	for tool, arguments := range everything {
		bound := maxAnswer
		if tool == "list_applications" {
			bound = maxApplications
		}
		if tool == "search_argocd_resources" {
			arguments = `{"query":"x-abc"}`
		}
		text, failed := callTool(t, set, nil, tool, arguments)
		if failed || len(text) > bound || !json.Valid([]byte(text)) {
			t.Errorf("%s: %d bytes, failed %v", tool, len(text), failed)
		}
		if !strings.Contains(text, "Rows are short here: a smaller page_size") {
			t.Errorf("%s does not say that rows were shortened: %.300s", tool, text)
		}
		small := strings.Replace(strings.Replace(arguments, "{}", "{,}", 1), "{", `{"page_size":1,`, 1)
		small = strings.Replace(small, ",,}", "}", 1)
		if text, failed := callTool(t, set, nil, tool, small); failed || strings.Contains(text, "Rows are short here") {
			t.Errorf("%s %s: %.300s", tool, small, text)
		}
		if text, failed := callTool(t, set, nil, tool, strings.Replace(small, `"page_size":1`, `"page_size":40`, 1)); failed || strings.Contains(text, "Rows are short here") {
			t.Errorf("%s: what was asked for was cut: %.300s", tool, text)
		}
	}
	if got, _ := ask[pageOf](t, set, "list_applications", `{}`); len(got.Items) != min(40, got.Pagination.PageSize) || got.Pagination.TotalItems != 40 || got.Summary.Health["Degraded"] != 40 {
		t.Errorf("%d items of %d", len(got.Items), got.Pagination.TotalItems)
	}
}
