package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/tools/gateway"
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
