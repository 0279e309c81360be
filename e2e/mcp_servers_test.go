//go:build linux || darwin

//lint:file-ignore SA1019 what a newer revision deprecates is in use, and must work

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Real servers from npm behind the gateway, over standard streams and over HTTP, asked by
// the official client: what it gets is what it gets without the gateway, and a large
// result comes in pages.

// wires are the ways to a server command.
var wires = []struct {
	name string
	dial func(w *world, command ...string) mcp.Transport
}{
	{"bare", func(w *world, command ...string) mcp.Transport { return w.stdio(command...) }},
	{"stdio", func(w *world, command ...string) mcp.Transport {
		return w.stdio(slices.Concat([]string{plimsoll, "mcp", "--"}, command)...)
	}},
	{"http", func(w *world, command ...string) mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: w.gateway(append([]string{"--"}, command...)...)}
	}},
}

func (w *world) stdio(command ...string) mcp.Transport {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = w.work, w.node()
	cmd.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: cmd}
}

// node is the environment with the Node.js that the pinned programs need first in PATH.
func (w *world) node() []string {
	bin, err := filepath.Abs(filepath.Join("mcp", "node_modules", ".bin"))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.environment("PATH=" + bin + ":" + os.Getenv("PATH"))
}

// connect is the official client, which answers what servers ask.
func (w *world) connect(t mcp.Transport) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "plimsoll-e2e", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "check": true}}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: fmt.Sprintf("sampled %d", len(r.Params.Messages))}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file://" + w.work, Name: "w"})
	session, err := client.Connect(w.t.Context(), t, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

// call returns the result as JSON, or the error's text.
func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "error: " + err.Error()
	}
	data, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// toolNames lists tools, without those that the gateway adds.
func toolNames(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		if !strings.HasPrefix(tool.Name, "result_") {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestMCPServersWorkThroughTheGateway(t *testing.T) {
	for _, server := range []struct {
		name string
		argv func(w *world) []string
		ask  func(t *testing.T, w *world, s *mcp.ClientSession) []string
	}{
		{
			"everything",
			func(w *world) []string { return []string{pinned(w.t, "mcp-server-everything")} },
			func(t *testing.T, w *world, s *mcp.ClientSession) []string {
				said := []string{
					call(t, s, "echo", map[string]any{"message": "ein <Ümlaut> & \"Zitat\""}),
					call(t, s, "get-sum", map[string]any{"a": 2, "b": 40}),
					call(t, s, "get-tiny-image", nil),
					call(t, s, "get-structured-content", map[string]any{"location": "New York"}),
					call(t, s, "get-annotated-message", map[string]any{"messageType": "error", "includeImage": true}),
					call(t, s, "trigger-elicitation-request", nil),
					call(t, s, "trigger-sampling-request", map[string]any{"prompt": "hello", "maxTokens": 10}),
					call(t, s, "get-roots-list", nil),
					call(t, s, "no-such-tool", nil),
				}
				prompts, err := s.ListPrompts(t.Context(), nil)
				said = append(said, fmt.Sprint(len(prompts.Prompts), err))
				resources, err := s.ListResources(t.Context(), nil)
				said = append(said, fmt.Sprint(len(resources.Resources), err))
				for _, r := range resources.Resources[:min(2, len(resources.Resources))] {
					read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI})
					data, _ := json.Marshal(read)
					said = append(said, fmt.Sprint(string(data), err))
				}
				return said
			},
		},
		{
			"filesystem",
			func(w *world) []string {
				if _, err := os.Stat(filepath.Join(w.work, "notes.txt")); err != nil {
					write(w.t, "first\nsecond\n", w.work, "notes.txt")
				}
				return []string{pinned(w.t, "mcp-server-filesystem"), w.work}
			},
			func(t *testing.T, w *world, s *mcp.ClientSession) []string {
				return []string{
					call(t, s, "read_text_file", map[string]any{"path": filepath.Join(w.work, "notes.txt")}),
					call(t, s, "list_directory", map[string]any{"path": w.work}),
					call(t, s, "read_text_file", map[string]any{"path": "/etc/passwd"}),
				}
			},
		},
		{
			"memory",
			func(w *world) []string { return []string{pinned(w.t, "mcp-server-memory")} },
			func(t *testing.T, w *world, s *mcp.ClientSession) []string {
				return []string{
					call(t, s, "create_entities", map[string]any{"entities": []any{map[string]any{"name": "x", "entityType": "t", "observations": []string{"o"}}}}),
					call(t, s, "read_graph", nil),
					call(t, s, "delete_entities", map[string]any{"entityNames": []string{"x"}}),
				}
			},
		},
	} {
		t.Run(server.name, func(t *testing.T) {
			w := newWorld(t)
			t.Setenv("PATH", filepath.Dir(pinned(t, "node"))+":"+os.Getenv("PATH"))
			var want, names []string
			for _, wire := range wires {
				t.Run(wire.name, func(t *testing.T) {
					w.t = t
					s := w.connect(wire.dial(w, server.argv(w)...))
					got, has := server.ask(t, w, s), toolNames(t, s)
					if wire.name == "bare" {
						want, names = got, has
						return
					}
					for i := range want {
						// The gateway takes outputSchema out, and leaves results as they are.
						if diff := cmp.Diff(want[i], got[i]); diff != "" {
							t.Errorf("answer %d through the gateway (-bare +gateway):\n%s", i, diff)
						}
					}
					if !slices.Equal(names, has) {
						t.Errorf("tools %v, bare %v", has, names)
					}
				})
			}
			w.t = t
		})
	}
}

// A file of 5 MB reaches the client as a page; the rest is paged, searched and asked.
func TestMCPLargeFileComesInPages(t *testing.T) {
	w := newWorld(t)
	t.Setenv("PATH", filepath.Dir(pinned(t, "node"))+":"+os.Getenv("PATH"))
	type app struct {
		Name   string `json:"name"`
		Number int64  `json:"number"`
	}
	var apps []app
	for i := range 60_000 {
		apps = append(apps, app{fmt.Sprintf("application-%05d-%s", i, strings.Repeat("x", 40)), 9007199254740993 + int64(i)})
	}
	write(t, quoted(t, apps), w.work, "apps.json")
	for _, wire := range wires[1:] {
		t.Run(wire.name, func(t *testing.T) {
			w.t = t
			s := w.connect(wire.dial(w, pinned(t, "mcp-server-filesystem"), w.work))
			result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_text_file", Arguments: map[string]any{"path": filepath.Join(w.work, "apps.json")}})
			if err != nil || result.IsError {
				t.Fatalf("%+v, %v", result, err)
			}
			page, ok := result.Content[0].(*mcp.TextContent)
			var first []app
			if !ok || len(page.Text) > 10<<10 || json.Unmarshal([]byte(page.Text), &first) != nil || len(first) == 0 || first[0] != apps[0] {
				t.Fatalf("the first page is not the first items: %.300s", page.Text)
			}
			meta, ok := result.Meta["plimsoll/result"].(map[string]any)
			if !ok || meta["total_items"] != 60000.0 || meta["page"] != 1.0 || meta["complete"] != true {
				t.Fatalf("_meta: %v", result.Meta)
			}
			handle := meta["handle"]
			last := call(t, s, "result_page", map[string]any{"handle": handle, "page": meta["total_pages"]})
			if !strings.Contains(last, "application-59999-") {
				t.Errorf("the last page: %.500s", last)
			}
			found := call(t, s, "result_search", map[string]any{"handle": handle, "pattern": "application-5999[89]-"})
			if !strings.Contains(found, "application-59999-") || !strings.Contains(found, "application-59998-") {
				t.Errorf("search: %.500s", found)
			}
			asked := call(t, s, "result_query", map[string]any{"handle": handle, "query": `.[] | select(.name | startswith("application-41234-")) | .number`})
			if !strings.Contains(asked, fmt.Sprint(9007199254740993+41234)) {
				t.Errorf("query: %.500s", asked)
			}
		})
	}
	w.t = t
}

// cluster plays the API server of a Kubernetes cluster with many pods.
func cluster(t *testing.T, pods int) *httptest.Server {
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	type object = map[string]any
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
	})
	mux.HandleFunc("GET /api", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"kind": "APIVersions", "versions": []string{"v1"}})
	})
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []object{}})
	})
	mux.HandleFunc("GET /api/v1", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"kind": "APIResourceList", "groupVersion": "v1", "resources": []object{
			{"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "verbs": []string{"get", "list"}},
		}})
	})
	list := func(w http.ResponseWriter, _ *http.Request) {
		items := make([]object, pods)
		for i := range items {
			items[i] = object{
				"kind": "Pod", "apiVersion": "v1", "metadata": object{"name": fmt.Sprintf("pod-%05d", i), "namespace": "default"},
				"spec": object{"containers": []object{{"name": "c", "image": "registry.example/app:1"}}}, "status": object{"phase": "Running"},
			}
		}
		answer(w, object{"kind": "PodList", "apiVersion": "v1", "metadata": object{"resourceVersion": "1"}, "items": items})
	}
	mux.HandleFunc("GET /api/v1/pods", list)
	mux.HandleFunc("GET /api/v1/namespaces/default/pods", list)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestMCPKubernetesListOfThousandsOfPods(t *testing.T) {
	w := newWorld(t)
	server := cluster(t, 5000)
	write(t, fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n", server.URL),
		w.home, ".kube", "config")
	t.Setenv("PATH", filepath.Dir(pinned(t, "node"))+":"+os.Getenv("PATH"))
	for _, wire := range wires[1:] {
		t.Run(wire.name, func(t *testing.T) {
			w.t = t
			s := w.connect(wire.dial(w, pinned(t, "kubernetes-mcp-server"), "--list-output", "yaml", "--kubeconfig", filepath.Join(w.home, ".kube", "config")))
			result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "pods_list", Arguments: map[string]any{}})
			if err != nil || result.IsError {
				t.Fatalf("%s, %v", quoted(t, result), err)
			}
			size := 0
			for _, c := range result.Content {
				if text, ok := c.(*mcp.TextContent); ok {
					size += len(text.Text)
				}
			}
			meta, ok := result.Meta["plimsoll/result"].(map[string]any)
			if !ok || size > 11<<10 || meta["bytes"].(float64) < 500_000 {
				t.Fatalf("%d bytes of text, _meta %v", size, result.Meta)
			}
			found := call(t, s, "result_search", map[string]any{"handle": meta["handle"], "pattern": "pod-04999"})
			if !strings.Contains(found, "pod-04999") {
				t.Errorf("search: %.500s", found)
			}
		})
	}
	w.t = t
}

// The Inspector is the client that people try servers with.
func TestMCPInspector(t *testing.T) {
	w := newWorld(t)
	inspector, everything := pinned(t, "mcp-inspector"), pinned(t, "mcp-server-everything")
	ask := func(target []string, args ...string) map[string]any {
		t.Helper()
		got := w.run(func(cmd *exec.Cmd) { cmd.Env = append(w.node(), "MCP_INSPECTOR_SECRET_STORE=memory") },
			slices.Concat([]string{inspector, "--cli"}, target, args)...)
		var said map[string]any
		if got.status != 0 || json.Unmarshal([]byte(got.stdout), &said) != nil {
			t.Fatalf("%v: status %d\n%s\n%s", args, got.status, clip(got.stdout), clip(got.stderr))
		}
		return said
	}
	t.Setenv("PATH", filepath.Dir(everything)+":"+os.Getenv("PATH"))
	targets := map[string][]string{
		"stdio": {plimsoll, "mcp", "--", everything},
		"http":  {w.gateway("--", everything)},
	}
	echo := []string{"--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi"}
	want := quoted(t, ask([]string{everything}, echo...))
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			if got := quoted(t, ask(target, echo...)); got != want {
				t.Errorf("echo: %s, bare %s", got, want)
			}
			list := quoted(t, ask(target, "--method", "tools/list"))
			for _, tool := range []string{`"get-sum"`, `"result_page"`, `"result_search"`, `"result_query"`} {
				if !strings.Contains(list, tool) {
					t.Errorf("tools/list lacks %s", tool)
				}
			}
			if got := quoted(t, ask(target, "--method", "resources/list")); got != quoted(t, ask([]string{everything}, "--method", "resources/list")) {
				t.Errorf("resources/list: %s", got)
			}
		})
	}
}
