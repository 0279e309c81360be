package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// A page of a tool's own making is not paged once more, whatever is in it; the tool knows how much the client takes.
func TestAPageOfAToolIsNotPagedAgain(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat(`{"name":"one"},`, 300), ",") + "]"
	var room limit.Bytes
	give := func(paged bool) func(context.Context, *builtin.Call) (*builtin.Result, error) {
		return func(_ context.Context, c *builtin.Call) (*builtin.Result, error) {
			room = c.MaxText
			return &builtin.Result{Text: list, Paged: paged}, nil
		}
	}
	s, err := builtin.New(builtin.Options{Name: "argocd", Tools: []builtin.Tool{tool("page", give(true)), tool("list", give(false))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := connect(t, overHTTP(serveHTTP(t, behind(t, s).Open), "a"), "2025-06-18", nil)
	for name, whole := range map[string]bool{"page": true, "list": false} {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		if text := textOf(t, r); (text == list) != whole {
			t.Errorf("%s: %d of %d bytes: %.200s", name, len(text), len(list), text)
		}
		if room != 10_000 {
			t.Errorf("%s: the tool was told that the client takes %d bytes", name, room)
		}
	}
}
