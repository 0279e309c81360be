package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/journal"
)

func TestLargeResultsAreToldWhoeverSetALevel(t *testing.T) {
	for _, c := range []struct {
		level string
		bytes int
		want  string
	}{
		{"", 250_000, ""},
		{"debug", 50_000, ""},
		{"debug", 150_000, "warning"},
		{"error", 150_000, ""},
		{"error", 250_000, "alert"},
		{"emergency", 250_000, ""},
	} {
		r := newRig(t, defaultServer, false, gateway.Settings{})
		client := onPeer(t, r.server.Local(), false).begin("someone")
		if c.level != "" {
			client.ok(client.do("logging/setLevel", fmt.Sprintf(`"level":%q`, c.level)))
		}
		a := client.call("big", fmt.Sprintf(`{"kind":"text","bytes":%d}`, c.bytes))
		client.ok(a)
		var told []string
		for _, n := range a.news {
			if strings.Contains(string(n), `"notifications/message"`) {
				told = append(told, string(n))
			}
		}
		switch {
		case c.want == "" && len(told) > 0, c.want != "" && len(told) != 1:
			t.Errorf("%+v: %q", c, told)
		case c.want != "" && (!strings.Contains(told[0], `"level":"`+c.want+`"`) || !strings.Contains(told[0], `\"big\" answered with`)):
			t.Errorf("%+v: %s", c, told[0])
		}
	}
}

// A resource has no tool's name: the warning names the resource.
func TestLargeResourcesAreToldByTheirAddress(t *testing.T) {
	next := &scripted{answers: map[string]string{
		"logging/setLevel": `{}`,
		"resources/read":   `{"contents":[{"uri":"file:///a.log","text":"` + strings.Repeat("line ", 50_000) + `"}]}`,
	}}
	j := journal.New(journal.Options{})
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil), Journal: j}), false)
	c.do("logging/setLevel", `"level":"debug"`)
	a := c.do("resources/read", `"uri":"file:///a.log"`)
	if len(a.news) != 1 || !strings.Contains(string(a.news[0]), `"data":"resources/read of \"file:///a.log\" answered with`) {
		t.Errorf("%q", a.news)
	}
	for r := range j.Since(0) {
		if e, ok := r.Event.(journal.ToolResultLarge); ok && e.Tool != "resources/read" {
			t.Errorf("%+v", e)
		}
	}
}
