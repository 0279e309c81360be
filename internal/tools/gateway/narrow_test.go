package gateway_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
)

// A search that is bounded lower by the settings tells the same of what it does not show.
func TestALowerBoundOfSearchesHasItsBreakdown(t *testing.T) {
	list := `[` + strings.TrimSuffix(strings.Repeat(`{"name":"alpha"},{"name":"beta"},`, 200), ",") + `]`
	up := &scripted{answers: map[string]string{"tools/call": `{"content":[{"type":"text","text":"` + strings.ReplaceAll(list, `"`, `\"`) + `"}]}`}}
	s := gateway.New(gateway.Options{Name: "t", Next: up, Spool: newSpool(t, nil), Settings: gateway.Settings{MaxSearch: 50}})
	c := onPeer(t, s, false)
	handle := c.ok(c.call("read", `{}`)).Meta.Page.Handle
	text := c.ok(c.call("result_search", `{"handle":"`+handle+`","pattern":"alpha|beta"}`)).text()
	if !strings.Contains(text, "more than the 50") || !strings.Contains(text, `"alpha" 200 times`) || !strings.Contains(text, ": 40 40 40") {
		t.Errorf("%s", text)
	}
}
