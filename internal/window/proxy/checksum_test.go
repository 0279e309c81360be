package proxy

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

func TestChecksumOfAnotherBodyIsLeftOut(t *testing.T) {
	t.Parallel()
	const rest = `"messages":[{"role":"user","content":"cch=1a2b3; stays"}]}`
	for name, c := range map[string]struct{ system, want string }{
		"block":          {`[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; cch=1a2b3;"},{"type":"text","text":"x"}]`, `[{"type":"text","text":"x-anthropic-billing-header: cc_version=2;"},{"type":"text","text":"x"}]`},
		"in the middle":  {`"x-anthropic-billing-header: cch=1a2b3; b=1;"`, `"x-anthropic-billing-header: b=1;"`},
		"none":           {`[{"type":"text","text":"x-anthropic-billing-header: cc_version=2;"}]`, ``},
		"another prompt": {`"You know that cch=1a2b3; is nothing"`, ``},
		"no end":         {`"x-anthropic-billing-header: cch=1a2b3"`, ``},
		"far end":        {`"x-anthropic-billing-header: cch=` + strings.Repeat("1", 64) + `;"`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.system
			}
			r, err := wire.Parse(wire.Messages, []byte(`{"model":"m","system":`+c.system+`,`+rest))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(withoutChecksum(r)), `{"model":"m","system":`+c.want+`,`+rest; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	r, err := wire.Parse(wire.Chat, []byte(`{"model":"m","messages":[{"role":"system","content":"x-anthropic-billing-header: cch=1a2b3;"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(withoutChecksum(r)) != string(r.Body) {
		t.Error("another dialect was changed")
	}
}
