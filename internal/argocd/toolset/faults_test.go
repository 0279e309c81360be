package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// everything is a call of each tool.
var everything = map[string]string{
	"list_applications": `{}`, "project_list": `{}`, "applicationset_list": `{}`, "cluster_service__list": `{}`,
	"search_argocd_resources": `{"query":"billing"}`,
}

// A list that breaks off is an error wherever it does, and no row of it is shown.
func TestListsThatBreakOff(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, lasting())
	for _, part := range []int{1, 50, 99} {
		server.mu.Lock()
		server.instead = func(w http.ResponseWriter, r *http.Request, kind argocd.Kind) bool {
			name := string(kind)
			if kind == argocd.Applications && r.URL.Query().Has("fields") {
				name = "applications-fields"
			}
			body := recordedBody(t, name)
			w.Header().Set("Content-Type", "application/json")
			w.Write(body[:len(body)*part/100])
			return true
		}
		server.mu.Unlock()
		for tool, arguments := range everything {
			text := refusedWith(t, set, tool, arguments)
			if strings.Contains(text, `"items"`) || strings.Contains(text, `"results"`) {
				t.Errorf("%s at %d %%: shows something: %.300s", tool, part, text)
			}
		}
	}
	// The last byte counts, and a connection that dies is told as such.
	server.mu.Lock()
	server.instead = func(w http.ResponseWriter, _ *http.Request, kind argocd.Kind) bool {
		body := recordedBody(t, string(kind))
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body[:len(body)-1])
		return true
	}
	server.mu.Unlock()
	for tool, arguments := range everything {
		refusedWith(t, set, tool, arguments)
	}
	// What broke off is not kept: the next call reads again.
	server.mu.Lock()
	server.instead = nil
	server.mu.Unlock()
	for tool, arguments := range everything {
		if text, failed := callTool(t, set, nil, tool, arguments); failed {
			t.Errorf("%s: after it is whole again: %s", tool, text)
		}
	}
}

// answering has the server give the same answer for everything.
func answering(server *recordedServer, status int, contentType, body string) {
	server.mu.Lock()
	defer server.mu.Unlock()
	server.instead = func(w http.ResponseWriter, _ *http.Request, _ argocd.Kind) bool {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
		return true
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	const expired = `{"error":"invalid session: token has invalid claims: token is expired","code":16,"message":"invalid session: token has invalid claims: token is expired"}`
	const login = `<!DOCTYPE html><html><head><title>Sign in</title></head><body><form action="/login"></form></body></html>`
	for _, test := range []struct {
		name, contentType, body string
		status                  int
		words                   []string
	}{
		{"expired token", "application/json", expired, 401, []string{"expired"}},
		{"login page", "text/html; charset=utf-8", login, 200, []string{"web page", "check the URL"}},
		{"forbidden", "application/json", `{"error":"permission denied","code":7,"message":"permission denied"}`, 403, []string{"permission denied"}},
		{"no list", "application/json", `{"items":{"a":1}}`, 200, nil},
		{"no JSON", "application/json", `items: []`, 200, nil},
		{"another path", "text/plain", "Not Found\n", 404, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set, server := recordedToolset(t, toolset.Options{})
			answering(server, test.status, test.contentType, test.body)
			for tool, arguments := range everything {
				text := refusedWith(t, set, tool, arguments, test.words...)
				if strings.Contains(text, "configured") && strings.Contains(text, "Bearer") {
					t.Errorf("%s: the error shows the token: %s", tool, text)
				}
				if len(text) > 4096 || strings.Contains(text, "<form") {
					t.Errorf("%s: the error repeats the answer: %.600s", tool, text)
				}
				t.Logf("%s: %s", tool, text)
			}
		})
	}
}

// A kind that cannot be read is told, and the search is not called exhaustive.
func TestSearchWithAKindThatIsForbidden(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, toolset.Options{})
	server.instead = func(w http.ResponseWriter, _ *http.Request, kind argocd.Kind) bool {
		if kind != argocd.Clusters {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"error":"permission denied","code":7,"message":"permission denied"}`)
		return true
	}
	got, _ := ask[foundIn](t, set, "search_argocd_resources", `{"query":"billing"}`)
	if _, counted := got.Searched["clusters"]; got.Exhaustive || counted || !strings.Contains(got.Failed["clusters"], "permission denied") ||
		got.Progress.Status != "incomplete" || !strings.Contains(got.Progress.Message, "clusters") || got.Total == 0 {
		t.Errorf("%+v", got)
	}
}

// A caller that goes away takes the reading back.
func TestCallsThatAreTakenBack(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, toolset.Options{})
	began, ended := make(chan struct{}, 8), make(chan struct{}, 8)
	server.mu.Lock()
	server.instead = func(w http.ResponseWriter, r *http.Request, _ argocd.Kind) bool {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"metadata":{},"items":[`)
		http.NewResponseController(w).Flush()
		began <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
		return true
	}
	server.mu.Unlock()
	for _, tool := range set.Tools() {
		if everything[tool.Name] == "" || tool.Name == "search_argocd_resources" {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := tool.Run(ctx, &builtin.Call{Tool: tool.Name, Arguments: json.RawMessage(everything[tool.Name]), Progress: func(float64, float64, string) {}})
			done <- err
		}()
		<-began
		cancel()
		if err := <-done; err == nil {
			t.Errorf("%s was answered", tool.Name)
		}
		<-ended
	}
}

// A server that has just started shows nothing for a moment: that is waited for, and is never an empty list.
func TestServerThatHasJustStarted(t *testing.T) {
	t.Parallel()
	o := simulator.Options{Applications: 60, Projects: 30, ApplicationSets: 20, Clusters: 13}
	for tool, want := range map[string]int{"list_applications": 60, "project_list": 30, "applicationset_list": 20, "cluster_service__list": 13} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Faults.HalfStarted = 3
			if tool == "cluster_service__list" {
				o.Faults.HalfStarted = 1 // it never tells a version: the second answer is taken as it is
			}
			set, _ := simulated(t, o, lasting())
			for range 2 { // the second time from the snapshot
				if got, _ := ask[pageOf](t, set, tool, `{}`); got.Pagination.TotalItems != want {
					t.Errorf("%d of %d", got.Pagination.TotalItems, want)
				}
			}
		})
	}
	t.Run("search", func(t *testing.T) {
		t.Parallel()
		o := o
		o.Faults.HalfStarted = 4
		set, _ := simulated(t, o, lasting())
		got, _ := ask[foundIn](t, set, "search_argocd_resources", `{"query":"zzz"}`)
		if want := map[string]int{"applications": 60, "projects": 30, "applicationsets": 20, "clusters": 13}; !maps.Equal(got.Searched, want) {
			t.Errorf("searched %v, want %v", got.Searched, want)
		}
	})
}

// What a server says that does not come to an end with its start is an error, and nothing of it is kept.
func TestServerThatIsStillStarting(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, lasting())
	for tool, arguments := range everything {
		if tool == "cluster_service__list" {
			continue // never tells a version
		}
		answering(server, http.StatusOK, "application/json", `{"items":null,"metadata":{}}`)
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		for _, of := range set.Tools() {
			if of.Name != tool {
				continue
			}
			if result, err := of.Run(ctx, &builtin.Call{Tool: tool, Arguments: json.RawMessage(arguments)}); err == nil && !result.IsError {
				t.Errorf("%s: %s", tool, result.Text)
			}
		}
		cancel()
		server.mu.Lock()
		server.instead = nil
		server.mu.Unlock()
		if text, failed := callTool(t, set, nil, tool, arguments); failed || strings.Contains(text, `"total_items":0`) {
			t.Errorf("%s: %.300s", tool, text)
		}
	}
}
