package prompt_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/prompt"
)

func TestAListIsAnsweredWithTheSearchToMakeOnce(t *testing.T) {
	specs := []agent.ToolSpec{
		{Name: "a__list_things", ReadOnly: true},
		{Name: "b__list_applications", ReadOnly: true},
		{Name: "a__find_things", ReadOnly: true, Schema: json.RawMessage(`{"properties":{"word":{"type":"string"},"most":{"type":"integer"}},"required":["word","most"]}`)},
		{Name: "b__search_resources", ReadOnly: true, Schema: json.RawMessage(`{"properties":{"query":{"type":"string"},"page":{"type":"integer"}}}`)},
		{Name: "get_one", ReadOnly: true},
	}
	forced := true
	gate := func() func(string) string {
		g := prompt.SearchFirst(specs, func() bool { return forced })
		return func(name string) string { return g(agent.Call{Name: name}) }
	}
	g := gate()
	if g("get_one") != "" {
		t.Error("what is no list is answered")
	}
	if text := g("b__list_applications"); !strings.HasPrefix(text, "Search first: ") || !strings.Contains(text, `Call b__search_resources with {"query":"…"},`) || !strings.Contains(text, "call b__list_applications once more") {
		t.Errorf("it says %q", text)
	}
	if text := g("b__list_applications") + g("a__list_things"); text != "" {
		t.Errorf("a second time it says %q", text)
	}
	if text := gate()("a__list_things"); !strings.Contains(text, `Call a__find_things with {"most":1,"word":"…"},`) {
		t.Errorf("of another server it says %q", text)
	}
	g = gate()
	if text := g("b__search_resources") + g("b__list_applications"); text != "" {
		t.Errorf("after a search it says %q", text)
	}
	forced = false
	if text := gate()("b__list_applications"); text != "" {
		t.Errorf("with all of its memory it says %q", text)
	}
	if prompt.SearchFirst(specs[:2], func() bool { return true }) != nil {
		t.Error("without a search a list is refused")
	}
}
