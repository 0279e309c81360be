package toolbox_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// What was kept of a result is read again by the call that Keep says; of a page it names the result that is kept already.
func TestWhatLeavesTheWindowIsReadAgain(t *testing.T) {
	b, err := toolbox.New(t.Context(), toolbox.Options{Functions: []builtin.Tool{{
		Name: "log", Description: "Reads a log.", Input: json.RawMessage(`{"type":"object"}`),
		Run: func(context.Context, *builtin.Call) (*builtin.Result, error) {
			return &builtin.Result{Text: strings.Repeat("a line of the log\n", 2000)}, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	read := func(how string) string {
		t.Helper()
		name, arguments, _ := strings.Cut(how, " ")
		out, err := b.Call(t.Context(), agent.Call{ID: "1", Name: name, Arguments: arguments}, func(string) {})
		if err != nil || out.Failed {
			t.Fatalf("%s: %v, %.300q", how, err, out.Text)
		}
		return out.Text
	}
	if text := read(b.Keep("log", "the tag v1.4.2\nis missing")); !strings.HasPrefix(text, "the tag v1.4.2\nis missing") {
		t.Errorf("it reads %q", text)
	}
	page := read("log {}")
	if how := b.Keep("log", page); !strings.Contains(page, strings.TrimPrefix(how, "result_page ")[:20]) || !strings.HasPrefix(read(how), "a line of the log") {
		t.Errorf("of a page it says %q", how)
	}
}
