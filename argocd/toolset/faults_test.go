package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/argocd"
	"github.com/plimsoll/plimsoll/argocd/toolset"
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

// A server that has just started shows nothing for a moment.
func TestServerThatHasJustStarted(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, toolset.Options{})
	first := true
	server.instead = func(w http.ResponseWriter, _ *http.Request, _ argocd.Kind) bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		if !first {
			return false
		}
		first = false
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"metadata":{"resourceVersion":""},"items":null}`)
		return true
	}
	got, _ := ask[pageOf](t, set, "cluster_service__list", `{}`)
	if got.Pagination.TotalItems != 13 {
		t.Errorf("%d clusters", got.Pagination.TotalItems)
	}
}
