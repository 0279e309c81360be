//go:build linux || darwin

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The TypeScript SDK throws a result away that does not validate against the tool's outputSchema, also of a call that has
// taken effect. A real server, whose schemas are closed and demand their members, and results of all sizes.

type typedResult struct {
	Result *struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	Error string
}

func TestMCPTypedClientsTakePages(t *testing.T) {
	w := newWorld(t)
	t.Setenv("PATH", filepath.Dir(pinned(t, "node"))+":"+os.Getenv("PATH"))
	t.Setenv("MEMORY_FILE_PATH", filepath.Join(w.work, "memory.jsonl"))
	script, err := filepath.Abs(filepath.Join("mcp", "typed.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	server := pinned(t, "mcp-server-memory")
	start := func(command ...string) (schemas map[string]json.RawMessage, call func(tool string, arguments any) typedResult) {
		cmd := exec.CommandContext(t.Context(), pinned(t, "node"), append([]string{script}, command...)...)
		cmd.Dir, cmd.Env = w.work, w.node()
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		read := func(to any) {
			t.Helper()
			if !lines.Scan() {
				t.Fatalf("the client ended: %v", lines.Err())
			}
			if err := json.Unmarshal(lines.Bytes(), to); err != nil {
				t.Fatalf("%v: %.300s", err, lines.Bytes())
			}
		}
		read(&schemas)
		return schemas, func(tool string, arguments any) (r typedResult) {
			t.Helper()
			if err := json.NewEncoder(in).Encode(map[string]any{"name": tool, "arguments": arguments}); err != nil {
				t.Fatal(err)
			}
			read(&r)
			return r
		}
	}
	bareSchemas, bare := start(server)
	schemas, call := start(plimsoll, "mcp", "--", server)
	if schema := string(schemas["read_graph"]); !strings.Contains(schema, `"entityType"`) || !strings.Contains(schema, `"required":["name"`) {
		t.Errorf("the schema is %s, the server's %s", schema, bareSchemas["read_graph"])
	}

	entity := func(i int) map[string]any {
		return map[string]any{"name": fmt.Sprint("e", i), "entityType": "t", "observations": []string{strings.Repeat("o", 200)}}
	}
	small := call("create_entities", map[string]any{"entities": []any{entity(0)}})
	if small.Error != "" || small.Result.IsError {
		t.Fatalf("%+v", small)
	}
	own, got := bare("read_graph", map[string]any{}), call("read_graph", map[string]any{})
	if got.Error != "" || string(got.Result.StructuredContent) != string(own.Result.StructuredContent) {
		t.Errorf("a small result is %s (%s), without the gateway %s", got.Result.StructuredContent, got.Error, own.Result.StructuredContent)
	}

	// A call that writes, and answers with all that it has written.
	var many []any
	for i := range 400 {
		many = append(many, entity(i+1))
	}
	for tool, r := range map[string]typedResult{"create_entities": call("create_entities", map[string]any{"entities": many}), "read_graph": call("read_graph", map[string]any{})} {
		if r.Error != "" || r.Result == nil || r.Result.IsError {
			t.Fatalf("%s, of a call that succeeded: %s %+v", tool, r.Error, r.Result)
		}
		if last := r.Result.Content[len(r.Result.Content)-1].Text; !strings.Contains(last, "result_page") {
			t.Errorf("%s: the result was not paged: %.200s", tool, last)
		}
		var part struct {
			Entities []struct{ Name string }
			About    *struct{ Handle, Notice string } `json:"plimsoll/result"`
		}
		if err := json.Unmarshal(r.Result.StructuredContent, &part); err != nil {
			t.Fatal(err)
		}
		if n := len(part.Entities); n <= 3 || n > 20 || part.About == nil || part.About.Handle == "" {
			t.Errorf("%s: %d entities, %+v: %.300s", tool, len(part.Entities), part.About, r.Result.StructuredContent)
		}
	}
	if after := bare("read_graph", map[string]any{}); !strings.Contains(string(after.Result.StructuredContent), `"e400"`) {
		t.Error("the call did not take effect")
	}
}
