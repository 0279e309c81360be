package gateway_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
)

// What is no large result passes byte for byte, for clients and servers of one protocol version: the
// same requests with the same ids go to the same server, with and without the gateway.
func TestWhatIsNotLargePassesByteForByte(t *testing.T) {
	requests := []struct{ method, params string }{
		{"tools/call", `"name":"echo","arguments":{"text":"<&> \u00e9 \ud83d\ude00 9007199254740993"}`},
		{"tools/call", `"name":"bigint","arguments":{}`},
		{"tools/call", `"name":"unknown_fields","arguments":{}`},
		{"tools/call", `"name":"structured","arguments":{}`},
		{"tools/call", `"name":"image","arguments":{"bytes":5000}`},
		{"tools/call", `"name":"error","arguments":{"text":"no"}`},
		{"tools/call", `"name":"params","arguments":{ "b":1.10, "a":[1,  2], "n":123456789012345678901234567890 }`},
		{"tools/call", `"name":"no_such_tool","arguments":{}`},
		{"tools/call", `"name":"list","arguments":{"items":3}`},
		{"prompts/list", ``},
		{"prompts/get", `"name":"greet","arguments":{"name":"Ada"}`},
		{"prompts/get", `"name":"no_such_prompt"`},
		{"resources/list", ``},
		{"resources/templates/list", ``},
		{"resources/read", `"uri":"test://no/such"`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}`},
		{"no/such/method", ``},
	}
	for _, p := range pairings() {
		if p.clientModern != p.upstreamModern || p.clientHTTP != p.upstreamHTTP {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			o := toolserver.Options{Versions: toolserver.LegacyOnly}
			if p.upstreamModern {
				o.Versions = toolserver.ModernOnly
			}
			var through, bare *client
			r := newRig(t, o, p.upstreamHTTP, gateway.Settings{})
			if p.clientHTTP {
				through = onHTTP(t, r.server.Open, p.clientModern)
				bare = onHandler(t, toolserver.New(o).Handler(), p.clientModern)
			} else {
				through = onPeer(t, r.server.Local(), p.clientModern)
				bare = onPeer(t, dialStdio(toolserver.New(o))(gateway.Dialing{}), p.clientModern)
			}
			through.begin("test-client")
			bare.begin("test-client")
			for _, q := range requests {
				got, want := through.do(q.method, q.params), bare.do(q.method, q.params)
				if !bytes.Equal(got.raw, want.raw) || len(want.raw) == 0 {
					t.Errorf("%s %s:\n got %.700s %v\nwant %.700s %v", q.method, q.params, got.raw, got.err, want.raw, want.err)
				}
			}
		})
	}
}

func TestTheListOfToolsIsOnePageInTheServersOrder(t *testing.T) {
	each(t, gateway.Settings{}, func(t *testing.T, _ *rig, c *client) {
		first, again := c.do("tools/list", ""), c.do("tools/list", "")
		strip := func(b []byte) string { _, s, _ := strings.Cut(string(b), `"result"`); return s }
		if strip(first.raw) != strip(again.raw) {
			t.Error("the same list has other bytes the second time")
		}
		names := c.names(first)
		if n := len(names); n < 10 || strings.Join(names[n-3:], " ") != "result_page result_search result_query" {
			t.Fatalf("names: %v", names)
		}
		bare := onPeer(t, dialStdio(toolserver.New(toolserver.Options{}))(gateway.Dialing{}), c.modern)
		bare.begin("test-client")
		own := bare.names(bare.do("tools/list", ""))
		if got := names[:len(names)-3]; len(own) < 7 || len(got) < len(own) || !slices.Equal(got[:len(own)], own) || slices.IsSorted(own) {
			t.Errorf("the tools are %v, the server's %v", got, own)
		}
		relaxed := `"outputSchema":{"type":"object","properties":{"temperature":{"type":"number"},"sky":{"type":"string"}}}`
		if !bytes.Contains(first.raw, []byte(relaxed)) || bytes.Contains(first.raw, []byte("nextCursor")) {
			t.Error("the list has no output schema that allows a page, or a cursor")
		}
		if c.modern {
			for _, key := range []string{`"resultType"`, `"ttlMs"`, `"cacheScope"`} {
				if !bytes.Contains(first.raw, []byte(key)) {
					t.Errorf("%s is missing", key)
				}
			}
		}
	})
}

func TestAllPagesOfTheServersListAreOne(t *testing.T) {
	for _, versions := range []toolserver.Versions{toolserver.LegacyOnly, toolserver.ModernOnly} {
		for _, remote := range []bool{false, true} {
			modern := versions == toolserver.ModernOnly
			whole := onPeer(t, newRig(t, toolserver.Options{Versions: versions}, remote, gateway.Settings{}).server.Local(), modern).begin("test-client")
			r := newRig(t, toolserver.Options{Versions: versions, PageSize: 3}, remote, gateway.Settings{})
			paged := onPeer(t, r.server.Local(), modern).begin("test-client")
			if got, want := paged.do("tools/list", "").raw, whole.do("tools/list", "").raw; !bytes.Equal(got, want) {
				t.Errorf("modern %v, remote %v: pages of 3 give\n%.500s\nwant\n%.500s", modern, remote, got, want)
			}
			if remote {
				onWire := onHTTP(t, r.server.Open, modern).begin("test-client")
				if n := len(onWire.names(onWire.do("tools/list", ""))); n < 10 {
					t.Errorf("modern %v: %d tools over HTTP", modern, n)
				}
			}
		}
	}
}
